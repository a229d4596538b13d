#pragma once

#include <string>
#include <vector>

#include "lockstep/status.h"

namespace lockstep {

// An Unavailable status that names `ranks` to LostRanks().
absl::Status LostRanksError(const std::vector<int>& ranks, const std::string& message);

}  // namespace lockstep
