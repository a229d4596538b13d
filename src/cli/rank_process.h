#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cli/line_prefixer.h"
#include "src/net/unique_fd.h"

namespace lockstep::cli {

// One rank's process, in a process group of its own, with its output prefixed.
//
// It stays a zombie from its end until Collect(), so that its number, and that of its group, cannot go to a
// stranger while there may still be signals to send. Not thread-safe.
class RankProcess {
 public:
  struct Options {
    int rank = 0;
    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> environment;  // added to this process's
    std::vector<int> inherited_fds;                                // stay open in the child
    sigset_t signal_mask;                                          // of the child
    std::string prefix;
  };
  // NotFound or PermissionDenied when the program cannot be started.
  static absl::StatusOr<RankProcess> Start(const Options& options);

  int rank() const { return rank_; }
  pid_t pid() const { return pid_; }
  // Descriptors to read from; -1 once at their end.
  int out_fd() const { return out_.get(); }
  int err_fd() const { return err_.get(); }
  // Reads what is there, within a bound, and writes whole lines.
  void ReadOutput();
  // The last lines of stderr, or of stdout if there was none.
  std::vector<std::string> LastLines() const;

  // Looks whether the process has ended since; true once.
  bool NoticeEnd();
  bool ended() const { return ended_; }
  bool failed() const { return ended_ && exit_status_ != 0; }
  bool killed() const { return signal_ != 0; }
  // As a shell has it: 128 + signal for a killed process.
  int exit_status() const { return exit_status_; }
  // "exited with 3", "was killed by signal 9 (Killed)".
  std::string HowItEnded() const;

  // To the whole group, which may have outlived the rank itself.
  void Signal(int signal) const;
  // Ends what is left of the group, takes the rest of the output, and lets go of the process. Waits for it.
  void Collect();

 private:
  RankProcess(int rank, pid_t pid, net::UniqueFd out, net::UniqueFd err, const std::string& prefix);
  static void Read(net::UniqueFd* fd, LinePrefixer* lines);

  int rank_;
  pid_t pid_;
  net::UniqueFd out_, err_;
  LinePrefixer out_lines_, err_lines_;
  bool ended_ = false;
  int signal_ = 0, exit_status_ = 0;
};

}  // namespace lockstep::cli
