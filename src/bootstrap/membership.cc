#include "src/bootstrap/membership.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::bootstrap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The lower of two ranks dials when the higher one has not by then: it may not have heard of a loss, or the
// network may let through only one direction.
constexpr milliseconds kFollow{300};
// Between two attempts at one rank.
constexpr milliseconds kPause{50};
// A rank that refuses may have left in good order a moment ago: for its goodbye to come round.
constexpr milliseconds kGoodbyeGrace{150};
// Links that nobody needs any more are kept this long.
constexpr seconds kIdle{5};

}  // namespace

bool IsStronger(const LostRank& a, const LostRank& b) {
  return std::tie(b.kind, a.detail) < std::tie(a.kind, b.detail);
}

Membership::Membership(Options options, MembershipLinks* links)
    : options_(std::move(options)),
      interval_(std::min<Time>(seconds(1), options_.heartbeat_timeout / 10)),
      links_(links) {
  for (int rank = 0; rank < options_.world_size; ++rank) living_.push_back(rank);
}

void Membership::Start(Time now) {
  started_ = true;
  last_now_ = now;
  next_heartbeat_ = now + interval_;
  ChooseNeighbours(now);
}

void Membership::NoteTime(Time now) {
  // This rank did not run: what it did not hear meanwhile says nothing about the others.
  if (const Time gap = now - last_now_; started_ && gap > options_.heartbeat_timeout / 4)
    for (auto& [rank, peer] : peers_) peer.heard += gap;
  last_now_ = std::max(last_now_, now);
}

