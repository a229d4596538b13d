#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "lockstep/stream.h"
#include "lockstep/work.h"
#include "src/collectives/collective.h"
#include "src/transport/transport.h"

namespace lockstep::comm {
class Engine;
}

namespace lockstep::inline v0::internal {

// One call on a communicator, from Submit to its end and until the last Work that names it is gone. Pooled:
// the engine takes it back then.
//
// The engine's lock guards everything but the reference count and what is written once before `done`.
class WorkState {
 public:
  using Clock = std::chrono::steady_clock;

  void Reference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release();

  bool done() const { return done_.load(std::memory_order_acquire); }
  // Valid once done.
  const absl::Status& status() const { return status_; }
  void Complete(const absl::Status& status, Clock::time_point now) {
    status_ = status;
    timing.ended = now;
    collective.reset();
    start = Event();
    done_.store(true, std::memory_order_release);
  }
  // Back to a fresh state with one reference.
  void Reset(std::shared_ptr<comm::Engine> owner);
  comm::Engine* engine() const { return engine_.get(); }

  collectives::Arguments arguments;
  uint64_t sequence = 0;
  Clock::time_point deadline;
  std::chrono::nanoseconds timeout{0};
  WorkTiming timing;
  Stream stream;  // where kernels run
  Event start;    // the call begins after it
  bool start_seen = false;
  std::unique_ptr<collectives::Collective> collective;  // null: not begun
  int peer = -1;                                        // point to point
  transport::Operation operation;                       // point to point
  WorkState* next = nullptr;                            // the engine's queue

 private:
  std::shared_ptr<comm::Engine> engine_;  // alive while anybody can still ask
  std::atomic<int> references_{0};
  std::atomic<bool> done_{false};
  absl::Status status_;
};

}  // namespace lockstep::inline v0::internal

namespace lockstep::comm {
using internal::WorkState;
}
