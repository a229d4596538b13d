#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "src/collectives/descriptor.h"

namespace lockstep::comm {

// What a communicator did last: one record a collective, the newest kCapacity of them. Thread-safe; never
// allocates after construction.
class FlightRing {
 public:
  static constexpr size_t kCapacity = 2000;
  using Clock = std::chrono::steady_clock;

  enum class State : uint8_t { kEnqueued, kStarted, kDone, kFailed };
  struct Record {
    uint64_t sequence = 0;
    collectives::Descriptor descriptor;
    Algorithm algorithm = Algorithm::kAuto;  // chosen; kAuto until started
    State state = State::kEnqueued;
    Clock::time_point enqueued, started, ended;
  };

  FlightRing() : records_(kCapacity) {}

  // Sequence numbers come in order, from 1.
  void Enqueue(uint64_t sequence, const collectives::Descriptor& descriptor, Clock::time_point now);
  void Start(uint64_t sequence, Algorithm algorithm, Clock::time_point now);
  void End(uint64_t sequence, bool ok, Clock::time_point now);

  // What was called as `sequence`, unless it has not been or is too long ago.
  std::optional<Record> Find(uint64_t sequence) const;
  // Oldest first.
  std::vector<Record> Snapshot() const;

 private:
  Record* Slot(uint64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::vector<Record> records_ ABSL_GUARDED_BY(mu_);
};

}  // namespace lockstep::comm
