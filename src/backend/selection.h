#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::backend {

// One way to run collectives, and whether this rank, or every rank, can use it.
struct Candidate {
  std::string name;
  bool usable = false;
  std::string reason;  // why not, or what speaks for it
};

// The candidates on this rank, best first.
std::vector<Candidate> ProbeCandidates();

// The first candidate that is usable, or the one that is `requested` ("auto" or a name). FailedPrecondition
// when the requested one cannot work: a forced backend never falls back. InvalidArgument for an unknown name.
absl::StatusOr<std::string> SelectBackend(const std::string& requested,
                                          const std::vector<Candidate>& candidates);

}  // namespace lockstep::backend
