#include "src/cli/job_runner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "lockstep/status.h"
#include "src/cli/job_report.h"
#include "src/cli/job_secret.h"

namespace lockstep::cli {
namespace {

// After SIGTERM, until SIGKILL.
constexpr std::chrono::seconds kAfterTerm{2};

// A signal that this process was started to ignore (nohup, a shell's background job) stays ignored, here and
// in the ranks.
sigset_t HandledSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

// The store's socket is bound here and handed to rank 0, so that nobody can take the port in between.
absl::StatusOr<std::pair<net::UniqueFd, int>> BindStore(int port) {
  net::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  if (!fd || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return absl::UnavailableError(absl::StrCat("127.0.0.1:", port, " cannot be bound (", strerror(errno),
                                               "); leave --master-port out for a free port"));
  return std::make_pair(std::move(fd), static_cast<int>(ntohs(address.sin_port)));
}

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

JobRunner::JobRunner(Options options) : options_(std::move(options)), handled_(HandledSignals()) {
  signal(SIGCHLD, SIG_DFL);  // else the kernel keeps no exit status
  sigprocmask(SIG_BLOCK, &handled_, &mask_before_);
  signals_ = net::UniqueFd(signalfd(-1, &handled_, SFD_NONBLOCK | SFD_CLOEXEC));
}

absl::StatusOr<int> JobRunner::Run(int restart) {
  ranks_.clear();
  first_failure_ = -1;
  ending_ = terminated_ = false;
  const absl::Status started = Start(restart);
  if (started.ok()) Watch();
  Collect();
  LOCKSTEP_RETURN_IF_ERROR(started);
  if (interrupted())
    std::fprintf(stderr, "lockstep run: ended by signal %d (%s)\n", interrupted_by_,
                 strsignal(interrupted_by_));
  if (first_failure_ < 0) return 0;
  if (!interrupted()) std::fputs(JobReport(ranks_, first_failure_).c_str(), stderr);
  return ranks_[static_cast<size_t>(first_failure_)].exit_status();
}

absl::Status JobRunner::Start(int restart) {
  LOCKSTEP_ASSIGN_OR_RETURN(Guardian guardian, Guardian::Start());
  guardian_.emplace(std::move(guardian));
  LOCKSTEP_ASSIGN_OR_RETURN(auto store, BindStore(options_.master_port));
  store_ = std::move(store.first);
  LOCKSTEP_ASSIGN_OR_RETURN(Environment shared, ShareSecret());
  shared.emplace_back("LOCKSTEP_RESTART_COUNT", absl::StrCat(restart));
  for (int rank = 0; rank < options_.ranks; ++rank)
    LOCKSTEP_RETURN_IF_ERROR(StartRank(rank, store.second, shared));
  store_ = net::UniqueFd();
  secret_ = net::UniqueFd();
  return absl::OkStatus();
}

// A secret that the user has set is the job's.
absl::StatusOr<JobRunner::Environment> JobRunner::ShareSecret() {
  if (IsSet("LOCKSTEP_SECRET") || IsSet("LOCKSTEP_SECRET_FILE")) return Environment();
  LOCKSTEP_ASSIGN_OR_RETURN(secret_, MakeSecretFile());
  return Environment{{"LOCKSTEP_SECRET_FILE", absl::StrCat("/proc/self/fd/", secret_.get())}};
}

absl::Status JobRunner::StartRank(int rank, int port, const Environment& shared) {
  RankProcess::Options process;
  process.rank = rank;
  process.command = options_.command;
  process.signal_mask = mask_before_;
  if (options_.prefix) process.prefix = absl::StrCat("[", rank, "] ");
  process.environment = shared;
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, int>>{{"RANK", rank},
                                                          {"WORLD_SIZE", options_.ranks},
                                                          {"LOCAL_RANK", rank},
                                                          {"LOCAL_WORLD_SIZE", options_.ranks},
                                                          {"MASTER_PORT", port}})
    process.environment.emplace_back(name, absl::StrCat(value));
  process.environment.emplace_back("MASTER_ADDR", "127.0.0.1");
  if (!IsSet("OMP_NUM_THREADS")) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    process.environment.emplace_back("OMP_NUM_THREADS", absl::StrCat(std::max(1, cores / options_.ranks)));
  }
  if (secret_) process.inherited_fds.push_back(secret_.get());
  if (rank == 0) {
    process.inherited_fds.push_back(store_.get());
    process.environment.emplace_back("LOCKSTEP_STORE_SOCKET", absl::StrCat(store_.get()));
  }
  for (const auto& variable : options_.environment) process.environment.push_back(variable);
  LOCKSTEP_ASSIGN_OR_RETURN(RankProcess started, RankProcess::Start(process));
  guardian_->Watch(started.pid());
  ranks_.push_back(std::move(started));
  return absl::OkStatus();
}

void JobRunner::Watch() {
  constexpr int kUntilNextPressMs = 50;
  while (!AllEnded()) {
    std::vector<pollfd> waits = {{signals_.get(), POLLIN, 0}};
    for (const RankProcess& rank : ranks_)
      for (int fd : {rank.out_fd(), rank.err_fd()})
        if (fd >= 0) waits.push_back({fd, POLLIN, 0});
    poll(waits.data(), waits.size(), ending_ ? kUntilNextPressMs : -1);
    for (RankProcess& rank : ranks_) rank.ReadOutput();
    TakeSignals();
    Press();
  }
}

void JobRunner::TakeSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      NoticeEnds();
      continue;
    }
    SignalAll(signal);
    if (signal == SIGUSR1 || signal == SIGUSR2) continue;
    // A second request to end is meant.
    if (interrupted()) SignalAll(SIGKILL);
    interrupted_by_ = signal;
    terminated_ = signal == SIGTERM;
    EndWithin(std::chrono::duration<double>(options_.grace_seconds));
  }
}

void JobRunner::NoticeEnds() {
  const RankProcess* failed = nullptr;
  for (RankProcess& rank : ranks_) {
    if (!rank.NoticeEnd() || !rank.failed()) continue;
    // Of those that are noticed together, one that was killed is the cause rather than one that gave up.
    if (failed == nullptr || (rank.killed() && !failed->killed())) failed = &rank;
  }
  if (failed != nullptr && first_failure_ < 0) SetFirstFailure(*failed);
}

void JobRunner::SetFirstFailure(const RankProcess& rank) {
  first_failure_ = rank.rank();
  if (ending_) return;
  if (!AllEnded())
    std::fputs(absl::StrCat("lockstep run: rank ", rank.rank(), " (pid ", rank.pid(), ") ", rank.HowItEnded(),
                            "; the others have ", options_.grace_seconds, " s to end\n")
                   .c_str(),
               stderr);
  EndWithin(std::chrono::duration<double>(options_.grace_seconds));
}

void JobRunner::EndWithin(std::chrono::duration<double> time) {
  ending_ = true;
  next_press_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
}

void JobRunner::Press() {
  if (!ending_ || Clock::now() < next_press_) return;
  SignalAll(terminated_ ? SIGKILL : SIGTERM);
  terminated_ = true;
  next_press_ = Clock::now() + kAfterTerm;
}

void JobRunner::Collect() {
  SignalAll(SIGKILL);
  for (RankProcess& rank : ranks_) rank.Collect();
  guardian_.reset();
  store_ = net::UniqueFd();
  secret_ = net::UniqueFd();
}

void JobRunner::SignalAll(int signal) {
  for (const RankProcess& rank : ranks_) rank.Signal(signal);
}

bool JobRunner::AllEnded() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) { return rank.ended(); });
}

}  // namespace lockstep::cli
