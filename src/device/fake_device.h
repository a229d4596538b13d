#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "src/device/stream_impl.h"

namespace lockstep::device {

// A stream of a device that does not exist: host memory, but each item runs only after it has been polled
// `late` times. With it, what must work on an asynchronous device is tested on any machine; the same polls
// give the same history.
class FakeStream : public internal::StreamImpl {
 public:
  FakeStream(int index, int late) : index_(index), late_(late) {}

  Device device() const override { return {DeviceKind::kFake, index_}; }
  void Enqueue(std::function<void()> work) override;
  void WaitFor(const Event& event) override;
  uint64_t Newest() override;
  bool Done(uint64_t ticket) override;
  void WaitSync(uint64_t ticket) override;

 private:
  struct Item {
    std::function<void()> work;
    Event after;
    int polls_left;
  };
  absl::Mutex mu_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
  uint64_t enqueued_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mu_) = 0;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  const int index_;
  const int late_;
};

// A stream for work on `device`: the inline host stream, or a FakeStream. CUDA devices are their module's.
Stream MakeStream(Device device);

}  // namespace lockstep::device
