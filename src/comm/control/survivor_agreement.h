#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/comm/control/facts.h"

namespace lockstep::comm {

// One rank's part in the agreement on who survives in a communicator: a machine over facts, without clock or
// links.
//
// A round is the set D of members known to be dead; it only grows. In the round of its D each member
// publishes propose(D, the value it committed last, if any), and with that never commits in a smaller round
// again. When all members outside D have proposed, the value v is that of the largest earlier round among the
// proposals, else the complement of D; each publishes commit(D, v). When all members outside D have committed
// (D, v), v is agreed. Facts travel by gossip and only grow, so a straggler sees a decision that others made.
//
// Why all decide the same: if v was agreed in round D, every member outside D has committed (D, v). A later
// round D' is a superset of D (dead ranks stay dead), so each member outside D' committed (D, v), and did so
// before it proposed in D', since it would not have committed afterwards. Its proposal in D' therefore
// carries v, or a value of a round between, which carries v by the same argument. The value may contain ranks
// that died meanwhile: the next attempt removes them.
class SurvivorAgreement {
 public:
  // `members` are job ranks, in the communicator's order.
  SurvivorAgreement(std::vector<int> members, int rank) : members_(std::move(members)), rank_(rank) {}

  // Takes the steps that can be taken now: adds this rank's facts to `steps`, and returns what it added.
  Facts::Steps Advance(const std::vector<int>& dead, const Facts::Steps& steps);
  // The agreed survivors, in the communicator's order.
  const std::optional<std::vector<int>>& decision() const { return decision_; }
  // The members outside `dead` that have taken no part yet.
  std::vector<int> Missing(const std::vector<int>& dead, const Facts::Steps& steps) const;

 private:
  bool AllOf(const RankSet& ranks, const std::vector<int>& dead) const;
  void LookForDecision(const Facts::Steps& steps);

  const std::vector<int> members_;
  const int rank_;
  std::optional<std::vector<int>> proposed_;  // the largest round that this rank proposed in
  std::vector<int> committed_value_;
  int committed_round_ = -1;
  std::optional<std::vector<int>> decision_;
};

// Whether the members that are not lost may go on: after a partition only one part may. Those that died or
// left do not count; of the others more than half must be here, or exactly half with the lowest one.
bool HaveQuorum(const std::vector<int>& members, const std::map<int, LostRank>& lost);

}  // namespace lockstep::comm
