#include "src/cli/job_report.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep::cli {

std::string JobReport(const std::vector<RankProcess>& ranks, int first_failure) {
  const RankProcess& first = ranks[static_cast<size_t>(first_failure)];
  std::string report = absl::StrCat("lockstep run: rank ", first_failure, " (pid ", first.pid(),
                                    ") failed first: it ", first.HowItEnded(), "\n");
  const std::vector<std::string> lines = first.LastLines();
  if (!lines.empty()) absl::StrAppend(&report, "lockstep run: its last lines:\n");
  for (const std::string& line : lines) absl::StrAppend(&report, "    ", line, "\n");
  std::map<std::string, std::vector<int>> others;
  for (const RankProcess& rank : ranks)
    if (rank.rank() != first_failure) others[rank.HowItEnded()].push_back(rank.rank());
  for (const auto& [how, which] : others)
    absl::StrAppend(&report, "lockstep run: then rank ", absl::StrJoin(which, ", "), " ", how, "\n");
  return report;
}

}  // namespace lockstep::cli
