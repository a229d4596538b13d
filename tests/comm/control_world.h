#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/control/control_machine.h"

namespace lockstep::comm {

// What a communicator of a simulated rank heard.
struct Heard : ControlListener {
  void OnLost(const LostRank& lost) override { this->lost.push_back(lost); }
  void OnPoison(uint64_t sequence, const absl::Status& status) override {
    poison.emplace_back(sequence, status);
  }
  std::optional<collectives::Descriptor> DescriptorAt(uint64_t sequence) override {
    const auto call = calls.find(sequence);
    if (call == calls.end()) return std::nullopt;
    return call->second;
  }
  std::map<uint64_t, collectives::Descriptor> calls;
  std::vector<LostRank> lost;
  std::vector<std::pair<uint64_t, absl::Status>> poison;
};

// Any number of ranks' control machines in one thread and virtual time, on a network that delays each message
// at random and keeps the order of one connection only. Ranks die, also between two of their sends, stop and
// go on, say goodbye; connections break; the network falls apart and heals. One seed is one history.
class ControlWorld {
 public:
  using Time = ControlMachine::Time;
  static constexpr uint64_t kCommunicator = 7;  // all ranks are its members

  struct Options {
    int world_size = 2;
    uint64_t seed = 0;
    Time heartbeat_timeout{std::chrono::seconds(1)};
    Time longest_delay{std::chrono::milliseconds(2)};  // of a message
    bool keep_trace = false;
  };
  explicit ControlWorld(const Options& options);

  // Runs until `time` has passed; returns true as soon as `until` holds, which is asked every millisecond.
  bool Run(Time time, const std::function<bool()>& until = {});
  // Runs `action` after `delay`.
  void After(Time delay, std::function<void()> action);
  Time now() const { return now_; }
  bool AllLinked() const;

  void Kill(int rank);
  // Dies after so many more sends.
  void KillAfterSends(int rank, int sends) { node(rank).sends_left = sends; }
  void Leave(int rank);
  void Stop(int rank) { node(rank).stopped = true; }
  void Continue(int rank);
  void BreakLink(int a, int b);
  // Nothing gets from ranks of `group` to the others, or back.
  void Partition(const std::set<int>& group) { group_ = group; }
  // Connections between the parts are found to be broken.
  void Heal();

  bool alive(int rank) const { return nodes_[static_cast<size_t>(rank)]->alive; }
  std::vector<int> Living() const;
  ControlMachine& machine(int rank) { return *node(rank).machine; }
  Heard& heard(int rank) { return node(rank).heard; }
  void Compare(int rank, uint64_t sequence) {
    machine(rank).Compare(kCommunicator, sequence, now_);
    AfterChange(rank);
  }
  void Suspect(int rank, int peer) { machine(rank).Suspect(peer, now_); }
  void Poison(int rank, const absl::Status& status) {
    machine(rank).Poison(kCommunicator, 0, status, now_);
    AfterChange(rank);
  }
  void BeginAgreement(int rank) {
    machine(rank).BeginAgreement(kCommunicator, 0, now_);
    AfterChange(rank);
  }
  uint64_t Random(uint64_t bound) { return random_() % bound; }

  const std::string& trace() const { return trace_; }
  int64_t messages() const { return messages_; }
  int64_t bytes() const { return bytes_; }

 private:
  struct Connection {
    int ends[2];
    bool open[2] = {true, true};
    Time last_arrival[2] = {};  // at that end
  };
  struct Node : ControlMachine::Outputs {
    void Send(int peer, net::FrameKind kind, const std::string& payload) override {
      world->Send(rank, peer, kind, payload);
    }
    void Dial(int peer) override { world->Dial(rank, peer); }
    void CloseLink(int peer) override { world->CloseLink(rank, peer); }
    ControlWorld* world = nullptr;
    int rank = 0;
    bool alive = true;
    bool stopped = false;
    int sends_left = -1;
    bool flush_armed = false;
    std::vector<std::function<void()>> missed;  // while stopped
    std::map<int, std::vector<std::shared_ptr<Connection>>> links;
    Heard heard;
    std::unique_ptr<ControlMachine> machine;
  };
  struct Event {
    Time time;
    uint64_t order;
    std::function<void()> action;
    bool operator<(const Event& other) const {
      return std::tie(time, order) > std::tie(other.time, other.order);
    }
  };

  Node& node(int rank) { return *nodes_[static_cast<size_t>(rank)]; }
  bool Parted(int a, int b) const { return !group_.empty() && group_.count(a) != group_.count(b); }
  Time Delay() { return std::chrono::microseconds(50 + Random(longest_delay_us_)); }
  // At a rank, unless it is dead; later, if it is stopped.
  void At(int rank, Time time, std::function<void()> action);
  void Send(int from, int to, net::FrameKind kind, const std::string& payload);
  void Dial(int from, int to);
  void Connect(int from, int to);
  void LinkUp(int rank, const std::shared_ptr<Connection>& connection, int end);
  void CloseEnd(const std::shared_ptr<Connection>& connection, int end);
  void CloseAll(int rank);
  void CloseLink(int rank, int peer);
  void AfterChange(int rank);
  void Tick(int rank);
  void Note(const char* what, int a, int b, size_t bytes);

  const Options options_;
  const uint64_t longest_delay_us_;
  std::mt19937_64 random_;
  Time now_{std::chrono::seconds(100)};
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::set<int> group_;
  std::string trace_;
  int64_t messages_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace lockstep::comm
