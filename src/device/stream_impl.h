#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "lockstep/device.h"
#include "lockstep/stream.h"

namespace lockstep::inline v0::internal {

// What a Stream handle names: one implementation a kind of device. Thread-safe.
//
// Tickets count enqueued items from 1; a ticket is done when that item and all before it have run.
class StreamImpl : public std::enable_shared_from_this<StreamImpl> {
 public:
  virtual ~StreamImpl() = default;
  virtual Device device() const = 0;
  virtual void Enqueue(std::function<void()> work) = 0;
  virtual void WaitFor(const Event& event) = 0;
  // The ticket of the newest item; 0 when nothing was ever enqueued.
  virtual uint64_t Newest() = 0;
  virtual bool Done(uint64_t ticket) = 0;
  virtual void WaitSync(uint64_t ticket) = 0;

  Event RecordEvent() { return Event(shared_from_this(), Newest()); }
};

}  // namespace lockstep::inline v0::internal
