#include "src/device/fake_device.h"

#include <algorithm>
#include <utility>

namespace lockstep::device {

void FakeDeviceStream::Push(std::function<void()> work, Event after) {
  absl::MutexLock lock(&mu_);
  // Not uniform_int_distribution: its numbers differ between standard libraries.
  const uint64_t range = static_cast<uint64_t>(options_.max_polls - options_.min_polls) + 1;
  const int polls = options_.held ? 0 : options_.min_polls + static_cast<int>(random_() % range);
  items_.push_back({std::move(work), std::move(after), polls});
  ++enqueued_;
}

void FakeDeviceStream::Enqueue(std::function<void()> work) { Push(std::move(work), {}); }

void FakeDeviceStream::WaitFor(const Event& event) { Push({}, event); }

uint64_t FakeDeviceStream::Newest() const {
  absl::MutexLock lock(&mu_);
  return enqueued_;
}

void FakeDeviceStream::Release(int64_t items) {
  absl::MutexLock lock(&mu_);
  permits_ = std::min(permits_ + std::min(items, kUnlimited), kUnlimited);
  changed_.SignalAll();
  Event blocker;
  while (RunFront(&blocker)) {
  }
}

void FakeDeviceStream::ReleaseAll() { Release(kUnlimited); }

bool FakeDeviceStream::Advance(uint64_t ticket, Event* blocker) {
  absl::MutexLock lock(&mu_);
  if (!running_ && !items_.empty() && items_.front().polls_left > 0) {
    --items_.front().polls_left;
  } else {
    RunFront(blocker);
  }
  return Passed(ticket);
}

void FakeDeviceStream::AwaitChange(uint64_t ticket) {
  absl::MutexLock lock(&mu_);
  while (!Passed(ticket) && (running_ || permits_ == 0)) changed_.Wait(&mu_);
}

bool FakeDeviceStream::RunFront(Event* blocker) {
  if (running_ || items_.empty() || permits_ == 0) return false;
  Item& front = items_.front();
  if (front.polls_left > 0) return false;
  if (!HasPassed(front.after)) {
    *blocker = front.after;
    return false;
  }
  Item item = std::move(front);
  items_.pop_front();
  if (options_.held) --permits_;
  running_ = true;
  mu_.Unlock();
  if (item.work) item.work();
  item = {};
  mu_.Lock();
  running_ = false;
  passed_.store(passed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  changed_.SignalAll();
  return true;
}

}  // namespace lockstep::device
