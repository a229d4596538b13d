#pragma once

#include <string>
#include <vector>

#include "src/cli/rank_process.h"

namespace lockstep::cli {

// What a person wants to know of a job that failed, once all its ranks have been collected: which rank was
// the first, how it ended, its last lines, and what became of the others. Ends with a newline.
std::string JobReport(const std::vector<RankProcess>& ranks, int first_failure);

}  // namespace lockstep::cli
