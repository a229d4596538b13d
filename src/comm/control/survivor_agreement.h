#pragma once

#include <map>
#include <optional>
#include <vector>

#include "src/comm/control/facts.h"

namespace lockstep::comm {

// One rank's part in the agreement on who survives in a communicator: a machine over facts, without clock or
// links.
//
// A round is the set D of members known to be dead; a rank's D only grows. In the round of its D each member
// publishes propose(D, the value it committed last, if any), and with that never commits in a smaller round
// again. When all members outside D have proposed in D, the value v is that of the largest earlier round
// among the proposals, else the complement of D; each publishes commit(D, v). When all members outside D have
// committed (D, v), v is agreed. Facts travel by gossip and only grow, so a straggler sees a decision that
// others made.
//
// Why all decide the same. The ranks that round D waits for are its acceptors A(D), all members outside D.
// 1. Rounds that get anywhere form a chain. A rank's rounds grow, so a rank in A(D) and A(E) proposes in both
//    only if one of D, E contains the other; where both have all proposals and an acceptor in common they are
//    ordered. Without one, D and E cover all members: two parts of a divided job that hold each other for
//    silent, of which HaveQuorum lets one commit at most. A round's size numbers it, therefore.
// 2. In one round one value is committed: a rank proposes once a round, what it committed before cannot
//    change after it proposed, and v is a function of all proposals of the round.
// 3. If v was agreed in D, all of A(D) committed (D, v). Let E be a larger round that has all its proposals:
//    A(E) is a subset of A(D), each of its members had committed (D, v) before it proposed in E, since it
//    would not have afterwards, and so reports v, or a value of a round between D and E, which is v by
//    induction. The largest of them is v, so E commits v.
// A value contains every rank that is alive: it is the complement of some rank's dead. It may contain ranks
// that died meanwhile; the next attempt removes them. A rank that is dead by mistake (it was stopped for
// long) is told that it was given up, and does not decide.
//
// The quorum counts as gone only those whose death was seen by their port or their goodbye. It rests on that
// evidence: a part that sees processes of the other part die, but not those that live there, counts too few.
class SurvivorAgreement {
 public:
  // `members` are job ranks, in the communicator's order.
  SurvivorAgreement(std::vector<int> members, int rank)
      : members_(std::move(members)), all_(members_), rank_(rank) {}

  // Takes the steps that can be taken now: adds this rank's facts to `steps`, and returns what it added.
  // Commits nothing without a quorum.
  Facts::Steps Advance(const RankSet& dead, bool quorum, Facts::Steps* steps);
  // The agreed survivors, in the communicator's order.
  const std::optional<std::vector<int>>& decision() const { return decision_; }
  // The members outside `dead` that have not proposed in its round yet, nor in a larger one.
  std::vector<int> Missing(const RankSet& dead, const Facts::Steps& steps) const;

 private:
  RankSet Outside(const RankSet& dead) const {
    RankSet rest = all_;
    rest.Remove(dead);
    return rest;
  }
  void LookForDecision(const Facts::Steps& steps);

  const std::vector<int> members_;
  const RankSet all_;
  const int rank_;
  std::optional<RankSet> proposed_;  // the largest round that this rank proposed in
  RankSet committed_value_;
  int committed_round_ = -1;
  std::optional<std::vector<int>> decision_;
};

// Whether the members that are not lost may go on: after a partition only one part may. Those that died or
// left do not count; of the others more than half must be here, or exactly half with the lowest one.
bool HaveQuorum(const std::vector<int>& members, const std::map<int, LostRank>& lost);

}  // namespace lockstep::comm
