#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "lockstep/work.h"
#include "src/backend/backend.h"
#include "src/comm/control_plane.h"
#include "src/comm/flight_ring.h"
#include "src/comm/work_state.h"
#include "src/net/unique_fd.h"

namespace lockstep::comm {

class ProgressThread;

// Runs the calls of one communicator: takes them in order, drives the backend, keeps the deadlines, and turns
// whatever goes wrong into one status for all of them.
//
// Who drives: the thread that waits for a Work drives everything until that Work has ended; what nobody waits
// for is driven by the job's progress thread. One thread drives at a time; it polls for a bounded time, then
// sleeps in poll(2).
//
// Thread-safe. The control plane's calls take leaf locks only, so the control plane may be called with mu_
// held.
class Engine : public ControlListener, public std::enable_shared_from_this<Engine> {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::string name;
    uint64_t communicator = 0;
    uint32_t epoch = 0;
    int rank = 0;
    std::vector<int> members;  // job rank of each rank
    std::chrono::nanoseconds timeout{0};
    std::chrono::nanoseconds spin{0};  // how long a waiting thread polls before it sleeps
    bool yield = false;                // ranks outnumber cores: give the core away between polls
    bool suspend_deadlines = false;    // a debugger is at work
  };
  // Makes the backend; `wake` is thread-safe and may be kept as long as the backend lives.
  using BackendFactory =
      std::function<absl::StatusOr<std::unique_ptr<backend::Backend>>(std::function<void()> wake)>;

  // `control` and `progress` may be null for a world of one.
  static absl::StatusOr<std::shared_ptr<Engine>> Create(const Options& options,
                                                        std::shared_ptr<ControlPlane> control,
                                                        std::shared_ptr<ProgressThread> progress,
                                                        const BackendFactory& make_backend);
  ~Engine() override;

  const Options& options() const { return options_; }

  // Takes a call; `arguments` were checked. `timeout` 0: the default.
  Work Submit(collectives::Arguments arguments, const Stream& stream, std::chrono::nanoseconds timeout);
  Work SubmitPointToPoint(collectives::Arguments arguments, int peer, const Stream& stream,
                          std::chrono::nanoseconds timeout);
  // A Work that has already ended.
  Work Ended(const absl::Status& status);

  absl::Status Wait(WorkState* work);
  bool Test(WorkState* work);
  WorkTiming Timing(const WorkState* work);

  // OK, or why the communicator failed.
  absl::Status status();
  void Abort(const absl::Status& reason);
  // Ends what is pending with Aborted and lets go of the backend and the threads. Nothing touches a user's
  // buffer afterwards. Called once, before the last reference goes.
  void Shutdown();

  const FlightRing& flight() const { return flight_; }
  std::string Report();

  // For the progress thread: one step if there is something pending that nobody waits for.
  struct BackgroundResult {
    bool pending = false;  // call again soon, or when one of `waits` is ready
    bool moved = false;    // call again at once
    bool poll = false;     // something that no descriptor shows is awaited
  };
  BackgroundResult BackgroundStep(std::vector<pollfd>* waits);

  // ControlListener
  void OnLost(const LostRank& lost) override;
  void OnPoison(uint64_t sequence, const absl::Status& status) override;
  std::optional<collectives::Descriptor> DescriptorAt(uint64_t sequence) override;

  // For WorkState: its last reference is gone.
  static void Recycle(WorkState* work, std::shared_ptr<Engine> engine);

 private:
  struct News {
    std::vector<LostRank> lost;
    std::vector<std::pair<uint64_t, absl::Status>> poison;
  };
  struct PendingFailure {
    absl::Status status;
    Clock::time_point since;
    std::string call;
    bool collective = false;
  };

  Engine(const Options& options, std::shared_ptr<ControlPlane> control,
         std::shared_ptr<ProgressThread> progress);

  WorkState* NewWork();
  Work Accept(WorkState* work, const Stream& stream, std::chrono::nanoseconds timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AfterSubmit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool PendingLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return head_ != nullptr || !point_to_point_.empty();
  }

  // Driving.
  void DriveUntil(WorkState* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Step(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AdvanceCollectives(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AdvancePointToPoint(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Begin(WorkState* work, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Post(WorkState* work, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops and takes the lock.
  void PollEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Leave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AwaitsEvents() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Sleep(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake();

  // Failures.
  bool TakeNews(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckTimers(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckDeadline(WorkState* work, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckLeavers(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteFailure(WorkState* work, const absl::Status& status, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Poison(const absl::Status& status, bool tell_others, uint64_t sequence, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // "#12 allreduce f32 x 1000 sum"; what is under way, or "no call".
  std::string CurrentCall() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static std::string CallName(const WorkState& work);
  int RankOf(int job_rank) const;
  // " on rank 0 of communicator "world""
  std::string Where() const;

  const Options options_;
  const net::UniqueFd wake_fd_;
  FlightRing flight_;

  absl::Mutex mu_;
  absl::CondVar ended_;  // a work ended or the driver went
  std::shared_ptr<ControlPlane> control_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<ProgressThread> progress_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<backend::Backend> backend_ ABSL_GUARDED_BY(mu_);
  bool driving_ ABSL_GUARDED_BY(mu_) = false;       // a thread is in DriveUntil
  bool sleeping_ ABSL_GUARDED_BY(mu_) = false;      // ... and in poll(2)
  int followers_ ABSL_GUARDED_BY(mu_) = 0;          // threads waiting for a driver
  int inside_ ABSL_GUARDED_BY(mu_) = 0;             // threads in Wait or Test
  WorkState* head_ ABSL_GUARDED_BY(mu_) = nullptr;  // collectives in call order; the first is under way
  WorkState* tail_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::vector<WorkState*> point_to_point_ ABSL_GUARDED_BY(mu_);
  uint64_t sequence_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<uint64_t> sent_ ABSL_GUARDED_BY(mu_), received_
      ABSL_GUARDED_BY(mu_);  // point-to-point sequence by peer
  std::vector<pollfd> waits_ ABSL_GUARDED_BY(mu_);
  Clock::time_point last_progress_ ABSL_GUARDED_BY(mu_);
  Clock::time_point last_check_ ABSL_GUARDED_BY(mu_);  // of deadlines and stalls
  Clock::time_point next_compare_ ABSL_GUARDED_BY(mu_);
  absl::Status poison_ ABSL_GUARDED_BY(mu_);
  std::optional<PendingFailure> failure_ ABSL_GUARDED_BY(mu_);
  std::set<int> left_ ABSL_GUARDED_BY(mu_);  // ranks that closed in good order
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;

  absl::Mutex news_mu_ ABSL_ACQUIRED_AFTER(mu_);
  std::atomic<bool> has_news_{false};
  News news_ ABSL_GUARDED_BY(news_mu_);

  absl::Mutex pool_mu_ ABSL_ACQUIRED_AFTER(mu_);
  std::vector<std::unique_ptr<WorkState>> pool_ ABSL_GUARDED_BY(pool_mu_);
};

}  // namespace lockstep::comm
