#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/control/facts.h"
#include "src/comm/control/survivor_agreement.h"
#include "src/comm/control_plane.h"
#include "src/net/frame.h"

namespace lockstep::comm {

// The control plane's logic on one rank, as a machine over injected links and clock: who is lost, what a
// stalled communicator's ranks called, what is poisoned, who survives. Never blocks, sleeps, reads a clock or
// owns a thread, so the simulator runs it, too. Not thread-safe.
//
// Ranks are linked with those at distance 2^i both ways in the circle of the living: O(log P) links, and
// whoever is lost is replaced by the next. What changes is marked and sent to all neighbours at the next
// Flush(): it reaches everybody in O(log P) rounds.
class ControlMachine {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed moment

  // What the machine asks of its surroundings. Calls back into the machine only later.
  class Outputs {
   public:
    virtual ~Outputs() = default;
    virtual void Send(int peer, net::FrameKind kind, const std::string& payload) = 0;
    // Answered by OnLinkUp or OnDialFailed.
    virtual void Dial(int peer) = 0;
  };
  struct Options {
    int rank = 0;
    int world_size = 1;
    Time heartbeat_timeout{std::chrono::seconds(30)};
    std::vector<std::string> descriptions;  // of every rank
  };
  // How often Tick() should be called, and how soon Flush() after NeedsFlush().
  static constexpr std::chrono::milliseconds kTick{50};
  static constexpr std::chrono::milliseconds kFlushDelay{1};

  ControlMachine(Options options, Outputs* outputs);

  // The ranks that this one is linked with: sorted, without this one and the lost.
  std::vector<int> Neighbours() const;
  // Dials the neighbours that are below this rank; the others dial it.
  void Start(Time now);
  bool LinkedWithAllNeighbours() const;

  void OnLinkUp(int peer, Time now);
  // Without a goodbye before it: the peer is dialled once more to tell a broken link from a dead process.
  void OnLinkDown(int peer, Time now);
  // `refused`: the peer's host answered that nobody listens there.
  void OnDialFailed(int peer, bool refused, Time now);
  // DataLoss or InvalidArgument when the peer sends what it should not: close its link.
  absl::Status OnFrame(int peer, net::FrameKind kind, const std::string& payload, Time now);
  void Tick(Time now);
  bool NeedsFlush() const { return !dirty_.empty(); }
  void Flush();

  void Register(uint64_t communicator, std::vector<int> members, ControlListener* listener, Time now);
  void Unregister(uint64_t communicator);
  void Compare(uint64_t communicator, uint64_t sequence, Time now);
  void Poison(uint64_t communicator, uint64_t sequence, const absl::Status& status, Time now);
  void Suspect(int peer, Time now);
  const std::map<int, LostRank>& lost() const { return facts_.lost; }
  // The members that have not been seen in the compared call: ranks of the communicator.
  std::vector<int> Absent(uint64_t communicator, uint64_t sequence) const;

  void BeginAgreement(uint64_t communicator, uint32_t attempt, Time now);
  // Nothing yet, the survivors, or why this rank is not among them.
  absl::StatusOr<std::optional<std::vector<int>>> Agreed(uint64_t communicator, uint32_t attempt) const;
  // The members that an agreement waits for.
  std::vector<int> AgreementMissing(uint64_t communicator, uint32_t attempt) const;

 private:
  struct Link {
    bool up = false;
    bool dialling = false;
    Time heard{0};      // up: when something came last; down: since when
    Time redial_at{0};  // down and not dialling
  };
  struct Group {
    std::vector<int> members;
    ControlListener* listener = nullptr;
  };
  struct Comparison {
    Time began{0};
    std::optional<Time> differs_since;
    bool judged = false;
  };

  void Absorb(const Facts& facts, Time now);
  void ReactToLost(const Facts& fresh, Time now);
  void ReactToPoison(const PoisonFact& poison, uint64_t communicator);
  void DeclareLost(int peer, LostRank::Kind kind, const std::string& why, Time now);
  void TellGivenUp(const Group& group) const;
  void LinkWithNeighbours(Time now);
  void DialPeer(int peer, Time now);
  void CheckLinks(Time now);
  void CheckComparisons(Time now);
  void Contribute(const Facts::CallKey& key, Time now);
  void Judge(const Facts::CallKey& key, const Group& group, Comparison* comparison, Time now);
  std::string Differences(const Group& group, const Facts::CallKey& key) const;
  void AdvanceAgreements(Time now);
  std::vector<int> DeadOf(const std::vector<int>& members) const;
  bool Lost(int rank) const { return facts_.lost.count(rank) > 0; }

  const Options options_;
  Outputs* const outputs_;
  Facts facts_;
  Facts dirty_;  // what the neighbours have not been told
  std::map<int, Link> links_;
  std::map<int, Time> suspects_;
  std::map<uint64_t, Group> groups_;
  std::map<Facts::CallKey, Comparison> comparisons_;
  std::map<Facts::AgreementKey, SurvivorAgreement> agreements_;
  Time last_tick_{0};
  Time last_beat_{0};
};

}  // namespace lockstep::comm
