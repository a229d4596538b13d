#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "lockstep/device.h"
#include "lockstep/export.h"

namespace lockstep::inline v0 {

namespace internal {
class StreamImpl;  // src/device/stream_impl.h: one implementation per device
}

// A point in a stream's order. Cheap to copy; a default-constructed Event is already complete.
//
// Thread-safe: any thread may poll or wait. An event keeps its stream alive.
class LOCKSTEP_EXPORT Event {
 public:
  Event() = default;

  // True once everything that was in the stream when the event was recorded has run. Never blocks; before it
  // says no, it runs what is queued on host streams, this one and those it waits for, and is not held up
  // ("whoever waits helps").
  bool Done() const;
  // Blocks the calling thread until Done().
  void WaitSync() const;

 private:
  friend class Stream;
  friend class internal::StreamImpl;
  Event(std::shared_ptr<internal::StreamImpl> stream, uint64_t ticket);
  std::shared_ptr<internal::StreamImpl> stream_;
  uint64_t ticket_ = 0;
};

// An in-order queue of work on one device. A handle: copies name the same queue.
//
// The default-constructed stream is the inline host stream: work runs in the calling thread at once, and its
// events are complete when they are returned. Host() makes a host stream that can hold work back: it has no
// thread of its own; work runs inline when the stream is empty and its dependencies are met, else it is
// queued and run by whoever waits for it (Event::WaitSync, Stream::WaitSync, Event::Done, Work::Wait).
//
// Work that has not run when the last handle and the last event of its stream are gone is dropped: keep one.
//
// Thread-safe: several threads may enqueue; their order is the order in which the calls arrive.
class LOCKSTEP_EXPORT Stream {
 public:
  Stream() = default;
  static Stream Host();

  Device device() const;
  // Runs `work` after everything enqueued before it. `work` must not throw and must not wait for this stream.
  void Enqueue(std::function<void()> work);
  // An event behind everything enqueued so far.
  Event Record();
  // Orders what is enqueued from now on after `event`. Does not block the host; the inline stream alone,
  // which cannot hold work back, waits here.
  void WaitFor(const Event& event);
  // Blocks the calling thread until all enqueued work has run.
  void WaitSync();
  // Nothing queued and nothing running. Helps as Event::Done() does.
  bool Idle() const;

  explicit Stream(std::shared_ptr<internal::StreamImpl> impl);
  internal::StreamImpl* impl() const { return impl_.get(); }

 private:
  std::shared_ptr<internal::StreamImpl> impl_;  // null: the inline host stream
};

}  // namespace lockstep::inline v0
