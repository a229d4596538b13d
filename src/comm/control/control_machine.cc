#include "src/comm/control/control_machine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/lost_ranks.h"

namespace lockstep::comm {
namespace {

// Beside facts, which are longer: nothing is a heartbeat.
const char kOfferToClose[] = "close?";

bool IsMember(const std::vector<int>& members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

template <typename Map>
void ForgetBeyond(size_t most, std::deque<typename Map::key_type>* by_age, Map* map) {
  while (by_age->size() > most) {
    map->erase(by_age->front());
    by_age->pop_front();
  }
}

}  // namespace

ControlMachine::ControlMachine(Options options, Outputs* outputs)
    : options_(std::move(options)),
      outputs_(outputs),
      membership_({options_.rank, options_.world_size, options_.descriptions, options_.heartbeat_timeout},
                  this) {}

void ControlMachine::Start(Time now) { membership_.Start(now); }

void ControlMachine::OnLinkUp(int peer, Time now) {
  // Those that were given up together with this rank learn of it, too.
  if (membership_.exile()) outputs_->Send(peer, net::FrameKind::kControl, EncodeFacts(exile_));
  const bool welcome = !membership_.exile() && !membership_.IsLost(peer);
  membership_.OnLinkUp(peer, now);
  if (!welcome) return;
  if (const Facts all = All(); !all.empty()) outputs_->Send(peer, net::FrameKind::kControl, EncodeFacts(all));
}

void ControlMachine::OnLinkDown(int peer, Time now) { membership_.OnLinkClosed(peer, now); }

void ControlMachine::OnDialFailed(int peer, bool refused, Time now) {
  membership_.OnDialFailed(peer, refused, now);
  AdvanceAgreements();
}

absl::Status ControlMachine::OnFrame(int peer, net::FrameKind kind, const std::string& payload, Time now) {
  // A rank that was given up may have given up others, on the other side of a partition.
  if (membership_.exile() || membership_.IsLost(peer)) return absl::OkStatus();
  membership_.OnHeard(peer, now);
  if (kind == net::FrameKind::kGoodbye) {
    membership_.OnGoodbye(peer, now);
    AdvanceAgreements();
  } else if (payload == kOfferToClose) {
    membership_.OnOfferToClose(peer, now);
  } else if (!payload.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Facts facts, DecodeFacts(payload, options_.world_size));
    Absorb(facts, now);
  }
  return absl::OkStatus();
}

void ControlMachine::Tick(Time now) {
  membership_.Advance(now);
  if (membership_.exile()) return;
  CheckComparisons(now);
  AdvanceAgreements();
}

void ControlMachine::SendHeartbeat(int rank) { outputs_->Send(rank, net::FrameKind::kControl, ""); }

void ControlMachine::SendOfferToClose(int rank) {
  outputs_->Send(rank, net::FrameKind::kControl, kOfferToClose);
}

void ControlMachine::OnLost(const LostRank& lost) {
  dirty_.lost[lost.rank] = lost;
  // If it lives after all, this is how it learns.
  if (IsMember(membership_.links(), lost.rank)) OnReturned(lost);
  for (const auto& [communicator, group] : groups_)
    if (IsMember(group.members, lost.rank)) group.listener->OnLost(lost);
}

void ControlMachine::OnReturned(const LostRank& lost) {
  Facts news;
  news.lost = this->lost();
  outputs_->Send(lost.rank, net::FrameKind::kControl, EncodeFacts(news));
}

void ControlMachine::OnExiled(const LostRank&) {
  dirty_ = exile_;
  Flush();
  for (auto& [communicator, group] : groups_) TellExile(&group);
}

void ControlMachine::TellExile(Group* group) const {
  const auto self = std::find(group->members.begin(), group->members.end(), options_.rank);
  if (std::exchange(group->poisoned, true) || self == group->members.end()) return;
  group->listener->OnPoison(
      0,
      LostRanksError({static_cast<int>(self - group->members.begin())},
                     absl::StrCat("the other ranks gave this rank up (", membership_.exile()->detail,
                                  "); it was stopped, or cut off, for longer than the heartbeat time-out")));
}

Facts ControlMachine::All() const {
  Facts all = facts_;
  all.lost = membership_.lost();
  return all;
}

void ControlMachine::Absorb(const Facts& facts, Time now) {
  if (facts.lost.count(options_.rank) > 0) {
    exile_.lost = facts.lost;
    membership_.Learn(facts.lost.at(options_.rank), now);
  }
  if (membership_.exile()) return;
  for (const auto& [rank, lost] : facts.lost) membership_.Learn(lost, now);
  Facts others = facts;
  others.lost.clear();
  const Facts fresh = facts_.Merge(others);
  dirty_.Merge(fresh);
  for (const auto& [communicator, poison] : fresh.poison) {
    if (std::find(poison_by_age_.begin(), poison_by_age_.end(), communicator) == poison_by_age_.end())
      poison_by_age_.push_back(communicator);
    TellPoison(communicator);
  }
  for (const auto& [key, steps] : fresh.agreements)
    if (std::find(agreements_by_age_.begin(), agreements_by_age_.end(), key) == agreements_by_age_.end())
      agreements_by_age_.push_back(key);
  for (const auto& [key, calls] : fresh.calls) {
    if (comparisons_.try_emplace(key, Comparison{now, std::nullopt}).second) calls_by_age_.push_back(key);
    Contribute(key, now);
  }
  if (!fresh.agreements.empty() || !facts.lost.empty()) AdvanceAgreements();
  ForgetOldest();
}

void ControlMachine::ForgetOldest() {
  while (calls_by_age_.size() > kMostEntries) {
    comparisons_.erase(calls_by_age_.front());
    facts_.calls.erase(calls_by_age_.front());
    calls_by_age_.pop_front();
  }
  ForgetBeyond(kMostEntries, &poison_by_age_, &facts_.poison);
  ForgetBeyond(kMostEntries, &agreements_by_age_, &facts_.agreements);
}

void ControlMachine::TellPoison(uint64_t communicator) {
  const auto group = groups_.find(communicator);
  const auto poison = facts_.poison.find(communicator);
  if (group == groups_.end() || poison == facts_.poison.end()) return;
  if (std::exchange(group->second.poisoned, true)) return;
  const PoisonFact& fact = poison->second;
  absl::Status status(static_cast<absl::StatusCode>(fact.code), fact.message);
  if (!fact.lost.empty()) status = LostRanksError(fact.lost.ToVector(), fact.message);
  group->second.listener->OnPoison(fact.sequence, status);
}

void ControlMachine::Flush() {
  if (dirty_.empty()) return;
  const std::string payload = EncodeFacts(std::exchange(dirty_, {}));
  for (int peer : membership_.links()) outputs_->Send(peer, net::FrameKind::kControl, payload);
}

void ControlMachine::Register(uint64_t communicator, std::vector<int> members, ControlListener* listener,
                              Time) {
  Group& group = groups_[communicator];
  group = {std::move(members), listener, false};
  for (const auto& [rank, lost] : lost())
    if (IsMember(group.members, rank)) listener->OnLost(lost);
  if (membership_.exile()) TellExile(&group);
  TellPoison(communicator);
}

void ControlMachine::Unregister(uint64_t communicator) {
  groups_.erase(communicator);
  const auto first = agreements_.lower_bound({communicator, 0});
  auto last = first;
  while (last != agreements_.end() && last->first.first == communicator) ++last;
  agreements_.erase(first, last);
}

void ControlMachine::Poison(uint64_t communicator, uint64_t sequence, const absl::Status& status, Time now) {
  if (status.ok()) return;
  PoisonFact poison;
  poison.sequence = sequence;
  poison.origin = options_.rank;
  poison.code = static_cast<int>(status.code());
  poison.message = std::string(status.message()).substr(0, kLongestText);
  for (int rank : LostRanks(status))
    if (rank >= 0 && rank < options_.world_size) poison.lost.Add(rank);
  Facts news;
  news.poison[communicator] = std::move(poison);
  Absorb(news, now);
}

void ControlMachine::Suspect(int peer, Time now) { membership_.Suspect(peer, now); }

RankSet ControlMachine::DeadOf(const std::vector<int>& members) const {
  RankSet dead;
  for (int member : members)
    if (membership_.IsLost(member)) dead.Add(member);
  return dead;
}

void ControlMachine::BeginAgreement(uint64_t communicator, uint32_t attempt, Time) {
  const auto group = groups_.find(communicator);
  if (group == groups_.end() || membership_.exile()) return;
  const Facts::AgreementKey key{communicator, attempt};
  agreements_.try_emplace(key, group->second.members, options_.rank);
  if (facts_.agreements.try_emplace(key).second) agreements_by_age_.push_back(key);
  AdvanceAgreements();
}

void ControlMachine::AdvanceAgreements() {
  if (membership_.exile()) return;
  for (auto& [key, agreement] : agreements_) {
    const auto group = groups_.find(key.first);
    const auto steps = facts_.agreements.find(key);
    if (group == groups_.end() || steps == facts_.agreements.end() || agreement.decision()) continue;
    const std::vector<int>& members = group->second.members;
    Facts news;
    news.agreements[key] = agreement.Advance(DeadOf(members), HaveQuorum(members, lost()), &steps->second);
    if (!news.agreements[key].empty()) dirty_.Merge(news);
  }
}

absl::StatusOr<std::optional<std::vector<int>>> ControlMachine::Agreed(uint64_t communicator,
                                                                       uint32_t attempt) const {
  const auto group = groups_.find(communicator);
  const auto agreement = agreements_.find({communicator, attempt});
  if (membership_.exile())
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", options_.rank, " of the job is not among the survivors: the others gave it up (",
        membership_.exile()->detail, ")"));
  if (group == groups_.end() || agreement == agreements_.end())
    return absl::AbortedError("the communicator was destroyed while its survivors were being agreed on");
  const std::optional<std::vector<int>>& decision = agreement->second.decision();
  if (decision && !IsMember(*decision, options_.rank))
    return absl::FailedPreconditionError(absl::StrCat("the survivors agreed without rank ", options_.rank,
                                                      " of the job (they hold it for lost)"));
  if (!decision && !HaveQuorum(group->second.members, lost()))
    return absl::FailedPreconditionError(
        "too few ranks are left to go on (the silent ones may be alive beyond a broken network, and only the "
        "larger part of a divided job may continue)");
  return decision;
}

std::vector<int> ControlMachine::AgreementMissing(uint64_t communicator, uint32_t attempt) const {
  const auto group = groups_.find(communicator);
  const auto agreement = agreements_.find({communicator, attempt});
  const auto steps = facts_.agreements.find({communicator, attempt});
  if (group == groups_.end() || agreement == agreements_.end() || steps == facts_.agreements.end()) return {};
  return agreement->second.Missing(DeadOf(group->second.members), steps->second);
}

}  // namespace lockstep::comm
