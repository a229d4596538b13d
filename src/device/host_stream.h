#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "src/device/stream_impl.h"

namespace lockstep::device {

// An in-order queue without a thread: work runs in the thread that enqueues it when nothing is before it,
// else in whichever thread waits for it or polls it first. One thread at a time runs items, without the lock.
// Work may enqueue more on the same stream; it runs afterwards, not inside.
//
// A thread that enqueues runs what came up to the end of its own item, not what others go on to add.
class HostStream : public internal::StreamImpl {
 public:
  // Drops what has not run.
  ~HostStream() override;

  Device device() const override { return {}; }
  void Enqueue(std::function<void()> work) override;
  void WaitFor(const Event& event) override;
  bool TryRun(absl::FunctionRef<void()> work) override;
  uint64_t Newest() const override;
  bool Passed(uint64_t ticket) const override { return passed_.load(std::memory_order_acquire) >= ticket; }

 protected:
  bool Advance(uint64_t ticket, Event* blocker) override;
  void AwaitChange(uint64_t ticket) override;

 private:
  struct Item {
    std::function<void()> work;  // empty: a wait for `after`
    Event after;
  };
  // Runs `work`, which nothing is before, as the newest item, and then what was added meanwhile.
  void RunInline(absl::FunctionRef<void()> work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs items until `ticket` has passed or a wait is in the way; does nothing if another thread is at it.
  void RunUntil(uint64_t ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Pass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  absl::CondVar stopped_running_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);  // the running item is no longer among them
  uint64_t enqueued_ ABSL_GUARDED_BY(mu_) = 0;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<uint64_t> passed_{0};  // written under mu_
};

}  // namespace lockstep::device
