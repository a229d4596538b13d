#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/transport/sim/channel.h"
#include "src/transport/sim/event_queue.h"
#include "src/transport/sim/message_pool.h"
#include "src/transport/sim/sim_options.h"
#include "src/transport/sim/sim_random.h"
#include "src/transport/transport.h"

namespace lockstep::transport::sim {

// The network of a simulated world: what is between the ranks' operations, and what becomes of it.
//
// A message of n bytes occupies its sender's port, then its receiver's, for n beta each, alpha apart; a port
// serves one message at a time. Each rank has a port inside its host, each host one to the others. Messages
// of one channel stay in order.
//
// The network does not run the clock: its events are in a queue that SimWorld goes through.
class SimNetwork {
 public:
  SimNetwork(const SimOptions& options, EventQueue* events);

  void PostSend(Lane lane, int source, int destination, Operation* operation);
  void PostReceive(Lane lane, int source, int destination, Operation* operation);

  int64_t now_ns() const { return now_ns_; }
  // Moves the clock to the event's time, and applies it when it is one of the network's: kDeparted, kArrived,
  // kClosed.
  void Apply(const Event& event);

  // A rank's operations are forgotten (failed with `reason`), and so is what it had begun to send; its peers
  // see closed connections once what was under way has arrived.
  void Close(int rank, const absl::Status& reason);
  // The rank is lost as soon as the clock moves on.
  void ScheduleLoss(int rank) { events_->Push({.time_ns = now_ns_, .kind = EventKind::kLost, .rank = rank}); }
  // From now on nothing gets from ranks of `group` to the others, or back; nobody is told.
  void CutOff(const std::vector<int>& group);
  // All that the rank sends takes this many times as long.
  void Slow(int rank, double factor);

  bool closed(int rank) const { return !ends_[static_cast<size_t>(rank)].ok(); }
  const absl::Status& end(int rank) const { return ends_[static_cast<size_t>(rank)]; }
  bool cut_off(int a, int b) const {
    return sides_[static_cast<size_t>(a)] != sides_[static_cast<size_t>(b)];
  }
  // Ranks with operations that came to an end since the last call; a rank may stand there more than once.
  bool TakeReady(std::vector<int>* ready) {
    ready->clear();
    ready->swap(ready_);
    return !ready->empty();
  }
  // What the rank's posted operations wait for, in words.
  std::string Waits(int rank) const;
  // Messages that nobody has received.
  int64_t messages_left() const { return messages_.live(); }
  const Transport::Counters& counters(int rank) const { return counters_[static_cast<size_t>(rank)]; }
  // Of everything that has happened so far.
  uint64_t trace_hash() const { return trace_hash_; }

 private:
  Channel& Reach(Lane lane, int source, int destination);
  // Lets queued sends into the network as far as there is room.
  void StartSends(Channel& channel);
  void Start(Channel& channel, Operation* operation);
  int64_t ArrivalTime(Channel& channel, int64_t bytes, int64_t* departure_ns);
  // Hands arrived messages to posted receives.
  void Match(Channel& channel);
  void Deliver(Channel& channel, Message* message, Operation* receive);
  void Tear(Channel& channel, const absl::Status& status);
  void CloseChannel(Channel& channel, const absl::Status& status);
  void MarkReady(int rank) { ready_.push_back(rank); }
  void Trace(EventKind kind, const Channel& channel, int64_t bytes, uint64_t sequence);

  const SimOptions options_;
  EventQueue* const events_;
  SimRandom random_;
  int64_t now_ns_ = 0;
  uint64_t trace_hash_ = 0;
  MessagePool messages_;
  std::deque<Channel> channels_;
  absl::flat_hash_map<uint64_t, Channel*> by_ends_;
  std::vector<std::vector<Channel*>> of_rank_;  // both directions
  // When each port is free again: inside a host by rank, between hosts by host.
  std::vector<int64_t> local_out_, local_in_, host_out_, host_in_;
  std::vector<double> slowness_;
  std::vector<int> sides_;
  std::vector<absl::Status> ends_;     // not OK: closed, and what the others see
  std::vector<absl::Status> reasons_;  // ... and what the rank itself does
  std::vector<int> ready_;
  std::vector<Transport::Counters> counters_;
};

}  // namespace lockstep::transport::sim
