#include "src/cli/rank_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lockstep/status.h"

namespace lockstep::cli {
namespace {

struct Pipe {
  net::UniqueFd read, write;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return absl::ResourceExhaustedError(absl::StrCat("no pipe (", strerror(errno), "); raise ulimit -n"));
  return Pipe{net::UniqueFd(ends[0]), net::UniqueFd(ends[1])};
}

// In the child, between fork and exec.
[[noreturn]] void Become(const RankProcess::Options& options, int out, int err, int failure, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the launcher died before the line above
  sigprocmask(SIG_SETMASK, &options.signal_mask, nullptr);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (int fd : options.inherited_fds) fcntl(fd, F_SETFD, 0);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : options.command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int why = errno;
  [[maybe_unused]] const ssize_t told = write(failure, &why, sizeof why);
  _exit(127);
}

// 0 once the child has become the program, else errno of what failed.
int WaitForExec(int failure_fd) {
  int why = 0;
  ssize_t n;
  do {
    n = read(failure_fd, &why, sizeof why);
  } while (n < 0 && errno == EINTR);
  return n == sizeof why ? why : 0;
}

}  // namespace

absl::StatusOr<RankProcess> RankProcess::Start(const Options& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  LOCKSTEP_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  LOCKSTEP_ASSIGN_OR_RETURN(Pipe failure, MakePipe());
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError(absl::StrCat("no process (", strerror(errno), ")"));
  if (pid == 0) Become(options, out.write.get(), err.write.get(), failure.write.get(), parent);
  failure.write = net::UniqueFd();
  if (const int why = WaitForExec(failure.read.get()); why != 0) {
    waitpid(pid, nullptr, 0);
    const std::string message =
        absl::StrCat("cannot start \"", options.command[0], "\" (", strerror(why), ")");
    return why == ENOENT || why == ENOTDIR ? absl::NotFoundError(message)
                                           : absl::PermissionDeniedError(message);
  }
  fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
  return RankProcess(options.rank, pid, std::move(out.read), std::move(err.read), options.prefix);
}

RankProcess::RankProcess(int rank, pid_t pid, net::UniqueFd out, net::UniqueFd err, const std::string& prefix)
    : rank_(rank),
      pid_(pid),
      out_(std::move(out)),
      err_(std::move(err)),
      out_lines_(STDOUT_FILENO, prefix),
      err_lines_(STDERR_FILENO, prefix) {}

void RankProcess::Read(net::UniqueFd* fd, LinePrefixer* lines) {
  // A rank that writes without end must not keep the others, and the signals, waiting.
  constexpr int kMostReads = 16;
  char buffer[65536];
  for (int i = 0; i < kMostReads && *fd; ++i) {
    const ssize_t n = read(fd->get(), buffer, sizeof buffer);
    if (n > 0) {
      lines->Take(buffer, static_cast<size_t>(n));
    } else if (n == 0) {
      *fd = net::UniqueFd();
      lines->Finish();
    } else if (errno != EINTR) {
      return;
    }
  }
}

void RankProcess::ReadOutput() {
  Read(&out_, &out_lines_);
  Read(&err_, &err_lines_);
}

std::vector<std::string> RankProcess::LastLines() const {
  const std::deque<std::string>& lines =
      err_lines_.last_lines().empty() ? out_lines_.last_lines() : err_lines_.last_lines();
  return {lines.begin(), lines.end()};
}

bool RankProcess::NoticeEnd() {
  siginfo_t info = {};
  if (ended_ || waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_)
    return false;
  ended_ = true;
  signal_ = info.si_code == CLD_EXITED ? 0 : info.si_status;
  exit_status_ = signal_ != 0 ? 128 + signal_ : info.si_status;
  return true;
}

std::string RankProcess::HowItEnded() const {
  if (signal_ != 0) return absl::StrCat("was killed by signal ", signal_, " (", strsignal(signal_), ")");
  return absl::StrCat("exited with ", exit_status_);
}

void RankProcess::Signal(int signal) const { kill(-pid_, signal); }

void RankProcess::Collect() {
  using Clock = std::chrono::steady_clock;
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
  // A process that has left the group may keep the pipes open; it gets this long.
  const auto deadline = Clock::now() + std::chrono::milliseconds(500);
  for (ReadOutput(); (out_ || err_) && Clock::now() < deadline; ReadOutput()) {
    pollfd waits[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    poll(waits, 2, 50);
  }
  out_lines_.Finish();
  err_lines_.Finish();
}

}  // namespace lockstep::cli
