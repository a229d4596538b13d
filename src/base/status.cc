#include "lockstep/status.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/lost_ranks.h"

namespace lockstep {

namespace {
constexpr char kLostRanksUrl[] = "lockstep/lost-ranks";
}

absl::Status LostRanksError(const std::vector<int>& ranks, const std::string& message) {
  absl::Status status = absl::UnavailableError(message);
  status.SetPayload(kLostRanksUrl, absl::Cord(absl::StrJoin(ranks, ",")));
  return status;
}

inline namespace v0 {

std::vector<int> LostRanks(const absl::Status& status) {
  std::vector<int> ranks;
  absl::optional<absl::Cord> payload = status.GetPayload(kLostRanksUrl);
  if (!payload) return ranks;
  for (absl::string_view part : absl::StrSplit(std::string(*payload), ',', absl::SkipEmpty())) {
    int rank;
    if (absl::SimpleAtoi(part, &rank)) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace v0
}  // namespace lockstep
