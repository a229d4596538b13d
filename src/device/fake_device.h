#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "src/device/stream_impl.h"

namespace lockstep::device {

struct FakeDeviceOptions {
  int index = 0;
  // Each item runs only after it has been polled this many times, drawn from [min_polls, max_polls] by
  // `seed`: the same polls give the same history.
  int min_polls = 1;
  int max_polls = 3;
  uint64_t seed = 1;
  // Polls count for nothing; items run when Release() says so.
  bool held = false;
};

// A stream of a device that does not exist: host memory, Device{kFake, index}, work that completes late and
// never inside Enqueue(). With it, what must work on an asynchronous device is tested on any machine:
//
//   auto fake = std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.held = true});
//   Stream stream(fake);
//   kernels.copy(stream, to, from, bytes);   // returns at once; `to` is as it was
//   fake->Release();                         // now it is copied
//
// One thread at a time runs items: whichever polls, waits or releases. Thread-safe.
class FakeDeviceStream : public internal::StreamImpl {
 public:
  explicit FakeDeviceStream(const FakeDeviceOptions& options)
      : options_(options), random_(options.seed), permits_(options.held ? 0 : kUnlimited) {}

  Device device() const override { return {DeviceKind::kFake, options_.index}; }
  void Enqueue(std::function<void()> work) override;
  void WaitFor(const Event& event) override;
  uint64_t Newest() const override;
  bool Passed(uint64_t ticket) const override { return passed_.load(std::memory_order_acquire) >= ticket; }

  // Lets `items` more items run, waits included, and runs those that are there and whose dependencies are
  // met; the others run when they are polled. Only for a stream that is held.
  void Release(int64_t items = 1);
  // From now on items run as soon as they are polled.
  void ReleaseAll();

 protected:
  bool Advance(uint64_t ticket, Event* blocker) override;
  void AwaitChange(uint64_t ticket) override;

 private:
  static constexpr int64_t kUnlimited = INT64_MAX / 2;
  struct Item {
    std::function<void()> work;  // empty: a wait for `after`
    Event after;
    int polls_left;
  };
  void Push(std::function<void()> work, Event after);
  // Runs the front item if it may; false, with *blocker set if it is a wait, if not.
  bool RunFront(Event* blocker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const FakeDeviceOptions options_;
  mutable absl::Mutex mu_;
  absl::CondVar changed_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);  // the running item is no longer among them
  int64_t permits_ ABSL_GUARDED_BY(mu_);
  uint64_t enqueued_ ABSL_GUARDED_BY(mu_) = 0;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<uint64_t> passed_{0};  // written under mu_
};

}  // namespace lockstep::device
