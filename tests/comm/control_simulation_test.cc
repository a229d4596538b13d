// The control plane's machines in a simulated world: what must hold whatever the network and the ranks do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/comm/control_world.h"

namespace lockstep::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using Time = ControlWorld::Time;

constexpr int kSmallWorlds[] = {2, 3, 4, 5, 6, 7, 8, 9};
constexpr int kSeeds = 400;  // of each small world

ControlWorld::Options World(int world_size, uint64_t seed) {
  ControlWorld::Options options;
  options.world_size = world_size;
  options.seed = seed * 1000 + static_cast<uint64_t>(world_size);
  return options;
}

std::set<int> Distinct(ControlWorld& world, int world_size, size_t count) {
  std::set<int> ranks;
  while (ranks.size() < count)
    ranks.insert(static_cast<int>(world.Random(static_cast<uint64_t>(world_size))));
  return ranks;
}

collectives::Descriptor Call(int64_t count) {
  collectives::Descriptor call;
  call.op = collectives::OpKind::kAllReduce;
  call.count = count;
  return call;
}

// Every living rank has heard of every rank of `lost`, each once and of its kind, and of nobody else.
void ExpectLost(ControlWorld& world, std::map<int, LostRank::Kind> lost) {
  for (int rank : world.Living()) {
    std::map<int, LostRank::Kind> heard;
    for (const LostRank& one : world.heard(rank).lost) {
      EXPECT_TRUE(heard.emplace(one.rank, one.kind).second) << "rank " << rank << " heard twice";
      EXPECT_THAT(one.detail, HasSubstr(absl::StrCat("host n", one.rank)));
      // Those that were told goodbye may have died before they could pass it on.
      if (lost.size() > 1 && lost[one.rank] == LostRank::Kind::kLeft && one.kind == LostRank::Kind::kDied)
        lost[one.rank] = LostRank::Kind::kDied;
    }
    EXPECT_EQ(heard, lost) << "rank " << rank;
    EXPECT_EQ(world.machine(rank).lost(), world.machine(world.Living().front()).lost());
    EXPECT_TRUE(world.heard(rank).poison.empty()) << "rank " << rank;
  }
}

bool AllKnow(ControlWorld& world, size_t lost) {
  for (int rank : world.Living())
    if (world.heard(rank).lost.size() < lost) return false;
  return true;
}

TEST(ControlSimulationTest, EverySurvivorLearnsWhoDiedAndWhoLeft) {
  for (int size : kSmallWorlds)
    for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld world(World(size, seed));
      ASSERT_TRUE(world.Run(seconds(1), [&] { return world.AllLinked(); }));
      std::map<int, LostRank::Kind> lost;
      for (int rank : Distinct(world, size, 1 + world.Random(static_cast<uint64_t>(size) - 1))) {
        const bool leaves = world.Random(3) == 0;
        lost[rank] = leaves ? LostRank::Kind::kLeft : LostRank::Kind::kDied;
        const Time when = milliseconds(world.Random(2) * world.Random(300));
        world.After(when, [&world, rank, leaves] { leaves ? world.Leave(rank) : world.Kill(rank); });
      }
      world.Run(milliseconds(300));
      EXPECT_TRUE(world.Run(milliseconds(500), [&] { return AllKnow(world, lost.size()); }));
      world.Run(seconds(3));
      ExpectLost(world, lost);
    }
}

