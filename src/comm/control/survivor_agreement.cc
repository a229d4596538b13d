#include "src/comm/control/survivor_agreement.h"

namespace lockstep::comm {

using Phase = AgreementStep::Phase;

void SurvivorAgreement::LookForDecision(const Facts::Steps& steps) {
  for (const auto& [step, ranks] : steps) {
    if (step.phase != Phase::kCommit || !ranks.ContainsAll(Outside(step.dead))) continue;
    decision_.emplace();
    for (int member : members_)  // back into the communicator's order
      if (step.value.Contains(member)) decision_->push_back(member);
    return;
  }
}

Facts::Steps SurvivorAgreement::Advance(const RankSet& dead, bool quorum, Facts::Steps* steps) {
  Facts::Steps mine;
  LookForDecision(*steps);
  if (decision_) return mine;
  if (!proposed_ || *proposed_ != dead) {
    proposed_ = dead;
    const AgreementStep proposal{dead, Phase::kPropose, committed_value_, committed_round_};
    mine[proposal].Add(rank_);
    (*steps)[proposal].Add(rank_);
  }
  // Everybody's proposals of this round, and the value that they lead to.
  RankSet proposers, value = Outside(dead);
  int round = -1;
  for (const auto& [step, ranks] : *steps) {
    if (step.phase != Phase::kPropose || step.dead != dead) continue;
    proposers.Merge(ranks);
    if (step.value_round <= round) continue;
    round = step.value_round;
    value = step.value;
  }
  if (!quorum || committed_round_ >= dead.size() || !proposers.ContainsAll(Outside(dead))) return mine;
  committed_round_ = dead.size();
  committed_value_ = value;
  const AgreementStep commit{dead, Phase::kCommit, value, -1};
  mine[commit].Add(rank_);
  (*steps)[commit].Add(rank_);
  LookForDecision(*steps);
  return mine;
}

std::vector<int> SurvivorAgreement::Missing(const RankSet& dead, const Facts::Steps& steps) const {
  RankSet missing = Outside(dead);
  for (const auto& [step, ranks] : steps)
    if (step.phase == Phase::kPropose && step.dead.ContainsAll(dead)) missing.Remove(ranks);
  std::vector<int> in_order;
  for (int member : members_)
    if (missing.Contains(member)) in_order.push_back(member);
  return in_order;
}

bool HaveQuorum(const std::vector<int>& members, const std::map<int, LostRank>& lost) {
  size_t counted = 0, here = 0;
  int lowest = -1;
  bool lowest_here = false;
  for (int member : members) {
    const auto fact = lost.find(member);
    const bool is_here = fact == lost.end();
    if (!is_here && fact->second.kind != LostRank::Kind::kSilent) continue;
    ++counted;
    here += is_here;
    if (lowest >= 0 && member > lowest) continue;
    lowest = member;
    lowest_here = is_here;
  }
  return 2 * here > counted || (2 * here == counted && lowest_here);
}

}  // namespace lockstep::comm
