#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "src/bootstrap/membership.h"
#include "src/collectives/descriptor.h"
#include "src/comm/control/rank_set.h"

namespace lockstep::comm {

using bootstrap::LostRank;

// Why a communicator fails on every rank. Of several, the smallest wins everywhere.
struct PoisonFact {
  uint64_t sequence = 0;
  int origin = 0;
  int code = 0;
  std::string message;  // at most kLongestText
  RankSet lost;         // ranks of the communicator that the status names
  friend auto operator<=>(const PoisonFact&, const PoisonFact&) = default;
};

// A step of an agreement on survivors that some ranks have taken.
struct AgreementStep {
  enum class Phase : uint8_t { kPropose = 0, kCommit = 1 };
  RankSet dead;  // the round
  Phase phase = Phase::kPropose;
  RankSet value;             // propose: the value committed in an earlier round, if any; commit: the value
  int32_t value_round = -1;  // propose: the number of dead of that earlier round; -1: none
  friend auto operator<=>(const AgreementStep&, const AgreementStep&) = default;
};

// What the ranks of a job tell each other: facts that only grow. Merging is commutative, associative and
// idempotent, so it does not matter along which paths, how often, or in which order they travel.
struct Facts {
  using CallKey = std::pair<uint64_t, uint64_t>;       // communicator, sequence
  using AgreementKey = std::pair<uint64_t, uint32_t>;  // communicator, attempt
  using Calls = std::map<collectives::Descriptor, RankSet>;
  using Steps = std::map<AgreementStep, RankSet>;

  std::map<int, LostRank> lost;
  std::map<CallKey, Calls> calls;
  std::map<uint64_t, PoisonFact> poison;
  std::map<AgreementKey, Steps> agreements;

  bool empty() const { return lost.empty() && calls.empty() && poison.empty() && agreements.empty(); }
  // Takes over what is new; returns it.
  Facts Merge(const Facts& other);
};

// Details and messages are cut to this on the wire.
inline constexpr size_t kLongestText = 4096;

// The wire form, one for each value. Never empty.
std::string EncodeFacts(const Facts& facts);
// InvalidArgument for anything malformed, out of order, or with ranks outside [0, world_size).
absl::StatusOr<Facts> DecodeFacts(const std::string& bytes, int world_size);

}  // namespace lockstep::comm
