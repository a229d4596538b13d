#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"
#include "lockstep/device.h"
#include "lockstep/stream.h"

namespace lockstep::inline v0::internal {

// What a Stream handle names: one implementation a kind of device. Thread-safe.
//
// Tickets count enqueued items from 1; a ticket has passed when that item and all before it have run. Done()
// and WaitSync() are the same for all streams: they follow the chain of streams that wait for one another, in
// a loop rather than by recursion, and advance each. An event is recorded before anybody can wait for it, so
// the chain has an end.
class StreamImpl : public std::enable_shared_from_this<StreamImpl> {
 public:
  virtual ~StreamImpl() = default;

  virtual Device device() const = 0;
  virtual void Enqueue(std::function<void()> work) = 0;
  virtual void WaitFor(const Event& event) = 0;
  // Runs `work` now, in the calling thread, if this is a host stream with nothing before it; else does
  // nothing and returns false. Spares the copy, and the allocation, that Enqueue() needs.
  virtual bool TryRun(absl::FunctionRef<void()> work);
  // The ticket of the newest item; 0 when nothing was ever enqueued.
  virtual uint64_t Newest() const = 0;
  // Looks, and runs nothing.
  virtual bool Passed(uint64_t ticket) const = 0;

  // Complete from the start when nothing is in the stream.
  Event Record();
  // True once `ticket` has passed; before it says no it runs what can be run without blocking.
  bool Done(uint64_t ticket);
  // Returns when `ticket` has passed; helps as Done() does.
  void WaitSync(uint64_t ticket);

 protected:
  // Runs items, in order, until `ticket` has passed (true) or the stream is stuck (false). Never blocks on
  // another stream. Stuck at a wait, it sets *blocker to the event; stuck because another thread runs an
  // item, or because the device is not ready yet, it leaves *blocker alone.
  virtual bool Advance(uint64_t ticket, Event* blocker) = 0;
  // Blocks while `ticket` has not passed and Advance() could do nothing; may return early.
  virtual void AwaitChange(uint64_t ticket) = 0;

  static bool HasPassed(const Event& event);

 private:
  bool Drive(uint64_t ticket, bool wait);
};

}  // namespace lockstep::inline v0::internal
