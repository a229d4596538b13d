#pragma once

#include <signal.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cli/guardian.h"
#include "src/cli/rank_process.h"
#include "src/net/unique_fd.h"

namespace lockstep::cli {

// Starts the ranks of one job on this host and watches over them until all have ended.
//
// When one fails the others get a grace to end by themselves (they get Unavailable from the library), then
// SIGTERM, then SIGKILL. Signals that this process gets go on to all ranks, but those that it was started to
// ignore. What a rank has started ends with the job, and the whole job with this process.
//
// One at a time in a process, from one thread: it takes over the signals.
class JobRunner {
 public:
  struct Options {
    int ranks = 1;
    int master_port = 0;  // 0: a free one
    double grace_seconds = 5;
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<std::string> command;
    bool prefix = true;
  };
  explicit JobRunner(Options options);

  // Runs the job once; `restart` is how often it has been restarted. Each run has its own port and secret.
  // The exit status of the rank that failed first, 0 if none did. An error when the job could not be started.
  absl::StatusOr<int> Run(int restart);
  // A signal asked the whole job to end: it is not to be restarted.
  bool interrupted() const { return interrupted_by_ != 0; }

 private:
  using Clock = std::chrono::steady_clock;
  using Environment = std::vector<std::pair<std::string, std::string>>;
  absl::Status Start(int restart);
  absl::StatusOr<Environment> ShareSecret();
  absl::Status StartRank(int rank, int port, const Environment& shared);
  void Watch();
  void TakeSignals();
  void NoticeEnds();
  void SetFirstFailure(const RankProcess& rank);
  // SIGTERM, then SIGKILL, to those that outstay their time.
  void Press();
  void EndWithin(std::chrono::duration<double> time);
  void Collect();
  void SignalAll(int signal);
  bool AllEnded() const;

  const Options options_;
  sigset_t handled_, mask_before_;
  net::UniqueFd signals_;

  // Of one run.
  net::UniqueFd store_, secret_;
  std::optional<Guardian> guardian_;
  std::vector<RankProcess> ranks_;
  int first_failure_ = -1;   // rank
  int interrupted_by_ = 0;   // signal
  bool ending_ = false;      // a failure or a signal: the rest is to end
  bool terminated_ = false;  // SIGTERM was sent
  Clock::time_point next_press_;
};

}  // namespace lockstep::cli
