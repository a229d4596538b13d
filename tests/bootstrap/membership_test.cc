#include "src/bootstrap/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lockstep::bootstrap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = LostRank::Kind;

// One rank's membership, and what it asked for, as "dial 3", "lost 2".
class Rank : MembershipLinks {
 public:
  Rank(int rank, int world_size) : membership(Options(rank, world_size), this) { membership.Start(now); }
  std::vector<std::string> Asked() { return std::exchange(asked_, {}); }
  void LinkUp(const std::vector<int>& ranks) {
    for (int rank : ranks) membership.OnLinkUp(rank, now);
    asked_.clear();
  }
  // In steps, as the world would.
  void Pass(Membership::Time time, const std::vector<int>& heard = {}) {
    for (const auto end = now + time; now < end;) {
      now += milliseconds(50);
      for (int rank : heard) membership.OnHeard(rank, now);
      membership.Advance(now);
    }
  }
  Kind LossOf(int rank) const { return membership.lost().at(rank).kind; }

  Membership::Time now{seconds(10)};
  Membership membership;
  int heartbeats = 0;

 private:
  static Membership::Options Options(int rank, int world_size) {
    Membership::Options options;
    options.rank = rank;
    options.world_size = world_size;
    options.heartbeat_timeout = seconds(10);
    for (int i = 0; i < world_size; ++i) options.descriptions.push_back(absl::StrCat("host n", i));
    return options;
  }
  void Dial(int rank) override { asked_.push_back(absl::StrCat("dial ", rank)); }
  void SendHeartbeat(int) override { ++heartbeats; }
  void SendOfferToClose(int rank) override { asked_.push_back(absl::StrCat("offer ", rank)); }
  void CloseLink(int rank) override { asked_.push_back(absl::StrCat("close ", rank)); }
  void OnLost(const LostRank& lost) override { asked_.push_back(absl::StrCat("lost ", lost.rank)); }
  void OnBetterReport(const LostRank& lost) override { asked_.push_back(absl::StrCat("better ", lost.rank)); }
  void OnReturned(const LostRank& lost) override { asked_.push_back(absl::StrCat("returned ", lost.rank)); }
  void OnExiled(const LostRank&) override { asked_.push_back("exiled"); }

  std::vector<std::string> asked_;
};

TEST(MembershipTest, LinksAtDistancesOfPowersOfTwoAndTheHigherDials) {
  Rank rank(5, 16);
  EXPECT_THAT(rank.Asked(), ElementsAre("dial 1", "dial 3", "dial 4"));
  EXPECT_THAT(rank.membership.missing(), ElementsAre(1, 3, 4, 6, 7, 9, 13));
  EXPECT_FALSE(rank.membership.linked());
  rank.LinkUp({1, 3, 4, 6, 7, 9, 13});
  EXPECT_TRUE(rank.membership.linked());
}

TEST(MembershipTest, TheLowerDialsWhenTheHigherDoesNot) {
  Rank rank(0, 2);
  EXPECT_THAT(rank.Asked(), IsEmpty());
  rank.Pass(milliseconds(400));
  EXPECT_THAT(rank.Asked(), ElementsAre("dial 1"));
}

TEST(MembershipTest, AWorldOfOneIsLinked) { EXPECT_TRUE(Rank(0, 1).membership.linked()); }

TEST(MembershipTest, ANeighbourThatRefusesAfterItsLinkBrokeHasDied) {
  Rank rank(0, 3);
  rank.LinkUp({1, 2});
  rank.membership.OnLinkClosed(1, rank.now);
  EXPECT_THAT(rank.Asked(), ElementsAre("dial 1"));
  rank.membership.OnDialFailed(1, /*refused=*/true, rank.now);
  EXPECT_THAT(rank.Asked(), ElementsAre("lost 1"));
  EXPECT_EQ(rank.LossOf(1), Kind::kDied);
  EXPECT_EQ(rank.membership.lost().at(1).detail, "host n1; noticed by rank 0");
}

TEST(MembershipTest, ALinkThatMerelyBrokeIsMadeAgain) {
  Rank rank(0, 3);
  rank.LinkUp({1, 2});
  rank.membership.OnLinkClosed(1, rank.now);
  rank.membership.OnDialFailed(1, /*refused=*/false, rank.now);
  rank.Pass(milliseconds(100), {2});
  EXPECT_THAT(rank.Asked(), ElementsAre("dial 1", "dial 1"));
  rank.LinkUp({1});
  rank.Pass(seconds(9), {1, 2});
  EXPECT_TRUE(rank.membership.lost().empty());
}

TEST(MembershipTest, AStrangerThatRefusesIsGivenTimeForItsGoodbye) {
  Rank rank(0, 16);
  rank.LinkUp({1, 2, 4, 8, 12, 14, 15});
  for (int suspect : {3, 5}) {
    rank.membership.Suspect(suspect, rank.now);
    rank.membership.OnDialFailed(suspect, /*refused=*/true, rank.now);
  }
  EXPECT_FALSE(rank.membership.IsLost(3));
  rank.membership.Learn({3, Kind::kLeft, "said goodbye"}, rank.now);
  rank.Pass(milliseconds(200));
  EXPECT_EQ(rank.LossOf(3), Kind::kLeft);
  EXPECT_EQ(rank.LossOf(5), Kind::kDied);
}

