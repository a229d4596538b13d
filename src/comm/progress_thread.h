#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "src/net/unique_fd.h"

namespace lockstep::comm {

class Engine;

// Drives what nobody waits for: one a job ("lockstep-prog"), for all its communicators.
//
// Waking a sleeping thread costs more than a small collective, so a call does not wake it: while calls keep
// coming it looks around by itself, rarely when it finds nothing, and only after a quiet while it sleeps
// until it is woken. Thread-safe.
class ProgressThread {
 public:
  static absl::StatusOr<std::shared_ptr<ProgressThread>> Start();
  ~ProgressThread();

  void Add(Engine* engine);
  // The engine is not in use by the thread when it returns.
  void Remove(Engine* engine);
  // Something was submitted.
  void Nudge();
  // A waiting thread drives now: stop sleeping on descriptors, or every message wakes two
  // threads.
  void LeaveToWaiter();

 private:
  explicit ProgressThread(net::UniqueFd wake_fd) : wake_fd_(std::move(wake_fd)) {}
  void Run();
  void Wake();

  const net::UniqueFd wake_fd_;
  absl::Mutex mu_;
  std::vector<Engine*> engines_ ABSL_GUARDED_BY(mu_);
  std::atomic<uint64_t> submissions_{0};
  std::atomic<bool> asleep_{false};    // until woken
  std::atomic<bool> watching_{false};  // sleeps on engines' descriptors
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace lockstep::comm
