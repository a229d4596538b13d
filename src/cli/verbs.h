#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

// The verbs of the lockstep program. Each gets what stands behind its name and returns the exit status: 0, 1
// for a failure, 2 for arguments that are not understood.
using Arguments = std::vector<std::string>;
int Run(const Arguments& arguments);
int Bench(const Arguments& arguments);
int Env(const Arguments& arguments);
int ShowVersion(const Arguments& arguments);

}  // namespace lockstep::cli
