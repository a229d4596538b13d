#pragma once

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "lockstep/export.h"
#include "lockstep/stream.h"

namespace lockstep::inline v0 {

namespace internal {
class WorkState;  // src/comm/work_state.h, pooled by the communicator
}

// When a collective was enqueued, started and ended, on the steady clock. Zero: has not happened yet.
struct WorkTiming {
  std::chrono::steady_clock::time_point enqueued, started, ended;
};

// A pending collective. Cheap to copy; copies name the same collective.
//
// A Work that is dropped still completes; its buffers must live until then. All methods may be called from
// any thread, any number of times, also after the Communicator is gone (the status then says so).
class LOCKSTEP_EXPORT Work {
 public:
  Work() = default;  // nothing pending: OK
  Work(const Work& other);
  Work(Work&& other) noexcept;
  Work& operator=(Work other) noexcept;
  ~Work();

  // Blocks until the collective has ended and returns its status. The waiting thread drives the collective.
  absl::Status Wait();
  // Orders what `stream` gets from now on after the collective. With host memory this blocks unless `stream`
  // can hold work back (Stream::Host()); the status is that known now, the rest comes from Wait() or the next
  // call.
  absl::Status Wait(Stream stream);
  // Has it ended? Drives it a little; never blocks.
  bool Test();
  // OK while pending.
  absl::Status status() const;
  WorkTiming timing() const;
  // The communicator's sequence number of this collective; 0 for a default-constructed Work.
  uint64_t sequence() const;

  // Takes over one reference. For the library.
  explicit Work(internal::WorkState* adopted) : state_(adopted) {}

 private:
  internal::WorkState* state_ = nullptr;
};

}  // namespace lockstep::inline v0
