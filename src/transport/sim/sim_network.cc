#include "src/transport/sim/sim_network.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/lost_ranks.h"

namespace lockstep::transport::sim {
namespace {

// What a message occupies beside its payload.
constexpr int64_t kHeaderBytes = 64;

size_t Index(int rank) { return static_cast<size_t>(rank); }

std::string Describe(const Tag& tag, int64_t bytes) {
  return absl::StrCat("#", tag.sequence, ", ", bytes, " bytes, algorithm ", tag.algorithm, ", call ",
                      absl::Hex(tag.descriptor, absl::kZeroPad16));
}

}  // namespace

SimNetwork::SimNetwork(const SimOptions& options, EventQueue* events)
    : options_(options), events_(events), random_(options.seed) {
  const size_t ranks = Index(options.topology.world_size);
  const size_t hosts = ranks / Index(options.topology.ranks_per_host) + 1;
  of_rank_.resize(ranks);
  local_out_.resize(ranks);
  local_in_.resize(ranks);
  host_out_.resize(hosts);
  host_in_.resize(hosts);
  slowness_.assign(ranks, 1.0);
  sides_.resize(ranks);
  ends_.resize(ranks);
  reasons_.resize(ranks);
  counters_.resize(ranks);
}

Channel& SimNetwork::Reach(Lane lane, int source, int destination) {
  const uint64_t key = (static_cast<uint64_t>(lane) << 62) | (static_cast<uint64_t>(source) << 31) |
                       static_cast<uint64_t>(destination);
  Channel*& channel = by_ends_[key];
  if (channel == nullptr) {
    channel = &channels_.emplace_back();
    channel->lane = lane;
    channel->source = source;
    channel->destination = destination;
    of_rank_[Index(source)].push_back(channel);
    of_rank_[Index(destination)].push_back(channel);
    for (int rank : {source, destination})
      if (closed(rank)) CloseChannel(*channel, end(rank));
  }
  return *channel;
}

void SimNetwork::PostSend(Lane lane, int source, int destination, Operation* operation) {
  Channel& channel = Reach(lane, source, destination);
  if (closed(source) || !channel.closed.ok()) {
    MarkReady(source);
    return operation->Fail(closed(source) ? reasons_[Index(source)] : channel.closed);
  }
  channel.sends.Push(operation);
  StartSends(channel);
}

void SimNetwork::PostReceive(Lane lane, int source, int destination, Operation* operation) {
  Channel& channel = Reach(lane, source, destination);
  // What arrived before the other end was gone can still be had.
  const bool something_left = channel.oldest != nullptr && channel.oldest->arrived;
  if (closed(destination) || (!channel.closed.ok() && !something_left)) {
    MarkReady(destination);
    return operation->Fail(closed(destination) ? reasons_[Index(destination)] : channel.closed);
  }
  channel.receives.Push(operation);
  Match(channel);
}

void SimNetwork::StartSends(Channel& channel) {
  while (!channel.sends.empty()) {
    const int64_t bytes = channel.sends.front()->bytes() + kHeaderBytes;
    if (channel.in_flight_bytes > 0 && channel.in_flight_bytes + bytes > options_.window_bytes) return;
    Operation* operation = channel.sends.front();
    channel.sends.Pop();
    Start(channel, operation);
  }
}

void SimNetwork::Start(Channel& channel, Operation* operation) {
  Message* message = messages_.Take();
  message->tag = operation->tag();
  message->bytes = operation->bytes();
  message->send = operation;
  channel.Append(message);
  channel.in_flight_bytes += message->bytes + kHeaderBytes;
  int64_t departure_ns = 0;
  const int64_t arrival_ns = ArrivalTime(channel, message->bytes + kHeaderBytes, &departure_ns);
  // What is larger than the window stays with the sender until it is received.
  if (message->bytes + kHeaderBytes <= options_.window_bytes)
    events_->Push(
        {.time_ns = departure_ns, .kind = EventKind::kDeparted, .channel = &channel, .message = message});
  if (!cut_off(channel.source, channel.destination))
    events_->Push(
        {.time_ns = arrival_ns, .kind = EventKind::kArrived, .channel = &channel, .message = message});
}

int64_t SimNetwork::ArrivalTime(Channel& channel, int64_t bytes, int64_t* departure_ns) {
  const Topology& topology = options_.topology;
  const int from = channel.source / topology.ranks_per_host,
            to = channel.destination / topology.ranks_per_host;
  const LinkModel& link = from == to ? topology.within_host : topology.between_hosts;
  int64_t& out = from == to ? local_out_[Index(channel.source)] : host_out_[Index(from)];
  int64_t& in = from == to ? local_in_[Index(channel.destination)] : host_in_[Index(to)];
  const int64_t busy_ns =
      std::llround(static_cast<double>(bytes) * link.beta_ns * slowness_[Index(channel.source)]);
  const int64_t begin_ns = std::max(now_ns_, out);
  out = *departure_ns = begin_ns + busy_ns;
  in = std::max(begin_ns + link.alpha_ns, in) + busy_ns;
  int64_t late_ns = 0;
  if (options_.jitter > 0)
    late_ns = std::llround(options_.jitter * random_.Unit() * static_cast<double>(link.alpha_ns));
  channel.last_arrival_ns = std::max(in + late_ns, channel.last_arrival_ns);
  return channel.last_arrival_ns;
}

void SimNetwork::Apply(const Event& event) {
  now_ns_ = event.time_ns;
  if (event.channel == nullptr) return;
  Channel& channel = *event.channel;
  if (event.kind == EventKind::kClosed) {
    Trace(event.kind, channel, 0, 0);
    CloseChannel(channel,
                 LostRanksError({event.rank}, absl::StrCat("rank ", event.rank, " closed its connection")));
    return;
  }
  Message* message = event.message;
  Trace(event.kind, channel, message->bytes, message->tag.sequence);
  if (event.kind == EventKind::kDeparted) {
    if (message->send == nullptr) return;
    messages_.Allocate(message);
    if (message->bytes > 0)
      std::memcpy(message->data.get(), message->send->data(), static_cast<size_t>(message->bytes));
    Transport::Counters& counters = counters_[Index(channel.source)];
    counters.bytes_sent += message->bytes;
    ++counters.messages_sent;
    message->send->Complete();
    message->send = nullptr;
    MarkReady(channel.source);
  } else if (!message->torn && !cut_off(channel.source, channel.destination)) {
    message->arrived = true;
    Match(channel);
  }
}

void SimNetwork::Match(Channel& channel) {
  while (!channel.receives.empty() && channel.oldest != nullptr && channel.oldest->arrived) {
    Operation* receive = channel.receives.front();
    channel.receives.Pop();
    Message* message = channel.RemoveOldest();
    channel.in_flight_bytes -= message->bytes + kHeaderBytes;
    Deliver(channel, message, receive);
    messages_.Return(message);
    MarkReady(channel.destination);
  }
  if (channel.closed.ok()) {
    StartSends(channel);
  } else {
    channel.receives.FailAll(channel.closed);
  }
}

void SimNetwork::Deliver(Channel& channel, Message* message, Operation* receive) {
  if (!(message->tag == receive->tag()) || message->bytes != receive->bytes()) {
    const absl::Status status = absl::FailedPreconditionError(absl::StrCat(
        "a message from rank ", channel.source,
        " does not fit the call (ranks must make the same calls in the same order): expected ",
        Describe(receive->tag(), receive->bytes()), "; got ", Describe(message->tag, message->bytes)));
    receive->Fail(status);
    if (message->send != nullptr) message->send->Fail(end(channel.destination));
    CloseChannel(channel, status);
    return;
  }
  const std::byte* data = message->send != nullptr ? message->send->data() : message->data.get();
  if (message->bytes > 0) std::memcpy(receive->data(), data, static_cast<size_t>(message->bytes));
  receive->Complete();
  Transport::Counters& counters = counters_[Index(channel.destination)];
  counters.bytes_received += message->bytes;
  ++counters.messages_received;
  if (message->send == nullptr) return;
  Transport::Counters& sender = counters_[Index(channel.source)];
  sender.bytes_sent += message->bytes;
  ++sender.messages_sent;
  message->send->Complete();
  MarkReady(channel.source);
}

void SimNetwork::CloseChannel(Channel& channel, const absl::Status& status) {
  if (!channel.closed.ok()) return;
  channel.closed = status;
  channel.sends.FailAll(status);
  Tear(channel, status);
  channel.receives.FailAll(status);
  MarkReady(channel.source);
  MarkReady(channel.destination);
}

void SimNetwork::Tear(Channel& channel, const absl::Status& status) {
  for (Message* message = channel.oldest; message != nullptr; message = message->next) {
    if (message->send == nullptr) continue;
    message->send->Fail(status);
    message->send = nullptr;
    message->arrived = false;
    message->torn = true;
  }
}

void SimNetwork::Close(int rank, const absl::Status& reason) {
  if (closed(rank)) return;
  ends_[Index(rank)] = LostRanksError({rank}, absl::StrCat("rank ", rank, " closed its connection"));
  reasons_[Index(rank)] = reason;
  for (Channel* channel : of_rank_[Index(rank)]) {
    const LinkModel& link = options_.topology.between_hosts;
    // The own end is gone at once; the other learns of it behind what is still on its way.
    if (channel->source == rank) {
      channel->sends.FailAll(reason);
      Tear(*channel, reason);
    } else {
      channel->receives.FailAll(reason);
    }
    if (cut_off(channel->source, channel->destination)) continue;
    events_->Push({.time_ns = std::max(now_ns_ + link.alpha_ns, channel->last_arrival_ns),
                   .kind = EventKind::kClosed,
                   .rank = rank,
                   .channel = channel});
  }
}

void SimNetwork::CutOff(const std::vector<int>& group) {
  for (int rank : group) ++sides_[Index(rank)];
}

void SimNetwork::Slow(int rank, double factor) { slowness_[Index(rank)] = factor; }

void SimNetwork::Trace(EventKind kind, const Channel& channel, int64_t bytes, uint64_t sequence) {
  const uint64_t words[] = {
      static_cast<uint64_t>(now_ns_),
      (static_cast<uint64_t>(kind) << 48) | (static_cast<uint64_t>(channel.lane) << 40) |
          (static_cast<uint64_t>(channel.source) << 20) | static_cast<uint64_t>(channel.destination),
      static_cast<uint64_t>(bytes), sequence};
  for (uint64_t word : words) {
    trace_hash_ = (trace_hash_ ^ word) * 0x9e3779b97f4a7c15;
    trace_hash_ ^= trace_hash_ >> 29;
  }
}

std::string SimNetwork::Waits(int rank) const {
  std::string text;
  for (const Channel* channel : of_rank_[Index(rank)]) {
    const bool sends = channel->source == rank;
    const Operation* first = sends ? channel->sends.front() : channel->receives.front();
    if (first == nullptr) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", sends ? "to send to rank " : "for a message of rank ",
                    sends ? channel->destination : channel->source, " (",
                    Describe(first->tag(), first->bytes()), ")");
  }
  return text;
}

}  // namespace lockstep::transport::sim
