#include "src/comm/control/control_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/lost_ranks.h"

namespace lockstep::comm {
namespace {

using Time = ControlMachine::Time;

// A link that cannot be made again is tried this often.
constexpr std::chrono::milliseconds kRedial{50};
// A suspect is asked only when those linked with it have had the time to tell how it ended.
constexpr std::chrono::milliseconds kSuspectDelay{100};
// A difference is judged when all living members have said what they called, or after this.
constexpr std::chrono::milliseconds kJudgeAfter{300};
// A comparison of calls stays open for ranks that come late; then it is forgotten.
constexpr std::chrono::seconds kComparisonLife{30};
constexpr size_t kMostComparisons = 64;

std::vector<int> SortedMembers(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

double Seconds(Time time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

ControlMachine::ControlMachine(Options options, Outputs* outputs)
    : options_(std::move(options)), outputs_(outputs) {}

std::vector<int> ControlMachine::Neighbours() const {
  std::vector<int> living;
  for (int rank = 0; rank < options_.world_size; ++rank)
    if (rank == options_.rank || !Lost(rank)) living.push_back(rank);
  const auto mine =
      static_cast<size_t>(std::find(living.begin(), living.end(), options_.rank) - living.begin());
  RankSet neighbours;
  for (size_t distance = 1; distance < living.size(); distance *= 2) {
    neighbours.insert(living[(mine + distance) % living.size()]);
    neighbours.insert(living[(mine + living.size() - distance) % living.size()]);
  }
  neighbours.erase(options_.rank);
  return {neighbours.begin(), neighbours.end()};
}

void ControlMachine::Start(Time now) {
  last_tick_ = last_beat_ = now;
  LinkWithNeighbours(now);
}

void ControlMachine::LinkWithNeighbours(Time now) {
  for (int peer : Neighbours()) {
    const auto [link, added] = links_.try_emplace(peer);
    if (!added) continue;
    link->second.heard = now;
    link->second.redial_at = now + options_.heartbeat_timeout;
    if (peer < options_.rank) DialPeer(peer, now);
  }
}

bool ControlMachine::LinkedWithAllNeighbours() const {
  const std::vector<int> neighbours = Neighbours();
  return std::all_of(neighbours.begin(), neighbours.end(), [&](int peer) {
    const auto link = links_.find(peer);
    return link != links_.end() && link->second.up;
  });
}

void ControlMachine::DialPeer(int peer, Time now) {
  Link& link = links_[peer];
  if (link.dialling) return;
  link.dialling = true;
  link.redial_at = now;
  outputs_->Dial(peer);
}

void ControlMachine::OnLinkUp(int peer, Time now) {
  Link& link = links_[peer];
  link.up = true;
  link.dialling = false;
  link.heard = now;
  suspects_.erase(peer);
  if (!facts_.empty()) outputs_->Send(peer, net::FrameKind::kControl, EncodeFacts(facts_));
}

void ControlMachine::OnLinkDown(int peer, Time now) {
  Link& link = links_[peer];
  if (!link.up) return;
  link.up = false;
  link.heard = now;
  if (!Lost(peer)) DialPeer(peer, now);
}

void ControlMachine::OnDialFailed(int peer, bool refused, Time now) {
  Link& link = links_[peer];
  link.dialling = false;
  if (Lost(peer) || link.up) return;
  if (refused) return DeclareLost(peer, LostRank::Kind::kDied, "", now);
  link.redial_at = now + kRedial;
}

absl::Status ControlMachine::OnFrame(int peer, net::FrameKind kind, const std::string& payload, Time now) {
  links_[peer].heard = now;
  if (kind == net::FrameKind::kGoodbye) {
    DeclareLost(peer, LostRank::Kind::kLeft, "", now);
    return absl::OkStatus();
  }
  if (payload.empty()) return absl::OkStatus();  // a heartbeat
  LOCKSTEP_ASSIGN_OR_RETURN(const Facts facts, DecodeFacts(payload, options_.world_size));
  Absorb(facts, now);
  return absl::OkStatus();
}

void ControlMachine::Tick(Time now) {
  // This rank itself was stopped: the silence was its own.
  if (now - last_tick_ > options_.heartbeat_timeout / 2)
    for (auto& [peer, link] : links_) link.heard = now;
  last_tick_ = now;
  CheckLinks(now);
  CheckComparisons(now);
}

void ControlMachine::CheckLinks(Time now) {
  const bool beat =
      now - last_beat_ >= std::min<Time>(std::chrono::seconds(1), options_.heartbeat_timeout / 10);
  if (beat) last_beat_ = now;
  std::vector<int> silent;
  for (auto& [peer, link] : links_) {
    if (Lost(peer)) continue;
    if (link.up && beat) outputs_->Send(peer, net::FrameKind::kControl, "");
    if (now - link.heard > options_.heartbeat_timeout) {
      silent.push_back(peer);
    } else if (!link.up && !link.dialling && now >= link.redial_at) {
      DialPeer(peer, now);
    }
  }
  for (int peer : silent)
    DeclareLost(peer, LostRank::Kind::kSilent,
                absl::StrCat(" for ", Seconds(options_.heartbeat_timeout), " s"), now);
  for (auto suspect = suspects_.begin(); suspect != suspects_.end();) {
    const auto [peer, since] = *suspect;
    if (!Lost(peer) && now - since < kSuspectDelay) {
      ++suspect;
      continue;
    }
    suspect = suspects_.erase(suspect);
    if (!Lost(peer) && !links_[peer].up) {
      links_[peer].heard = now;
      DialPeer(peer, now);
    }
  }
}

void ControlMachine::Suspect(int peer, Time now) {
  if (peer != options_.rank && !Lost(peer)) suspects_.emplace(peer, now);
}

void ControlMachine::DeclareLost(int peer, LostRank::Kind kind, const std::string& why, Time now) {
  if (Lost(peer)) return;
  LostRank lost;
  lost.rank = peer;
  lost.kind = kind;
  lost.detail = absl::StrCat(options_.descriptions[static_cast<size_t>(peer)], why, "; noticed by rank ",
                             options_.rank);
  Facts news;
  news.lost[peer] = lost;
  Absorb(news, now);
}

void ControlMachine::Absorb(const Facts& facts, Time now) {
  const Facts fresh = facts_.Merge(facts);
  if (fresh.empty()) return;
  dirty_.Merge(fresh);
  if (!fresh.lost.empty()) ReactToLost(fresh, now);
  for (const auto& [communicator, poison] : fresh.poison) ReactToPoison(poison, communicator);
  for (const auto& [key, calls] : fresh.calls) {
    if (groups_.count(key.first) == 0) continue;
    comparisons_.try_emplace(key, Comparison{now, std::nullopt, false});
    Contribute(key, now);
  }
  if (!fresh.agreements.empty() || !fresh.lost.empty()) AdvanceAgreements(now);
}

void ControlMachine::ReactToLost(const Facts& fresh, Time now) {
  for (const auto& [rank, lost] : fresh.lost) {
    for (const auto& [communicator, group] : groups_) {
      if (rank == options_.rank) {
        TellGivenUp(group);
      } else if (std::find(group.members.begin(), group.members.end(), rank) != group.members.end()) {
        group.listener->OnLost(lost);
      }
    }
  }
  LinkWithNeighbours(now);
}

void ControlMachine::TellGivenUp(const Group& group) const {
  group.listener->OnPoison(0, absl::UnavailableError(absl::StrCat(
                                  "the other ranks gave this rank up (", facts_.lost.at(options_.rank).detail,
                                  "); it was stopped, or cut off, for longer than the heartbeat time-out")));
}

void ControlMachine::ReactToPoison(const PoisonFact& poison, uint64_t communicator) {
  const auto group = groups_.find(communicator);
  if (group == groups_.end()) return;
  absl::Status status(static_cast<absl::StatusCode>(poison.code), poison.message);
  if (!poison.lost.empty()) status = LostRanksError(poison.lost, poison.message);
  group->second.listener->OnPoison(poison.sequence, status);
}

void ControlMachine::Flush() {
  if (dirty_.empty()) return;
  const std::string payload = EncodeFacts(std::exchange(dirty_, {}));
  for (const auto& [peer, link] : links_)
    if (link.up) outputs_->Send(peer, net::FrameKind::kControl, payload);
}

void ControlMachine::Register(uint64_t communicator, std::vector<int> members, ControlListener* listener,
                              Time) {
  Group& group = groups_[communicator];
  group = {std::move(members), listener};
  if (Lost(options_.rank)) TellGivenUp(group);
  for (const auto& [rank, lost] : facts_.lost)
    if (std::find(group.members.begin(), group.members.end(), rank) != group.members.end())
      listener->OnLost(lost);
  if (const auto poison = facts_.poison.find(communicator); poison != facts_.poison.end())
    ReactToPoison(poison->second, communicator);
}

void ControlMachine::Unregister(uint64_t communicator) { groups_.erase(communicator); }

void ControlMachine::Poison(uint64_t communicator, uint64_t sequence, const absl::Status& status, Time now) {
  PoisonFact poison;
  poison.sequence = sequence;
  poison.origin = options_.rank;
  poison.code = static_cast<int>(status.code());
  poison.message = std::string(status.message());
  poison.lost = SortedMembers(LostRanks(status));
  Facts news;
  news.poison[communicator] = std::move(poison);
  Absorb(news, now);
}

void ControlMachine::Compare(uint64_t communicator, uint64_t sequence, Time now) {
  if (groups_.count(communicator) == 0) return;
  const Facts::CallKey key{communicator, sequence};
  comparisons_.try_emplace(key, Comparison{now, std::nullopt, false});
  Contribute(key, now);
}

void ControlMachine::Contribute(const Facts::CallKey& key, Time now) {
  const std::optional<collectives::Descriptor> call =
      groups_.at(key.first).listener->DescriptorAt(key.second);
  if (!call) return;
  const Facts::Calls& known = facts_.calls[key];
  const auto same = known.find(*call);
  if (same != known.end() && same->second.count(options_.rank) > 0) return;
  Facts news;
  news.calls[key][*call].insert(options_.rank);
  Absorb(news, now);
}

void ControlMachine::CheckComparisons(Time now) {
  while (comparisons_.size() > kMostComparisons) {
    facts_.calls.erase(comparisons_.begin()->first);
    comparisons_.erase(comparisons_.begin());
  }
  for (auto entry = comparisons_.begin(); entry != comparisons_.end();) {
    auto& [key, comparison] = *entry;
    const auto group = groups_.find(key.first);
    if (group == groups_.end() || now - comparison.began > kComparisonLife) {
      facts_.calls.erase(key);
      entry = comparisons_.erase(entry);
      continue;
    }
    Contribute(key, now);  // this rank may have made the call since
    Judge(key, group->second, &comparison, now);
    ++entry;
  }
}

void ControlMachine::Judge(const Facts::CallKey& key, const Group& group, Comparison* comparison, Time now) {
  const Facts::Calls& calls = facts_.calls[key];
  if (comparison->judged || calls.size() < 2) return;
  if (!comparison->differs_since) comparison->differs_since = now;
  RankSet seen;
  for (const auto& [call, ranks] : calls) seen.insert(ranks.begin(), ranks.end());
  const bool complete = std::all_of(group.members.begin(), group.members.end(),
                                    [&](int member) { return Lost(member) || seen.count(member) > 0; });
  if (!complete && now - *comparison->differs_since < kJudgeAfter) return;
  comparison->judged = true;
  Poison(key.first, key.second, absl::FailedPreconditionError(Differences(group, key)), now);
}

std::string ControlMachine::Differences(const Group& group, const Facts::CallKey& key) const {
  // The largest party first, so that the odd one out stands at the end.
  std::vector<std::pair<std::vector<int>, std::string>> sides;
  for (const auto& [call, job_ranks] : facts_.calls.at(key)) {
    std::vector<int> ranks;
    for (size_t i = 0; i < group.members.size(); ++i)
      if (job_ranks.count(group.members[i]) > 0) ranks.push_back(static_cast<int>(i));
    sides.emplace_back(std::move(ranks), call.ToString());
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
  for (size_t i = 0; i < group->second.members.size(); ++i) {
    const int member = group->second.members[i];
    const bool seen = std::any_of(calls->second.begin(), calls->second.end(),
                                  [&](const auto& side) { return side.second.count(member) > 0; });
    if (!seen && member != options_.rank) absent.push_back(static_cast<int>(i));
  }
  return absent;
}

std::vector<int> ControlMachine::DeadOf(const std::vector<int>& members) const {
  std::vector<int> dead;
  for (int member : members)
    if (Lost(member)) dead.push_back(member);
  return SortedMembers(std::move(dead));
}

void ControlMachine::BeginAgreement(uint64_t communicator, uint32_t attempt, Time now) {
  const auto group = groups_.find(communicator);
  if (group == groups_.end()) return;
  agreements_.try_emplace({communicator, attempt}, group->second.members, options_.rank);
  AdvanceAgreements(now);
}

void ControlMachine::AdvanceAgreements(Time now) {
  for (auto& [key, agreement] : agreements_) {
    const auto group = groups_.find(key.first);
    if (group == groups_.end() || agreement.decision()) continue;
    Facts news;
    news.agreements[key] = agreement.Advance(DeadOf(group->second.members), facts_.agreements[key]);
    // Absorbing may advance this agreement further: then the loop's work on it is done.
    if (!news.agreements[key].empty()) Absorb(news, now);
  }
}

absl::StatusOr<std::optional<std::vector<int>>> ControlMachine::Agreed(uint64_t communicator,
                                                                       uint32_t attempt) const {
  const auto group = groups_.find(communicator);
  const auto agreement = agreements_.find({communicator, attempt});
  if (group == groups_.end() || agreement == agreements_.end())
    return absl::AbortedError("the communicator was destroyed while its survivors were being agreed on");
  if (Lost(options_.rank))
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", options_.rank, " of the job is not among the survivors: ", "the others gave it up (",
        lost().at(options_.rank).detail, ")"));
  if (!HaveQuorum(group->second.members, facts_.lost))
    return absl::FailedPreconditionError(
        "too few ranks are left to go on (the silent ones may be alive beyond a broken network, and only the "
        "larger "
        "part of a divided job may continue)");
  return agreement->second.decision();
}

std::vector<int> ControlMachine::AgreementMissing(uint64_t communicator, uint32_t attempt) const {
  const auto group = groups_.find(communicator);
  const auto agreement = agreements_.find({communicator, attempt});
  const auto steps = facts_.agreements.find({communicator, attempt});
  if (group == groups_.end() || agreement == agreements_.end() || steps == facts_.agreements.end()) return {};
  return agreement->second.Missing(DeadOf(group->second.members), steps->second);
}

}  // namespace lockstep::comm
