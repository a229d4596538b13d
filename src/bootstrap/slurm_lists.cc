#include "src/bootstrap/slurm_lists.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lockstep::bootstrap {

absl::StatusOr<std::string> FirstSlurmHost(const std::string& node_list) {
  const auto malformed = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("not a node list (\"", node_list, "\"); expected one such as n[01-04,07],m2"));
  };
  std::string host;
  for (size_t at = 0; at < node_list.size() && node_list[at] != ',';) {
    if (node_list[at] == ']') return malformed();
    if (node_list[at] != '[') {
      host += node_list[at++];
      continue;
    }
    const size_t close = node_list.find(']', at);
    const size_t end = node_list.find_first_of(",-]", at);
    if (close == std::string::npos || end == at + 1) return malformed();
    host += node_list.substr(at + 1, end - at - 1);
    at = close + 1;
  }
  if (host.empty() || host.find('[') != std::string::npos) return malformed();
  return host;
}

absl::StatusOr<int> SlurmTasksOnNode(const std::string& tasks_per_node, int node) {
  const auto malformed = [&] {
    return absl::InvalidArgumentError(absl::StrCat("no tasks for node ", node, " in \"", tasks_per_node,
                                                   "\"; expected a list such as 4(x2),3"));
  };
  for (absl::string_view entry : absl::StrSplit(tasks_per_node, ',')) {
    const std::vector<std::string> parts = absl::StrSplit(entry, absl::MaxSplits("(x", 1));
    int tasks = 0, nodes = 1;
    if (!absl::SimpleAtoi(parts[0], &tasks) || tasks < 1) return malformed();
    if (parts.size() == 2) {
      const std::string& count = parts[1];
      if (count.empty() || count.back() != ')' ||
          !absl::SimpleAtoi(count.substr(0, count.size() - 1), &nodes))
        return malformed();
    }
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return malformed();
}

}  // namespace lockstep::bootstrap
