#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "src/transport/operation_queue.h"
#include "src/transport/sim/message_pool.h"
#include "src/transport/transport.h"

namespace lockstep::transport::sim {

// One direction of one pair of ranks on one lane.
struct Channel {
  Lane lane = Lane::kCollective;
  int source = 0;
  int destination = 0;
  OperationQueue sends;     // posted, not yet in the network for lack of room
  OperationQueue receives;  // posted, nothing there yet
  // In the network, oldest first.
  Message* oldest = nullptr;
  Message* newest = nullptr;
  int64_t in_flight_bytes = 0;
  int64_t last_arrival_ns = 0;
  absl::Status closed;  // not OK: what is posted from now on fails with it

  void Append(Message* message) {
    (oldest == nullptr ? oldest : newest->next) = message;
    newest = message;
  }
  Message* RemoveOldest() {
    Message* message = oldest;
    oldest = message->next;
    message->next = nullptr;
    return message;
  }
};

}  // namespace lockstep::transport::sim
