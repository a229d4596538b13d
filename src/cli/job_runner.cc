#include "src/cli/job_runner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/rand.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lockstep/status.h"

namespace lockstep::cli {
namespace {

// After SIGTERM, until SIGKILL.
constexpr std::chrono::seconds kAfterTerm{2};

sigset_t HandledSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

std::string MakeSecret() {
  std::string bytes(32, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1)
    std::abort();
  return absl::BytesToHexString(bytes);
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

}  // namespace

absl::StatusOr<int> JobRunner::Run(int restart) {
  ranks_.clear();
  first_failure_ = -1;
  ending_ = terminated_ = false;
  const absl::Status started = Start(restart);
  if (!started.ok()) SignalAll(SIGKILL);
  Watch();
  store_ = net::UniqueFd();
  if (!started.ok()) return started;
  return first_failure_ < 0 ? 0 : ranks_[static_cast<size_t>(first_failure_)].exit_status();
}

absl::Status JobRunner::Start(int restart) {
  const sigset_t handled = HandledSignals();
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  if (!signals_) signals_ = net::UniqueFd(signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC));
  LOCKSTEP_ASSIGN_OR_RETURN(auto store, BindStore(options_.master_port));
  store_ = std::move(store.first);
  const std::string secret = MakeSecret();
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / options_.ranks);
  for (int rank = 0; rank < options_.ranks; ++rank) {
    RankProcess::Options process;
    process.rank = rank;
    process.command = options_.command;
    if (options_.prefix) process.prefix = absl::StrCat("[", rank, "] ");
    process.environment = {
        {"RANK", absl::StrCat(rank)},       {"WORLD_SIZE", absl::StrCat(options_.ranks)},
        {"LOCAL_RANK", absl::StrCat(rank)}, {"LOCAL_WORLD_SIZE", absl::StrCat(options_.ranks)},
        {"MASTER_ADDR", "127.0.0.1"},       {"MASTER_PORT", absl::StrCat(store.second)},
        {"LOCKSTEP_SECRET", secret},        {"LOCKSTEP_RESTART_COUNT", absl::StrCat(restart)}};
    if (std::getenv("OMP_NUM_THREADS") == nullptr)
      process.environment.emplace_back("OMP_NUM_THREADS", absl::StrCat(threads));
    if (rank == 0) {
      process.inherited_fd = store_.get();
      process.environment.emplace_back("LOCKSTEP_STORE_SOCKET", absl::StrCat(store_.get()));
    }
    for (const auto& variable : options_.environment) process.environment.push_back(variable);
    LOCKSTEP_ASSIGN_OR_RETURN(RankProcess started, RankProcess::Start(process));
    ranks_.push_back(std::move(started));
  }
  store_ = net::UniqueFd();
  return absl::OkStatus();
}

void JobRunner::Watch() {
  while (!AllEnded()) {
    std::vector<pollfd> waits = {{signals_.get(), POLLIN, 0}};
    for (const RankProcess& rank : ranks_)
      for (int fd : {rank.out_fd(), rank.err_fd()})
        if (fd >= 0) waits.push_back({fd, POLLIN, 0});
    poll(waits.data(), waits.size(), ending_ ? 50 : -1);
    for (RankProcess& rank : ranks_)
      if (!rank.ended()) rank.ReadOutput();
    TakeSignals();
    Press();
  }
  SignalAll(SIGKILL);  // what a rank left behind in its group
}

void JobRunner::TakeSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      Reap();
      continue;
    }
    SignalAll(signal);
    if (signal == SIGUSR1 || signal == SIGUSR2) continue;
    // A second request to end is meant.
    if (interrupted_) SignalAll(SIGKILL);
    interrupted_ = ending_ = terminated_ = true;
    next_press_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(options_.grace_seconds));
  }
}

void JobRunner::Reap() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    RankProcess& rank = ranks_[i];
    int status = 0;
    if (rank.ended() || waitpid(rank.pid(), &status, WNOHANG) != rank.pid()) continue;
    rank.SetEnded(status);
    if (!rank.failed() || first_failure_ >= 0) continue;
    first_failure_ = static_cast<int>(i);
    if (!interrupted_) ReportFirstFailure(rank);
    if (ending_) continue;
    ending_ = true;
    next_press_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(options_.grace_seconds));
  }
}

void JobRunner::ReportFirstFailure(const RankProcess& rank) {
  std::string report =
      absl::StrCat("lockstep run: rank ", rank.rank(), " (pid ", rank.pid(), ") ", rank.HowItEnded(),
                   "; the other ranks have ", options_.grace_seconds, " s to end\n");
  const std::vector<std::string> lines = rank.LastLines();
  if (!lines.empty()) absl::StrAppend(&report, "lockstep run: its last lines:\n");
  for (const std::string& line : lines) absl::StrAppend(&report, "    ", line, "\n");
  std::fputs(report.c_str(), stderr);
}

void JobRunner::Press() {
  if (!ending_ || Clock::now() < next_press_) return;
  SignalAll(terminated_ ? SIGKILL : SIGTERM);
  terminated_ = true;
  next_press_ = Clock::now() + kAfterTerm;
}

void JobRunner::SignalAll(int signal) {
  for (const RankProcess& rank : ranks_)
    if (!rank.ended() || signal == SIGKILL) rank.Signal(signal);
}

bool JobRunner::AllEnded() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) { return rank.ended(); });
}

}  // namespace lockstep::cli