TEST(ControlSimulationTest, SilentRanksAreLostWithinTheHeartbeatTimeout) {
  for (int size : kSmallWorlds)
    for (uint64_t seed = 0; seed < kSeeds / 4 && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld world(World(size, seed));
      ASSERT_TRUE(world.Run(seconds(1), [&] { return world.AllLinked(); }));
      world.Run(milliseconds(world.Random(1000)));
      std::map<int, LostRank::Kind> lost;
      const std::set<int> stopped = Distinct(world, size, 1 + world.Random(static_cast<uint64_t>(size) - 1));
      for (int rank : stopped) {
        lost[rank] = LostRank::Kind::kSilent;
        world.Stop(rank);
      }
      auto running = [&] {
        std::vector<int> ranks;
        for (int rank : world.Living())
          if (stopped.count(rank) == 0) ranks.push_back(rank);
        return ranks;
      };
      // One neighbour after the other may have to be found silent.
      const Time bound = milliseconds(1500) * static_cast<int>(stopped.size());
      EXPECT_TRUE(world.Run(bound, [&] {
        for (int rank : running())
          if (world.heard(rank).lost.size() < stopped.size()) return false;
        return true;
      }));
      for (int rank : running()) {
        std::map<int, LostRank::Kind> heard;
        for (const LostRank& one : world.heard(rank).lost) heard[one.rank] = one.kind;
        EXPECT_EQ(heard, lost);
      }
      // Those that go on learn that they were given up, and accuse nobody.
      for (int rank : stopped) world.Continue(rank);
      world.Run(seconds(4));
      for (int rank : stopped) {
        ASSERT_FALSE(world.heard(rank).poison.empty()) << "rank " << rank;
        EXPECT_THAT(std::string(world.heard(rank).poison[0].second.message()),
                    HasSubstr("gave this rank up"));
      }
      for (int rank : running()) {
        EXPECT_EQ(world.heard(rank).lost.size(), stopped.size()) << "rank " << rank;
        EXPECT_TRUE(world.heard(rank).poison.empty()) << "rank " << rank;
      }
    }
}

TEST(ControlSimulationTest, BrokenLinksAndShortStopsHarmNobody) {
  for (int size : kSmallWorlds)
    for (uint64_t seed = 0; seed < kSeeds / 8 && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld world(World(size, seed));
      for (int i = 0; i < 20; ++i) {
        const std::set<int> pair = Distinct(world, size, 2);
        const int a = *pair.begin(), b = *pair.rbegin();
        world.After(milliseconds(world.Random(3000)), [&world, a, b] { world.BreakLink(a, b); });
      }
      const int stopped = static_cast<int>(world.Random(static_cast<uint64_t>(size)));
      world.After(milliseconds(500), [&] { world.Stop(stopped); });
      world.After(milliseconds(1200), [&] { world.Continue(stopped); });
      world.Run(seconds(6));
      ExpectLost(world, {});
      EXPECT_TRUE(world.AllLinked());
    }
}

// All survivors have decided, or this is how many have not.
size_t Undecided(ControlWorld& world) {
  size_t undecided = 0;
  for (int rank : world.Living()) {
    const auto agreed = world.machine(rank).Agreed(ControlWorld::kCommunicator, 0);
    if (!agreed.ok() || !*agreed) ++undecided;
  }
  return undecided;
}

TEST(ControlSimulationTest, SurvivorsAgreeWhoeverDiesAndWhenever) {
  int decided_with_dead = 0;
  for (int size : kSmallWorlds)
    for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld world(World(size, seed));
      ASSERT_TRUE(world.Run(seconds(1), [&] { return world.AllLinked(); }));
      // Decisions are taken down as they fall, also those of ranks that die later.
      std::map<int, std::vector<int>> decisions;
      for (int rank = 0; rank < size; ++rank)
        world.After(milliseconds(world.Random(30)), [&world, rank] {
          if (world.alive(rank)) world.BeginAgreement(rank);
        });
      for (int rank : Distinct(world, size, world.Random(static_cast<uint64_t>(size)))) {
        if (world.Random(2) == 0) {
          world.After(std::chrono::microseconds(world.Random(60000)), [&world, rank] { world.Kill(rank); });
        } else {
          world.KillAfterSends(rank, static_cast<int>(world.Random(60)));
        }
      }
      world.Run(seconds(2), [&] {
        for (int rank : world.Living()) {
          if (decisions.count(rank) > 0) continue;
          const auto agreed = world.machine(rank).Agreed(ControlWorld::kCommunicator, 0);
          if (agreed.ok() && *agreed) decisions[rank] = **agreed;
        }
        return false;
      });
      EXPECT_EQ(Undecided(world), 0u);
      const std::vector<int> living = world.Living();
      for (const auto& [rank, decision] : decisions) {
        EXPECT_EQ(decision, decisions.begin()->second) << "rank " << rank;
        EXPECT_TRUE(std::includes(decision.begin(), decision.end(), living.begin(), living.end()));
      }
      if (!decisions.empty() && decisions.begin()->second.size() > living.size()) ++decided_with_dead;
    }
  EXPECT_GT(decided_with_dead, 0) << "the deaths came too early or too late to matter";
}

