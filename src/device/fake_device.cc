#include "src/device/fake_device.h"

#include <memory>
#include <thread>
#include <utility>

namespace lockstep::device {
namespace {

// Polls until an item of a MakeStream() stream runs: more than one, so that nobody gets away with not
// waiting.
constexpr int kLate = 3;

}  // namespace

void FakeStream::Enqueue(std::function<void()> work) {
  absl::MutexLock lock(&mu_);
  items_.push_back({std::move(work), {}, late_});
  ++enqueued_;
}

void FakeStream::WaitFor(const Event& event) {
  absl::MutexLock lock(&mu_);
  items_.push_back({{}, event, late_});
  ++enqueued_;
}

uint64_t FakeStream::Newest() {
  absl::MutexLock lock(&mu_);
  return enqueued_;
}

bool FakeStream::Done(uint64_t ticket) {
  absl::MutexLock lock(&mu_);
  if (done_ >= ticket) return true;
  if (running_) return false;
  Item& front = items_.front();
  if (front.polls_left-- > 0) return false;
  running_ = true;
  std::function<void()> work = std::move(front.work);
  const Event after = front.after;
  mu_.Unlock();
  const bool ran = after.Done();
  if (ran && work) work();
  mu_.Lock();
  running_ = false;
  if (!ran) {
    items_.front().work = std::move(work);
    return false;
  }
  items_.pop_front();
  ++done_;
  return done_ >= ticket;
}

void FakeStream::WaitSync(uint64_t ticket) {
  while (!Done(ticket)) std::this_thread::yield();
}

Stream MakeStream(Device device) {
  if (device.kind == DeviceKind::kFake) return Stream(std::make_shared<FakeStream>(device.index, kLate));
  return Stream();
}

}  // namespace lockstep::device
