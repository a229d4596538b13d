#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/bootstrap/membership.h"
#include "src/comm/control/facts.h"
#include "src/comm/control/survivor_agreement.h"
#include "src/comm/control_plane.h"
#include "src/net/frame.h"

namespace lockstep::comm {

// The control plane's logic on one rank, as a machine over injected links and clock: who is lost, what a
// stalled communicator's ranks called, what is poisoned, who survives. Never blocks, sleeps, reads a clock or
// owns a thread, so the simulator runs it, too. Not thread-safe.
//
// Ranks are linked as Membership says. What changes is marked, and sent to all neighbours at the next
// Flush(): it reaches everybody in O(log P) rounds. A new neighbour gets all there is.
//
// Memory is bounded: a comparison is forgotten after 30 s, and of comparisons, poison and agreements at most
// kMostEntries are kept, the newest.
class ControlMachine : bootstrap::MembershipLinks {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed moment

  // What the machine asks of its surroundings. Calls back into the machine only later.
  class Outputs {
   public:
    virtual ~Outputs() = default;
    virtual void Send(int peer, net::FrameKind kind, const std::string& payload) = 0;
    // Answered by OnLinkUp or OnDialFailed.
    virtual void Dial(int peer) = 0;
    // What was sent still goes out. OnLinkDown isn't called for it.
    virtual void CloseLink(int peer) = 0;
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
  static constexpr size_t kMostEntries = 1024;  // of a kind

  ControlMachine(Options options, Outputs* outputs);

  // Begins to link up.
  void Start(Time now);
  // All neighbours were linked, or lost, at some time since then.
  bool LinkedWithAllNeighbours() const { return membership_.linked(); }
  std::vector<int> MissingNeighbours() const { return membership_.missing(); }

  // May be called for a peer that is linked already: with another connection.
  void OnLinkUp(int peer, Time now);
  // The last connection to the peer broke, without a goodbye.
  void OnLinkDown(int peer, Time now);
  // `refused`: the peer's host answered that nobody listens there.
  void OnDialFailed(int peer, bool refused, Time now);
  // InvalidArgument when the peer sends what it should not: close its link.
  absl::Status OnFrame(int peer, net::FrameKind kind, const std::string& payload, Time now);
  void Tick(Time now);
  bool NeedsFlush() const { return !dirty_.empty(); }
  void Flush();

  void Register(uint64_t communicator, std::vector<int> members, ControlListener* listener, Time now);
  void Unregister(uint64_t communicator);
  void Compare(uint64_t communicator, uint64_t sequence, Time now);
  void Poison(uint64_t communicator, uint64_t sequence, const absl::Status& status, Time now);
  void Suspect(int peer, Time now);
  const std::map<int, LostRank>& lost() const { return membership_.lost(); }
  // The members that have not been seen in the compared call: ranks of the communicator.
  std::vector<int> Absent(uint64_t communicator, uint64_t sequence) const;

  void BeginAgreement(uint64_t communicator, uint32_t attempt, Time now);
  // Nothing yet, the survivors, or why this rank is not among them.
  absl::StatusOr<std::optional<std::vector<int>>> Agreed(uint64_t communicator, uint32_t attempt) const;
  // The members that an agreement waits for: job ranks.
  std::vector<int> AgreementMissing(uint64_t communicator, uint32_t attempt) const;

 private:
  struct Group {
    std::vector<int> members;
    ControlListener* listener = nullptr;
    bool poisoned = false;  // and has been told
  };
  struct Comparison {
    Time began{0};
    std::optional<Time> differs_since;
  };

  // bootstrap::MembershipLinks
  void Dial(int rank) override { outputs_->Dial(rank); }
  void SendHeartbeat(int rank) override;
  void SendOfferToClose(int rank) override;
  void CloseLink(int rank) override { outputs_->CloseLink(rank); }
  void OnLost(const LostRank& lost) override;
  void OnBetterReport(const LostRank& lost) override { dirty_.lost[lost.rank] = lost; }
  void OnReturned(const LostRank& lost) override;
  void OnExiled(const LostRank& self) override;

  void Absorb(const Facts& facts, Time now);
  void TellPoison(uint64_t communicator);
  void TellExile(Group* group) const;
  void ForgetOldest();
  Facts All() const;

  // call_comparison.cc
  void Contribute(const Facts::CallKey& key, Time now);
  void CheckComparisons(Time now);
  void Judge(const Facts::CallKey& key, const Group& group, Comparison* comparison, Time now);
  std::string Differences(const Group& group, const Facts::CallKey& key) const;

  void AdvanceAgreements();
  RankSet DeadOf(const std::vector<int>& members) const;

  const Options options_;
  Outputs* const outputs_;
  bootstrap::Membership membership_;
  Facts facts_;  // but for the lost, which membership_ has
  Facts dirty_;  // what the neighbours have not been told
  Facts exile_;  // how this rank learned that it was given up
  std::map<uint64_t, Group> groups_;
  std::map<Facts::CallKey, Comparison> comparisons_;  // one for each of facts_.calls
  std::deque<Facts::CallKey> calls_by_age_;
  std::deque<uint64_t> poison_by_age_;
  std::deque<Facts::AgreementKey> agreements_by_age_;
  std::map<Facts::AgreementKey, SurvivorAgreement> agreements_;  // that this rank takes part in
};

}  // namespace lockstep::comm