TEST(ControlSimulationTest, OnlyTheLargerPartOfADividedJobGoesOn) {
  for (int size : kSmallWorlds)
    for (uint64_t seed = 0; seed < kSeeds / 8 && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld world(World(size, seed));
      ASSERT_TRUE(world.Run(seconds(1), [&] { return world.AllLinked(); }));
      const std::set<int> part = Distinct(world, size, 1 + world.Random(static_cast<uint64_t>(size) - 1));
      world.Partition(part);
      for (int rank = 0; rank < size; ++rank)
        world.After(milliseconds(world.Random(2000)), [&world, rank] { world.BeginAgreement(rank); });
      world.Run(milliseconds(1500) * size + seconds(2));
      const size_t twice = 2 * part.size(), all = static_cast<size_t>(size);
      const bool part_goes_on = twice > all || (twice == all && part.count(0) > 0);
      for (int rank = 0; rank < size; ++rank) {
        const bool goes_on = (part.count(rank) > 0) == part_goes_on;
        const auto agreed = world.machine(rank).Agreed(ControlWorld::kCommunicator, 0);
        if (goes_on) {
          ASSERT_TRUE(agreed.ok() && *agreed) << "rank " << rank << " " << agreed.status();
          for (int survivor : **agreed) EXPECT_EQ(part.count(survivor) > 0, part_goes_on);
          EXPECT_EQ((*agreed)->size(), part_goes_on ? part.size() : all - part.size());
        } else {
          EXPECT_EQ(agreed.status().code(), absl::StatusCode::kFailedPrecondition) << "rank " << rank;
        }
      }
      // The smaller part does not bring the larger one down when the network is whole again.
      world.Heal();
      world.Run(seconds(3));
      for (int rank = 0; rank < size; ++rank)
        EXPECT_TRUE((part.count(rank) > 0) != part_goes_on || world.heard(rank).poison.empty())
            << "rank " << rank;
    }
}

TEST(ControlSimulationTest, RanksThatDisagreeHearTheSameVerdictAndOthersNone) {
  for (int size : kSmallWorlds)
    for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld world(World(size, seed));
      ASSERT_TRUE(world.Run(seconds(1), [&] { return world.AllLinked(); }));
      const bool differ = world.Random(2) == 0;
      std::set<int64_t> counts;
      for (int rank = 0; rank < size; ++rank) {
        const int64_t count = differ ? static_cast<int64_t>(world.Random(3)) : 5;
        counts.insert(count);
        // Each enters at its own time, and asks after a stall.
        const Time enters = milliseconds(world.Random(200));
        world.After(enters, [&world, rank, count] { world.heard(rank).calls[12] = Call(count); });
        if (world.Random(2) == 0 || rank == 0)
          world.After(enters + milliseconds(200), [&world, rank] { world.Compare(rank, 12); });
      }
      world.Run(seconds(2));
      const auto& first = world.heard(0).poison;
      ASSERT_EQ(first.size(), counts.size() > 1 ? 1u : 0u);
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(world.heard(rank).poison, first) << "rank " << rank;
        EXPECT_TRUE(world.heard(rank).lost.empty());
      }
      if (first.empty()) continue;
      EXPECT_EQ(first[0].first, 12u);
      EXPECT_EQ(first[0].second.code(), absl::StatusCode::kFailedPrecondition);
      for (int64_t count : counts)
        EXPECT_THAT(std::string(first[0].second.message()), HasSubstr(Call(count).ToString()));
    }
}

TEST(ControlSimulationTest, AVerdictDoesNotWaitForARankThatNeverCalls) {
  for (int size : {3, 4, 7, 9})
    for (uint64_t seed = 0; seed < kSeeds / 4 && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld world(World(size, seed));
      ASSERT_TRUE(world.Run(seconds(1), [&] { return world.AllLinked(); }));
      const int absent = static_cast<int>(world.Random(static_cast<uint64_t>(size)));
      const int odd = (absent + 1) % size, asks = (absent + 2) % size;
      for (int rank = 0; rank < size; ++rank)
        if (rank != absent) world.heard(rank).calls[3] = Call(rank == odd ? 9 : 10);
      world.Compare(asks, 3);
      EXPECT_THAT(world.machine(asks).Absent(ControlWorld::kCommunicator, 3), Contains(absent));
      world.Run(seconds(1));
      for (int rank = 0; rank < size; ++rank) {
        ASSERT_EQ(world.heard(rank).poison.size(), 1u) << "rank " << rank;
        const std::string verdict(world.heard(rank).poison[0].second.message());
        EXPECT_EQ(verdict, world.heard(0).poison[0].second.message());
        EXPECT_THAT(verdict, HasSubstr(absl::StrCat("rank ", odd, " called ", Call(9).ToString())));
      }
    }
}

