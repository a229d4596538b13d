#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace lockstep::bootstrap {

// The compressed lists that Slurm puts into the environment. Thread-safe.

// The first host of a node list: "n01" of "n[01-04,07],m2", "r1n3" of "r[1-2]n[3,5]". InvalidArgument for
// what is no node list.
absl::StatusOr<std::string> FirstSlurmHost(const std::string& node_list);

// The tasks of one node, counted from 0, in a list such as "4(x2),3" (SLURM_TASKS_PER_NODE): 4, 4, 3.
// InvalidArgument for what is no such list, or one without that node.
absl::StatusOr<int> SlurmTasksOnNode(const std::string& tasks_per_node, int node);

}  // namespace lockstep::bootstrap
