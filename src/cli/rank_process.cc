#include "src/cli/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
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
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (options.inherited_fd >= 0) fcntl(options.inherited_fd, F_SETFD, 0);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : options.command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int why = errno;
  [[maybe_unused]] const ssize_t told = write(failure, &why, sizeof why);
  _exit(127);
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
  int why = 0;
  ssize_t told;
  do {
    told = read(failure.read.get(), &why, sizeof why);
  } while (told < 0 && errno == EINTR);
  if (told == sizeof why) {
    waitpid(pid, nullptr, 0);
    const std::string message =
        absl::StrCat("cannot start \"", options.command[0], "\" (", strerror(why), ")");
    return why == EACCES ? absl::PermissionDeniedError(message) : absl::NotFoundError(message);
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

bool RankProcess::Read(net::UniqueFd* fd, LinePrefixer* lines) {
  char buffer[65536];
  while (*fd) {
    const ssize_t n = read(fd->get(), buffer, sizeof buffer);
    if (n > 0) {
      lines->Take(buffer, static_cast<size_t>(n));
    } else if (n == 0) {
      *fd = net::UniqueFd();
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
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

void RankProcess::SetEnded(int wait_status) {
  ended_ = true;
  wait_status_ = wait_status;
  ReadOutput();
  out_lines_.Finish();
  err_lines_.Finish();
}

int RankProcess::exit_status() const {
  return WIFSIGNALED(wait_status_) ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

std::string RankProcess::HowItEnded() const {
  if (WIFSIGNALED(wait_status_))
    return absl::StrCat("was killed by signal ", WTERMSIG(wait_status_), " (",
                        strsignal(WTERMSIG(wait_status_)), ")");
  return absl::StrCat("exited with ", WEXITSTATUS(wait_status_));
}

void RankProcess::Signal(int signal) const { kill(-pid_, signal); }

}  // namespace lockstep::cli
