#include "src/comm/control/survivor_agreement.h"

#include <algorithm>

namespace lockstep::comm {
namespace {

using Phase = AgreementStep::Phase;

bool Contains(const std::vector<int>& sorted, int rank) {
  return std::binary_search(sorted.begin(), sorted.end(), rank);
}

std::vector<int> Without(const std::vector<int>& members, const std::vector<int>& dead) {
  std::vector<int> rest;
  for (int member : members)
    if (!Contains(dead, member)) rest.push_back(member);
  std::sort(rest.begin(), rest.end());
  return rest;
}

}  // namespace

bool SurvivorAgreement::AllOf(const RankSet& ranks, const std::vector<int>& dead) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](int member) { return Contains(dead, member) || ranks.count(member) > 0; });
}

void SurvivorAgreement::LookForDecision(const Facts::Steps& steps) {
  for (const auto& [step, ranks] : steps) {
    if (step.phase != Phase::kCommit || !AllOf(ranks, step.dead)) continue;
    decision_.emplace();
    for (int member : members_)  // back into the communicator's order
      if (Contains(step.value, member)) decision_->push_back(member);
    return;
  }
}

Facts::Steps SurvivorAgreement::Advance(const std::vector<int>& dead, const Facts::Steps& steps) {
  Facts::Steps mine;
  LookForDecision(steps);
  if (decision_) return mine;
  if (!proposed_ || proposed_->size() < dead.size()) {
    proposed_ = dead;
    mine[{dead, Phase::kPropose, committed_value_, committed_round_}].insert(rank_);
  }
  // Everybody's proposals of this round, and the value that they lead to.
  RankSet proposers;
  int round = -1;
  std::vector<int> value = Without(members_, dead);
  for (const Facts::Steps* source : {&steps, const_cast<const Facts::Steps*>(&mine)})
    for (const auto& [step, ranks] : *source) {
      if (step.phase != Phase::kPropose || step.dead != dead) continue;
      proposers.insert(ranks.begin(), ranks.end());
      if (step.value_round <= round) continue;
      round = step.value_round;
      value = step.value;
    }
  const int this_round = static_cast<int>(dead.size());
  if (*proposed_ == dead && AllOf(proposers, dead) && committed_round_ < this_round) {
    committed_round_ = this_round;
    committed_value_ = value;
    mine[{dead, Phase::kCommit, value, -1}].insert(rank_);
  }
  if (!mine.empty()) {
    Facts::Steps all = steps;
    for (const auto& [step, ranks] : mine) all[step].insert(ranks.begin(), ranks.end());
    LookForDecision(all);
  }
  return mine;
}

std::vector<int> SurvivorAgreement::Missing(const std::vector<int>& dead, const Facts::Steps& steps) const {
  RankSet seen;
  for (const auto& [step, ranks] : steps) seen.insert(ranks.begin(), ranks.end());
  std::vector<int> missing;
  for (int member : members_)
    if (!Contains(dead, member) && seen.count(member) == 0) missing.push_back(member);
  return missing;
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
