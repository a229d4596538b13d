#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "src/device/stream_impl.h"

namespace lockstep::device {

// An in-order queue without a thread: work runs in the thread that enqueues it when nothing is before it,
// else in whichever thread waits for it or polls it first. Work may enqueue more on the same stream; it runs
// afterwards, not inside.
class HostStream : public internal::StreamImpl {
 public:
  Device device() const override { return {}; }
  void Enqueue(std::function<void()> work) override;
  void WaitFor(const Event& event) override;
  uint64_t Newest() override;
  bool Done(uint64_t ticket) override;
  void WaitSync(uint64_t ticket) override;

 private:
  struct Item {
    std::function<void()> work;  // empty: a wait for `after`
    Event after;
  };
  void Push(Item item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs what can be run now, with the lock dropped while it runs. Does nothing when another thread is at it.
  void Run() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  absl::CondVar stopped_running_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
  uint64_t enqueued_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mu_) = 0;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace lockstep::device
