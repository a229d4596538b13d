#include "tests/comm/control_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::comm {
namespace {

// What a connect to a host that doesn't answer takes.
constexpr std::chrono::seconds kDialTimeout{2};

}  // namespace

ControlWorld::ControlWorld(const Options& options)
    : options_(options),
      longest_delay_us_(static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(options.longest_delay).count())),
      random_(options.seed) {
  std::vector<std::string> descriptions;
  std::vector<int> members;
  for (int rank = 0; rank < options.world_size; ++rank) {
    descriptions.push_back(absl::StrCat("host n", rank));
    members.push_back(rank);
  }
  for (int rank = 0; rank < options.world_size; ++rank) {
    auto node = std::make_unique<Node>();
    node->world = this;
    node->rank = rank;
    ControlMachine::Options machine;
    machine.rank = rank;
    machine.world_size = options.world_size;
    machine.heartbeat_timeout = options.heartbeat_timeout;
    machine.descriptions = descriptions;
    node->machine = std::make_unique<ControlMachine>(machine, node.get());
    nodes_.push_back(std::move(node));
  }
  for (int rank = 0; rank < options.world_size; ++rank)
    At(rank, now_ + Delay(), [this, rank, members] {
      machine(rank).Start(now_);
      machine(rank).Register(kCommunicator, members, &heard(rank), now_);
      After(std::chrono::microseconds(Random(50000)), [this, rank] { Tick(rank); });
    });
}

void ControlWorld::After(Time delay, std::function<void()> action) {
  events_.push({now_ + delay, order_++, std::move(action)});
}

void ControlWorld::At(int rank, Time time, std::function<void()> action) {
  events_.push({time, order_++, [this, rank, action = std::move(action)] {
                  Node& node = this->node(rank);
                  if (!node.alive) return;
                  if (node.stopped) return node.missed.push_back(action);
                  action();
                  AfterChange(rank);
                }});
}

bool ControlWorld::Run(Time time, const std::function<bool()>& until) {
  const Time end = now_ + time;
  Time next_look = now_;
  while (!events_.empty() && events_.top().time <= end) {
    if (until && events_.top().time >= next_look) {
      if (until()) return true;
      next_look = events_.top().time + std::chrono::milliseconds(1);
    }
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    event.action();
  }
  if (until && until()) return true;
  now_ = end;
  return false;
}

bool ControlWorld::AllLinked() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return !node->alive || node->machine->LinkedWithAllNeighbours();
  });
}

std::vector<int> ControlWorld::Living() const {
  std::vector<int> living;
  for (const auto& node : nodes_)
    if (node->alive) living.push_back(node->rank);
  return living;
}

void ControlWorld::Note(const char* what, int a, int b, size_t bytes) {
  if (options_.keep_trace)
    absl::StrAppend(&trace_, now_.count(), " ", what, " ", a, " ", b, " ", bytes, "\n");
}

void ControlWorld::Tick(int rank) {
  At(rank, now_, [this, rank] { machine(rank).Tick(now_); });
  if (node(rank).alive) After(ControlMachine::kTick, [this, rank] { Tick(rank); });
}

void ControlWorld::AfterChange(int rank) {
  Node& node = this->node(rank);
  if (!node.alive || node.flush_armed || !node.machine->NeedsFlush()) return;
  node.flush_armed = true;
  At(rank, now_ + ControlMachine::kFlushDelay, [this, rank] {
    this->node(rank).flush_armed = false;
    machine(rank).Flush();
  });
}

void ControlWorld::Send(int from, int to, net::FrameKind kind, const std::string& payload) {
  Node& sender = node(from);
  if (!sender.alive) return;
  if (sender.sends_left == 0) return Kill(from);
  if (sender.sends_left > 0) --sender.sends_left;
  const auto links = sender.links.find(to);
  if (links == sender.links.end() || links->second.empty()) return;
  const std::shared_ptr<Connection> connection = links->second.back();
  ++messages_;
  bytes_ += static_cast<int64_t>(payload.size());
  Note("send", from, to, payload.size());
  if (Parted(from, to)) return;
  const int end = connection->ends[0] == to ? 0 : 1;
  const Time arrival = std::max(connection->last_arrival[end], now_ + Delay());
  connection->last_arrival[end] = arrival;
  At(to, arrival, [this, connection, end, from, to, kind, payload] {
    if (!connection->open[end]) return;
    Note("frame", from, to, payload.size());
    if (!machine(to).OnFrame(from, kind, payload, now_).ok()) CloseEnd(connection, end);
  });
}

