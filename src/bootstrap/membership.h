#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::bootstrap {

// A rank of the job that will not answer any more.
struct LostRank {
  // From the weakest evidence to the strongest.
  enum class Kind : uint8_t {
    kSilent,  // nothing heard within the heartbeat time-out: stopped, cut off, or its host is gone
    kDied,    // its process is gone: its connections closed without a goodbye and its port refuses
    kLeft,    // it said goodbye: finished in good order
  };
  int rank = 0;  // in the job
  Kind kind = Kind::kDied;
  std::string detail;  // "host n07, pid 4711; noticed by rank 2"
  friend bool operator==(const LostRank&, const LostRank&) = default;
};
// Of two reports about one rank this one stays, on every rank and in whatever order they come.
bool IsStronger(const LostRank& a, const LostRank& b);

// What a Membership asks of the world. None of these may call back before it has returned.
class MembershipLinks {
 public:
  virtual ~MembershipLinks() = default;
  // Connect; ends in OnLinkUp or OnDialFailed, even where a link stands.
  virtual void Dial(int rank) = 0;
  virtual void SendHeartbeat(int rank) = 0;
  // Tells the neighbour that this rank can do without the link: OnOfferToClose over there.
  virtual void SendOfferToClose(int rank) = 0;
  // Closes the link; what was sent still goes out. OnLinkClosed isn't called for it.
  virtual void CloseLink(int rank) = 0;
  // A rank was lost, as noticed here or as learned: once a rank, while its link, if any, still stands.
  virtual void OnLost(const LostRank& lost) = 0;
  // More is known about a rank that was lost before.
  virtual void OnBetterReport(const LostRank& lost) = 0;
  // A rank that was given up came back; a link to it stands until this returns.
  virtual void OnReturned(const LostRank& lost) = 0;
  // The others have given this rank up: it takes no part any more. Its links are closed after this.
  virtual void OnExiled(const LostRank& self) = 0;
};

// Who of a job's ranks is still there. A machine without threads, sockets or a clock: the world hands in what
// happens and what time it is (any monotonic origin), and is told what to do.
//
// Ranks hold links to the living ranks at distance 1, 2, 4 ... both ways around the ring of those that live:
// O(log P) each, and connected whoever is lost, for the ring closes over a gap. The higher of two ranks
// dials; the lower one follows when nothing has come. A link that nobody needs any more is closed when both
// sides agree to it.
//
// A rank is lost
// - at once when it says goodbye (kLeft),
// - when its link closes without one and its port then refuses (kDied): a link that merely broke is made
//   again, and nothing is said; with a rank that refuses without having been linked, its goodbye is waited
//   for,
// - when nothing is heard of it for the heartbeat time-out (kSilent).
// A rank that was itself stopped accuses nobody of the silence of that time. A rank that was given up is not
// listened to; it is told so, and then takes no part any more.
//
// Not thread-safe.
class Membership {
 public:
  using Time = std::chrono::nanoseconds;
  struct Options {
    int rank = 0;
    int world_size = 1;
    std::vector<std::string> descriptions;  // of every rank, for LostRank::detail
    Time heartbeat_timeout = std::chrono::seconds(30);
  };
  // `links` outlives this.
  Membership(Options options, MembershipLinks* links);

  // Begins to link up.
  void Start(Time now);
  void OnLinkUp(int rank, Time now);
  // Without a goodbye.
  void OnLinkClosed(int rank, Time now);
  void OnGoodbye(int rank, Time now);
  // `refused`: nobody listens at the rank's addresses any more, or somebody else does.
  void OnDialFailed(int rank, bool refused, Time now);
  void OnHeard(int rank, Time now);
  void OnOfferToClose(int rank, Time now);
  // Somebody has reason to think that `rank` is gone: probes it, neighbour or not.
  void Suspect(int rank, Time now);
  // Merges what another rank noticed.
  void Learn(const LostRank& lost, Time now);
  // Does what is due; to be called every 50 ms or so.
  void Advance(Time now);

  // All neighbours were linked, or lost, at some time since Start().
  bool linked() const { return linked_; }
  std::vector<int> missing() const;  // neighbours without a link
  std::vector<int> links() const;    // ranks with a link, ascending
  bool IsLost(int rank) const { return lost_.count(rank) > 0; }
  const std::map<int, LostRank>& lost() const { return lost_; }
  // Set when the others gave this rank up.
  const std::optional<LostRank>& exile() const { return exile_; }

 private:
  static constexpr Time kNever = Time::max();
  struct Peer {
    bool linked = false;
    bool wanted = false;
    bool dialling = false;
    bool broken = false;   // its link closed without a goodbye, and no other stands yet
    bool offered = false;  // told that this rank can do without the link
    Time heard{0};
    Time may_dial{0};
    Time dial_at = kNever;
    Time refused_until = kNever;  // it refuses: dead from then on, unless its goodbye comes
    Time unwanted_since = kNever;
  };

  void NoteTime(Time now);
  void ChooseNeighbours(Time now);
  void Dial(int rank, Peer& peer, Time now);
  void Lose(int rank, LostRank::Kind kind, Time now);
  void CheckPeer(int rank, Peer& peer, Time now, std::vector<int>* silent, std::vector<int>* dead);
  void GoIntoExile(const LostRank& self);

  const Options options_;
  const Time interval_;  // between heartbeats
  MembershipLinks* const links_;
  std::map<int, Peer> peers_;  // neighbours, links and suspects
  std::vector<int> living_;    // ascending, this rank included
  std::map<int, LostRank> lost_;
  std::optional<LostRank> exile_;
  bool started_ = false;
  bool linked_ = false;
  Time last_now_{0};
  Time next_heartbeat_{0};
};

}  // namespace lockstep::bootstrap