TEST(ControlSimulationTest, LinksBreakRanksDieAndAStormOfMessagesIsSlow) {
  for (int size : {3, 5, 8, 9})
    for (uint64_t seed = 0; seed < kSeeds / 4 && !HasFailure(); ++seed) {
      SCOPED_TRACE(absl::StrCat("world ", size, " seed ", seed));
      ControlWorld::Options options = World(size, seed);
      options.longest_delay = milliseconds(20);
      ControlWorld world(options);
      ASSERT_TRUE(world.Run(seconds(2), [&] { return world.AllLinked(); }));
      for (int i = 0; i < 10; ++i) {
        const std::set<int> pair = Distinct(world, size, 2);
        world.After(milliseconds(world.Random(300)),
                    [&world, pair] { world.BreakLink(*pair.begin(), *pair.rbegin()); });
      }
      const std::set<int> dying = Distinct(world, size, world.Random(static_cast<uint64_t>(size) - 1));
      for (int rank : dying)
        world.After(milliseconds(world.Random(400)), [&world, rank] { world.Kill(rank); });
      for (int rank = 0; rank < size; ++rank) {
        const int suspect = static_cast<int>(world.Random(static_cast<uint64_t>(size)));
        world.After(milliseconds(world.Random(400)), [&world, rank, suspect] {
          if (!world.alive(rank)) return;
          world.BeginAgreement(rank);
          world.Suspect(rank, suspect);
        });
      }
      world.Run(seconds(3));
      std::map<int, LostRank::Kind> lost;
      for (int rank : dying) lost[rank] = LostRank::Kind::kDied;
      ExpectLost(world, lost);
      EXPECT_EQ(Undecided(world), 0u);
      const std::vector<int> living = world.Living();
      for (int rank : living) {
        const std::vector<int> decision = **world.machine(rank).Agreed(ControlWorld::kCommunicator, 0);
        EXPECT_EQ(decision, **world.machine(living[0]).Agreed(ControlWorld::kCommunicator, 0));
        EXPECT_TRUE(std::includes(decision.begin(), decision.end(), living.begin(), living.end()));
      }
    }
}

TEST(ControlSimulationTest, OneSeedIsOneHistoryToTheByte) {
  auto history = [](uint64_t seed) {
    ControlWorld::Options options = World(9, seed);
    options.keep_trace = true;
    ControlWorld world(options);
    world.Run(milliseconds(200));
    world.Kill(static_cast<int>(world.Random(9)));
    for (int rank : world.Living()) world.BeginAgreement(rank);
    world.Run(seconds(1));
    return world.trace();
  };
  EXPECT_EQ(history(1), history(1));
  EXPECT_NE(history(1), history(2));
}

class LargeWorldTest : public ::testing::TestWithParam<int> {};

TEST_P(LargeWorldTest, LearnsOfLossesAndAgrees) {
  const int size = GetParam();
  ControlWorld world(World(size, 1));
  ASSERT_TRUE(world.Run(seconds(2), [&] { return world.AllLinked(); }));
  std::map<int, LostRank::Kind> lost;
  for (int rank : Distinct(world, size, 3)) {
    lost[rank] = LostRank::Kind::kDied;
    world.Kill(rank);
  }
  const int64_t messages = world.messages();
  EXPECT_TRUE(world.Run(milliseconds(200), [&] { return AllKnow(world, lost.size()); }));
  RecordProperty("messages_a_rank_for_losses", static_cast<int>((world.messages() - messages) / size));
  for (int rank : world.Living()) world.BeginAgreement(rank);
  EXPECT_TRUE(world.Run(seconds(1), [&] { return Undecided(world) == 0; }));
  std::vector<int> living = world.Living();
  for (int rank : living) {
    const auto agreed = world.machine(rank).Agreed(ControlWorld::kCommunicator, 0);
    ASSERT_TRUE(agreed.ok() && *agreed);
    ASSERT_EQ(**agreed, living);
  }
  ExpectLost(world, lost);
}

INSTANTIATE_TEST_SUITE_P(Worlds, LargeWorldTest, ::testing::Values(16, 17, 64, 257, 1024));

}  // namespace
}  // namespace lockstep::comm