TEST(MembershipTest, SilenceIsALossAndHeartbeatsPreventIt) {
  Rank rank(0, 3);
  rank.LinkUp({1, 2});
  rank.Pass(seconds(11), {2});
  EXPECT_EQ(rank.LossOf(1), Kind::kSilent);
  EXPECT_THAT(rank.membership.lost().at(1).detail, HasSubstr("after 10 s of silence"));
  EXPECT_THAT(rank.Asked(), ElementsAre("lost 1", "close 1"));
  EXPECT_FALSE(rank.membership.IsLost(2));
  EXPECT_GE(rank.heartbeats, 20);
}

TEST(MembershipTest, ARankThatWasStoppedAccusesNobody) {
  Rank rank(0, 3);
  rank.LinkUp({1, 2});
  rank.now += seconds(3600);
  rank.membership.Advance(rank.now);
  rank.Pass(seconds(5), {1, 2});
  EXPECT_TRUE(rank.membership.lost().empty());
}

TEST(MembershipTest, BeforeAllAreLinkedSilenceIsForTheCreationToJudge) {
  Rank rank(0, 3);
  rank.LinkUp({1});
  rank.Pass(seconds(60));
  EXPECT_TRUE(rank.membership.lost().empty());
}

TEST(MembershipTest, TheSilenceOfANewNeighbourBeginsWhenItIsNeeded) {
  Rank rank(4, 6);
  rank.LinkUp({2, 3, 5, 0});
  rank.membership.Suspect(1, rank.now);
  rank.membership.OnGoodbye(3, rank.now);
  rank.Pass(seconds(9), {0, 2, 5});
  EXPECT_FALSE(rank.membership.IsLost(1));
  rank.Pass(seconds(2), {0, 2, 5});
  EXPECT_EQ(rank.LossOf(1), Kind::kSilent);
}

TEST(MembershipTest, TheRingClosesOverALoss) {
  Rank rank(4, 6);
  rank.LinkUp({2, 3, 5, 0});
  rank.membership.OnGoodbye(3, rank.now);
  EXPECT_EQ(rank.LossOf(3), Kind::kLeft);
  // The ring is 0 1 2 4 5 now: 1 is at distance 2.
  EXPECT_THAT(rank.Asked(), ElementsAre("lost 3", "close 3", "dial 1"));
}

TEST(MembershipTest, ALinkThatNobodyNeedsIsClosedByAgreement) {
  Rank rank(0, 16);
  rank.LinkUp({1, 2, 4, 8, 12, 14, 15, 5});
  rank.Pass(seconds(6), {1, 2, 4, 5, 8, 12, 14, 15});
  EXPECT_THAT(rank.Asked(), ElementsAre("offer 5"));
  rank.membership.OnLinkClosed(5, rank.now);
  EXPECT_THAT(rank.Asked(), IsEmpty()) << "a close that was offered is no reason to suspect";
  rank.LinkUp({6});
  rank.membership.OnOfferToClose(6, rank.now);
  rank.membership.OnOfferToClose(8, rank.now);
  EXPECT_THAT(rank.Asked(), ElementsAre("close 6")) << "8 is still needed";
}

TEST(MembershipTest, TheStrongerReportStaysWhateverComesFirst) {
  const LostRank silent{1, Kind::kSilent, "noticed by rank 2"}, died{1, Kind::kDied, "noticed by rank 3"};
  Rank one(0, 8), other(0, 8);
  one.membership.Learn(silent, one.now);
  one.membership.Learn(died, one.now);
  other.membership.Learn(died, other.now);
  other.membership.Learn(silent, other.now);
  EXPECT_EQ(one.membership.lost(), other.membership.lost());
  EXPECT_EQ(one.LossOf(1), Kind::kDied);
}

TEST(MembershipTest, ARankThatWasGivenUpIsToldAndTheExiledDoesNothingMore) {
  Rank rank(0, 3);
  rank.LinkUp({1, 2});
  rank.membership.Learn({1, Kind::kSilent, "noticed by rank 2"}, rank.now);
  rank.Asked();
  rank.membership.OnLinkUp(1, rank.now);
  EXPECT_THAT(rank.Asked(), ElementsAre("returned 1", "close 1"));
  rank.membership.Learn({0, Kind::kSilent, "noticed by rank 2"}, rank.now);
  EXPECT_THAT(rank.Asked(), ElementsAre("exiled", "close 2"));
  rank.membership.OnLinkClosed(2, rank.now);
  rank.membership.Suspect(2, rank.now);
  rank.Pass(seconds(20));
  EXPECT_THAT(rank.Asked(), IsEmpty());
  ASSERT_TRUE(rank.membership.exile());
}

}  // namespace
}  // namespace lockstep::bootstrap
