// What a ControlMachine does about ranks that may have called different things.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/comm/control/control_machine.h"

namespace lockstep::comm {
namespace {

// A difference is judged when all living members have said what they called, or after this...
constexpr std::chrono::milliseconds kJudgeAfter{300};
// ... by the first of them; by the others only when it has not, so that all hear the same verdict.
constexpr std::chrono::milliseconds kJudgeForTheFirst{150};
// A comparison stays open for ranks that come late; then it is forgotten.
constexpr std::chrono::seconds kComparisonLife{30};

}  // namespace

void ControlMachine::Compare(uint64_t communicator, uint64_t sequence, Time now) {
  if (groups_.count(communicator) == 0 || membership_.exile()) return;
  const Facts::CallKey key{communicator, sequence};
  if (comparisons_.try_emplace(key, Comparison{now, std::nullopt}).second) calls_by_age_.push_back(key);
  Contribute(key, now);
}

void ControlMachine::Contribute(const Facts::CallKey& key, Time now) {
  const auto group = groups_.find(key.first);
  if (group == groups_.end()) return;
  const std::optional<collectives::Descriptor> call = group->second.listener->DescriptorAt(key.second);
  if (!call) return;
  const Facts::Calls& known = facts_.calls[key];
  const auto same = known.find(*call);
  if (same != known.end() && same->second.Contains(options_.rank)) return;
  Facts news;
  news.calls[key][*call].Add(options_.rank);
  Absorb(news, now);
}

void ControlMachine::CheckComparisons(Time now) {
  while (!calls_by_age_.empty() && now - comparisons_[calls_by_age_.front()].began > kComparisonLife) {
    comparisons_.erase(calls_by_age_.front());
    facts_.calls.erase(calls_by_age_.front());
    calls_by_age_.pop_front();
  }
  for (auto& [key, comparison] : comparisons_) {
    const auto group = groups_.find(key.first);
    if (group == groups_.end()) continue;
    Contribute(key, now);  // this rank may have made the call since
    Judge(key, group->second, &comparison, now);
  }
}

void ControlMachine::Judge(const Facts::CallKey& key, const Group& group, Comparison* comparison, Time now) {
  const auto calls = facts_.calls.find(key);
  if (group.poisoned || calls == facts_.calls.end() || calls->second.size() < 2) return;
  if (!comparison->differs_since) comparison->differs_since = now;
  RankSet awaited(group.members);
  awaited.Remove(DeadOf(group.members));
  const bool first = awaited.ToVector().front() == options_.rank;
  for (const auto& [call, ranks] : calls->second) awaited.Remove(ranks);
  const Time patience = first ? Time(kJudgeAfter) : kJudgeAfter + kJudgeForTheFirst;
  if (!awaited.empty() && now - *comparison->differs_since < patience) return;
  Poison(key.first, key.second, absl::FailedPreconditionError(Differences(group, key)), now);
}

std::string ControlMachine::Differences(const Group& group, const Facts::CallKey& key) const {
  // The largest party first, so that the odd one out stands at the end.
  std::vector<std::pair<std::vector<int>, std::string>> sides;
  for (const auto& [call, job_ranks] : facts_.calls.at(key)) {
    std::vector<int> ranks;
    for (size_t i = 0; i < group.members.size(); ++i)
      if (job_ranks.Contains(group.members[i])) ranks.push_back(static_cast<int>(i));
    if (!ranks.empty()) sides.emplace_back(std::move(ranks), call.ToString());
  }
  std::stable_sort(sides.begin(), sides.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::string text = absl::StrCat("ranks disagree about collective #", key.second,
                                  " (they must make the same calls in the same order): ");
  for (size_t i = 0; i < sides.size(); ++i)
    absl::StrAppend(&text, i > 0 ? "; " : "", sides[i].first.size() == 1 ? "rank " : "ranks ",
                    absl::StrJoin(sides[i].first, ", "), " called ", sides[i].second);
  return text;
}

std::vector<int> ControlMachine::Absent(uint64_t communicator, uint64_t sequence) const {
  std::vector<int> absent;
  const auto group = groups_.find(communicator);
  const auto calls = facts_.calls.find({communicator, sequence});
  if (group == groups_.end() || calls == facts_.calls.end()) return absent;
  RankSet seen;
  for (const auto& [call, ranks] : calls->second) seen.Merge(ranks);
  for (size_t i = 0; i < group->second.members.size(); ++i) {
    const int member = group->second.members[i];
    if (!seen.Contains(member) && member != options_.rank) absent.push_back(static_cast<int>(i));
  }
  return absent;
}

}  // namespace lockstep::comm
