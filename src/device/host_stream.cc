#include "src/device/host_stream.h"

#include <utility>
#include <vector>

namespace lockstep::device {

HostStream::~HostStream() {
  // An item may hold the last reference to the stream that it waits for, whose items may hold more: a long
  // chain would overflow the stack. The outermost destructor of the thread takes them all down.
  static thread_local std::vector<std::deque<Item>>* dying = nullptr;
  if (dying != nullptr) {
    dying->push_back(std::move(items_));
    return;
  }
  std::vector<std::deque<Item>> chain;
  dying = &chain;
  chain.push_back(std::move(items_));
  while (!chain.empty()) {
    const std::deque<Item> items = std::move(chain.back());
    chain.pop_back();
  }
  dying = nullptr;
}

void HostStream::Enqueue(std::function<void()> work) {
  // The work may drop the caller's handle.
  const auto self = shared_from_this();
  absl::MutexLock lock(&mu_);
  if (!running_ && items_.empty()) return RunInline(work);
  items_.push_back({std::move(work), {}});
  ++enqueued_;
  RunUntil(enqueued_);
}

void HostStream::WaitFor(const Event& event) {
  if (HasPassed(event)) return;
  absl::MutexLock lock(&mu_);
  items_.push_back({{}, event});
  ++enqueued_;
}

bool HostStream::TryRun(absl::FunctionRef<void()> work) {
  absl::MutexLock lock(&mu_);
  if (running_ || !items_.empty()) return false;
  RunInline(work);
  return true;
}

uint64_t HostStream::Newest() const {
  absl::MutexLock lock(&mu_);
  return enqueued_;
}

bool HostStream::Advance(uint64_t ticket, Event* blocker) {
  absl::MutexLock lock(&mu_);
  RunUntil(ticket);
  if (Passed(ticket)) return true;
  if (!running_) *blocker = items_.front().after;  // only a wait stops RunUntil()
  return false;
}

void HostStream::AwaitChange(uint64_t ticket) {
  absl::MutexLock lock(&mu_);
  while (running_ && !Passed(ticket)) stopped_running_.Wait(&mu_);
}

void HostStream::RunInline(absl::FunctionRef<void()> work) {
  ++enqueued_;
  running_ = true;
  mu_.Unlock();
  work();
  mu_.Lock();
  running_ = false;
  Pass();
  RunUntil(enqueued_);
}

void HostStream::RunUntil(uint64_t ticket) {
  if (running_) return;
  while (!items_.empty() && !Passed(ticket)) {
    if (items_.front().work == nullptr && !HasPassed(items_.front().after)) break;
    running_ = true;
    {
      Item item = std::move(items_.front());
      items_.pop_front();
      mu_.Unlock();
      if (item.work) item.work();
      // What the item holds goes before the lock is taken: a destructor may come back to this stream.
    }
    mu_.Lock();
    running_ = false;
    Pass();
  }
}

void HostStream::Pass() {
  passed_.store(passed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  stopped_running_.SignalAll();
}

}  // namespace lockstep::device