void ControlWorld::Dial(int from, int to) {
  Note("dial", from, to, 0);
  const bool unreachable = Parted(from, to) || (node(to).alive && node(to).stopped);
  if (unreachable)
    return At(from, now_ + kDialTimeout, [this, from, to] { machine(from).OnDialFailed(to, false, now_); });
  At(from, now_ + 2 * Delay(), [this, from, to] { Connect(from, to); });
}

void ControlWorld::Connect(int from, int to) {
  if (!node(to).alive) return machine(from).OnDialFailed(to, true, now_);
  if (node(to).stopped || Parted(from, to)) return machine(from).OnDialFailed(to, false, now_);
  auto connection = std::make_shared<Connection>();
  connection->ends[0] = from;
  connection->ends[1] = to;
  LinkUp(to, connection, 1);
  LinkUp(from, connection, 0);
}

void ControlWorld::LinkUp(int rank, const std::shared_ptr<Connection>& connection, int end) {
  const int peer = connection->ends[1 - end];
  node(rank).links[peer].push_back(connection);
  At(rank, now_, [this, rank, peer] { machine(rank).OnLinkUp(peer, now_); });
}

void ControlWorld::CloseEnd(const std::shared_ptr<Connection>& connection, int end) {
  if (!connection->open[end]) return;
  connection->open[end] = false;
  const int rank = connection->ends[end], peer = connection->ends[1 - end];
  std::vector<std::shared_ptr<Connection>>& links = node(rank).links[peer];
  const auto found = std::find(links.begin(), links.end(), connection);
  const bool was_linked = found != links.end();
  if (was_linked) links.erase(found);
  if (node(rank).alive && was_linked && links.empty()) {
    Note("down", rank, peer, 0);
    machine(rank).OnLinkDown(peer, now_);
    AfterChange(rank);
  }
  if (Parted(rank, peer)) return;
  const int other = 1 - end;
  const Time arrival = std::max(connection->last_arrival[other], now_ + Delay());
  At(peer, arrival, [this, connection, other] { CloseEnd(connection, other); });
}

void ControlWorld::CloseAll(int rank) {
  const auto links = node(rank).links;
  for (const auto& [peer, connections] : links)
    for (const std::shared_ptr<Connection>& connection : connections)
      CloseEnd(connection, connection->ends[0] == rank ? 0 : 1);
}

void ControlWorld::CloseLink(int rank, int peer) {
  Note("close", rank, peer, 0);
  const auto links = std::exchange(node(rank).links[peer], {});
  for (const std::shared_ptr<Connection>& connection : links)
    CloseEnd(connection, connection->ends[0] == rank ? 0 : 1);
}

void ControlWorld::Kill(int rank) {
  if (!node(rank).alive) return;
  Note("kill", rank, rank, 0);
  node(rank).alive = false;
  CloseAll(rank);
}

void ControlWorld::Leave(int rank) {
  Node& node = this->node(rank);
  if (!node.alive) return;
  Note("leave", rank, rank, 0);
  node.machine->Flush();
  for (const auto& [peer, links] : node.links)
    if (!links.empty()) Send(rank, peer, net::FrameKind::kGoodbye, "");
  node.alive = false;
  CloseAll(rank);
}

void ControlWorld::Continue(int rank) {
  Node& node = this->node(rank);
  node.stopped = false;
  for (const std::function<void()>& action : std::exchange(node.missed, {})) {
    if (!node.alive) return;
    action();
    AfterChange(rank);
  }
}

void ControlWorld::BreakLink(int a, int b) {
  const std::vector<std::shared_ptr<Connection>> links = node(a).links[b];
  for (const std::shared_ptr<Connection>& connection : links) {
    CloseEnd(connection, 0);
    CloseEnd(connection, 1);
  }
}

void ControlWorld::Heal() {
  const std::set<int> group = std::exchange(group_, {});
  for (int a : group)
    for (const auto& other : nodes_)
      if (group.count(other->rank) == 0) BreakLink(a, other->rank);
}

}  // namespace lockstep::comm