void Membership::ChooseNeighbours(Time now) {
  std::vector<int> wanted;
  const size_t count = living_.size();
  const size_t self =
      static_cast<size_t>(std::lower_bound(living_.begin(), living_.end(), options_.rank) - living_.begin());
  for (size_t distance = 1; distance < count; distance *= 2) {
    wanted.push_back(living_[(self + distance) % count]);
    wanted.push_back(living_[(self + count - distance) % count]);
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (auto& [rank, peer] : peers_)
    if (peer.wanted && !std::binary_search(wanted.begin(), wanted.end(), rank)) {
      peer.wanted = false;
      peer.unwanted_since = now;
    }
  for (int rank : wanted) {
    Peer& peer = peers_[rank];
    if (std::exchange(peer.wanted, true) || peer.linked) continue;
    peer.heard = now;  // its silence begins now
    if (peer.dialling) continue;
    if (options_.rank > rank)
      Dial(rank, peer, now);
    else
      peer.dial_at = std::min(peer.dial_at, now + kFollow);
  }
  if (!linked_) linked_ = missing().empty();
}

void Membership::Dial(int rank, Peer& peer, Time now) {
  if (peer.dialling) return;
  if (now < peer.may_dial) {
    peer.dial_at = std::min(peer.dial_at, peer.may_dial);
    return;
  }
  peer.dialling = true;
  peer.may_dial = now + kPause;
  peer.dial_at = kNever;
  links_->Dial(rank);
}

void Membership::OnLinkUp(int rank, Time now) {
  NoteTime(now);
  if (exile_) return links_->CloseLink(rank);
  if (const auto lost = lost_.find(rank); lost != lost_.end()) {
    links_->OnReturned(lost->second);
    return links_->CloseLink(rank);
  }
  Peer& peer = peers_[rank];
  if (!peer.linked && !peer.wanted) peer.unwanted_since = now;
  peer.linked = true;
  peer.dialling = peer.broken = peer.offered = false;
  peer.dial_at = peer.refused_until = kNever;
  peer.heard = now;
  if (!linked_ && started_) linked_ = missing().empty();
}

void Membership::OnLinkClosed(int rank, Time now) {
  NoteTime(now);
  auto it = peers_.find(rank);
  if (exile_ || IsLost(rank) || it == peers_.end()) return;
  Peer& peer = it->second;
  peer.linked = false;
  if (peer.offered && !peer.wanted) {
    peers_.erase(it);
    return;
  }
  peer.broken = true;
  Dial(rank, peer, now);
}

void Membership::OnGoodbye(int rank, Time now) {
  NoteTime(now);
  if (!exile_ && !IsLost(rank)) Lose(rank, LostRank::Kind::kLeft, now);
}

void Membership::OnDialFailed(int rank, bool refused, Time now) {
  NoteTime(now);
  auto it = peers_.find(rank);
  if (exile_ || IsLost(rank) || it == peers_.end()) return;
  Peer& peer = it->second;
  peer.dialling = false;
  if (peer.linked) return;
  if (refused) {
    // A neighbour's goodbye would have come on the link before it closed; that of others comes by a detour.
    if (peer.broken) return Lose(rank, LostRank::Kind::kDied, now);
    peer.refused_until = std::min(peer.refused_until, now + kGoodbyeGrace);
    return;
  }
  if (peer.wanted)
    peer.dial_at = now + kPause;
  else
    peers_.erase(it);  // perhaps silent: for its neighbours to say
}

void Membership::OnHeard(int rank, Time now) {
  NoteTime(now);
  if (auto it = peers_.find(rank); it != peers_.end()) it->second.heard = now;
}

void Membership::OnOfferToClose(int rank, Time now) {
  NoteTime(now);
  auto it = peers_.find(rank);
  if (it == peers_.end() || !it->second.linked || it->second.wanted) return;
  links_->CloseLink(rank);
  peers_.erase(it);
}

void Membership::Suspect(int rank, Time now) {
  NoteTime(now);
  if (exile_ || IsLost(rank) || rank == options_.rank || rank < 0 || rank >= options_.world_size) return;
  Peer& peer = peers_[rank];
  if (peer.refused_until == kNever && !peer.linked) Dial(rank, peer, now);
}

void Membership::Lose(int rank, LostRank::Kind kind, Time now) {
  LostRank lost;
  lost.rank = rank;
  lost.kind = kind;
  const size_t index = static_cast<size_t>(rank);
  if (index < options_.descriptions.size()) lost.detail = absl::StrCat(options_.descriptions[index], "; ");
  absl::StrAppend(&lost.detail, "noticed by rank ", options_.rank);
  if (kind == LostRank::Kind::kSilent)
    absl::StrAppend(&lost.detail, " after ",
                    std::chrono::duration<double>(options_.heartbeat_timeout).count(), " s of silence");
  Learn(lost, now);
}

void Membership::Learn(const LostRank& lost, Time now) {
  NoteTime(now);
  if (exile_) return;
  if (lost.rank == options_.rank) return GoIntoExile(lost);
  auto [it, added] = lost_.try_emplace(lost.rank, lost);
  if (!added) {
    if (!IsStronger(lost, it->second)) return;
    it->second = lost;
    return links_->OnBetterReport(lost);
  }
  living_.erase(std::lower_bound(living_.begin(), living_.end(), lost.rank));
  links_->OnLost(lost);
  if (auto peer = peers_.find(lost.rank); peer != peers_.end()) {
    if (peer->second.linked) links_->CloseLink(lost.rank);
    peers_.erase(peer);
  }
  if (started_) ChooseNeighbours(now);
}

void Membership::GoIntoExile(const LostRank& self) {
  exile_ = self;
  links_->OnExiled(self);
  for (int rank : links()) links_->CloseLink(rank);
  peers_.clear();
}

void Membership::CheckPeer(int rank, Peer& peer, Time now, std::vector<int>* silent, std::vector<int>* dead) {
  if (now >= peer.refused_until) return dead->push_back(rank);
  // Until all links stood once it is the time-out of the creation that counts.
  if ((peer.linked || peer.wanted) && linked_ && now - peer.heard >= options_.heartbeat_timeout)
    return silent->push_back(rank);
  if (now >= peer.dial_at) Dial(rank, peer, now);
  if (peer.linked && !peer.wanted && !peer.offered && now - kIdle >= peer.unwanted_since) {
    peer.offered = true;
    links_->SendOfferToClose(rank);
  }
}

void Membership::Advance(Time now) {
  if (!started_ || exile_) return;
  NoteTime(now);
  std::vector<int> silent, dead;
  for (auto& [rank, peer] : peers_) CheckPeer(rank, peer, now, &silent, &dead);
  for (int rank : dead) Lose(rank, LostRank::Kind::kDied, now);
  for (int rank : silent) Lose(rank, LostRank::Kind::kSilent, now);
  if (now < next_heartbeat_) return;
  next_heartbeat_ = now + interval_;
  for (const auto& [rank, peer] : peers_)
    if (peer.linked) links_->SendHeartbeat(rank);
}

std::vector<int> Membership::missing() const {
  std::vector<int> missing;
  for (const auto& [rank, peer] : peers_)
    if (peer.wanted && !peer.linked) missing.push_back(rank);
  return missing;
}

std::vector<int> Membership::links() const {
  std::vector<int> ranks;
  for (const auto& [rank, peer] : peers_)
    if (peer.linked) ranks.push_back(rank);
  return ranks;
}

}  // namespace lockstep::bootstrap
