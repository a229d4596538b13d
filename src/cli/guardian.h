#pragma once

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "src/net/unique_fd.h"

namespace lockstep::cli {

// A small process that outlives this one by a moment: when this process is gone, whatever the reason, it
// kills the process groups that it was told to watch. A rank asks the kernel to be killed with the launcher,
// but that does not reach what the rank has started itself.
//
// Not thread-safe.
class Guardian {
 public:
  static absl::StatusOr<Guardian> Start();
  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  // Ends the guardian, which then kills nothing. The groups are the caller's to end.
  ~Guardian();

  void Watch(pid_t group);

 private:
  Guardian(pid_t pid, net::UniqueFd groups);

  pid_t pid_;
  net::UniqueFd groups_;  // the guardian reads what is to be killed, until the end of the file
};

}  // namespace lockstep::cli
