#include "src/backend/selection.h"

#include "absl/strings/str_cat.h"

namespace lockstep::backend {

std::vector<Candidate> ProbeCandidates() {
  return {
      {"nccl", false, "host memory only: NCCL needs CUDA buffers"},
      {"ucx", false, "this build has no UCX transport"},
      {"tcp", true, "sockets are always there"},
  };
}

absl::StatusOr<std::string> SelectBackend(const std::string& requested,
                                          const std::vector<Candidate>& candidates) {
  std::string known;
  for (const Candidate& candidate : candidates) {
    if (requested == candidate.name && !candidate.usable)
      return absl::FailedPreconditionError(absl::StrCat("backend \"", requested,
                                                        "\" was asked for but cannot be used (",
                                                        candidate.reason, "); set LOCKSTEP_BACKEND=auto"));
    if (candidate.usable && (requested == "auto" || requested == candidate.name)) return candidate.name;
    absl::StrAppend(&known, ", ", candidate.name);
  }
  if (requested == "auto") return absl::FailedPreconditionError("no backend can be used on this host");
  return absl::InvalidArgumentError(
      absl::StrCat("unknown backend \"", requested, "\" (known: auto", known, ")"));
}

}  // namespace lockstep::backend
