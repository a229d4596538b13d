#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lockstep::transport::sim {

struct Channel;
struct Message;

enum class EventKind : uint8_t {
  kDeparted,   // the sender's buffer is free
  kArrived,    // the message is at the receiver's end
  kClosed,     // the channel's ends notice that one of them is gone
  kLost,       // a rank dies
  kNotice,     // a rank hears of another's end
  kPartition,  // the network falls apart
};

struct Event {
  int64_t time_ns = 0;
  uint64_t order = 0;  // of pushing: decides between events of the same time
  EventKind kind = EventKind::kDeparted;
  int rank = -1;
  int about = -1;  // kNotice: whose end
  Channel* channel = nullptr;
  Message* message = nullptr;
};

// What is going to happen, soonest first. Never shrinks, so that a long run allocates nothing.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  void Push(Event event) {
    event.order = pushed_++;
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  Event Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool Later(const Event& a, const Event& b) {
    return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.order > b.order;
  }
  std::vector<Event> heap_;
  uint64_t pushed_ = 0;
};

}  // namespace lockstep::transport::sim
