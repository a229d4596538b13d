#include "src/device/host_stream.h"

#include <utility>

namespace lockstep::device {

void HostStream::Push(Item item) {
  items_.push_back(std::move(item));
  ++enqueued_;
}

void HostStream::Enqueue(std::function<void()> work) {
  absl::MutexLock lock(&mu_);
  Push({std::move(work), {}});
  Run();
}

void HostStream::WaitFor(const Event& event) {
  absl::MutexLock lock(&mu_);
  Push({{}, event});
  Run();
}

uint64_t HostStream::Newest() {
  absl::MutexLock lock(&mu_);
  return enqueued_;
}

bool HostStream::Done(uint64_t ticket) {
  absl::MutexLock lock(&mu_);
  if (done_ < ticket) Run();
  return done_ >= ticket;
}

void HostStream::WaitSync(uint64_t ticket) {
  absl::MutexLock lock(&mu_);
  for (;;) {
    if (done_ < ticket) Run();
    if (done_ >= ticket) return;
    if (running_) {
      stopped_running_.Wait(&mu_);
      continue;
    }
    const Event after = items_.front().after;  // only a wait can be left at the front
    mu_.Unlock();
    after.WaitSync();
    mu_.Lock();
  }
}

void HostStream::Run() {
  if (running_) return;
  running_ = true;
  while (!items_.empty()) {
    // The item stays in the queue while it runs, so that it counts as not done.
    Item& front = items_.front();
    std::function<void()> work = std::move(front.work);
    const bool is_wait = !work;
    const Event after = front.after;
    mu_.Unlock();
    const bool ran = is_wait ? after.Done() : (work(), true);
    work = nullptr;
    mu_.Lock();
    if (!ran) break;
    items_.pop_front();
    ++done_;
  }
  running_ = false;
  stopped_running_.SignalAll();
}

}  // namespace lockstep::device
