#include "src/cli/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lockstep::cli {
namespace {

constexpr pid_t kNothingToKill = 0;

[[noreturn]] void Guard(int groups_fd) {
  setsid();  // signals from the terminal are not for it
  prctl(PR_SET_NAME, "lockstep-guard");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // Who waits for the end of the launcher's output must not wait for the guardian.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
  std::vector<pid_t> groups;
  for (;;) {
    pid_t group = 0;
    const ssize_t n = read(groups_fd, &group, sizeof group);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof group) break;
    if (group == kNothingToKill) {
      groups.clear();
    } else {
      groups.push_back(group);
    }
  }
  for (pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

absl::StatusOr<Guardian> Guardian::Start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return absl::ResourceExhaustedError(absl::StrCat("no pipe (", strerror(errno), "); raise ulimit -n"));
  net::UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError(absl::StrCat("no process (", strerror(errno), ")"));
  if (pid == 0) {
    close(write_end.get());
    Guard(read_end.get());
  }
  return Guardian(pid, std::move(write_end));
}

Guardian::Guardian(pid_t pid, net::UniqueFd groups) : pid_(pid), groups_(std::move(groups)) {}

Guardian::Guardian(Guardian&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), groups_(std::move(other.groups_)) {}

Guardian::~Guardian() {
  if (pid_ < 0) return;
  Watch(kNothingToKill);
  groups_ = net::UniqueFd();
  waitpid(pid_, nullptr, 0);
}

void Guardian::Watch(pid_t group) {
  // Fails only if the guardian was killed; the ranks then have the kernel's promise alone.
  [[maybe_unused]] const ssize_t told = write(groups_.get(), &group, sizeof group);
}

}  // namespace lockstep::cli
