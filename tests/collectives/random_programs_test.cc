#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "tests/collectives/sim_conformance.h"

namespace lockstep::conformance {
namespace {

using transport::sim::SimOptions;
using transport::sim::SimWorld;

// A few collectives in a row, drawn by seed, on a world drawn by seed.
struct Program {
  int world_size;
  std::vector<Case> cases;
  std::deque<Data> data;
  std::vector<const Data*> data_pointers;

  Program(uint64_t seed, int world_size, int length, int64_t largest_count) : world_size(world_size) {
    for (uint64_t i = 0; cases.size() < static_cast<size_t>(length); ++i) {
      const Case one = RandomCase(Mix(seed, 2, i), world_size, largest_count);
      // A million messages at once are another matter.
      if (world_size > 300 && (one.op == OpKind::kAllToAll || one.op == OpKind::kAllToAllV)) continue;
      cases.push_back(one);
      data_pointers.push_back(&data.emplace_back(DataFor(cases.back(), Pattern::kExact)));
    }
  }
};

int WorldSize(uint64_t seed, int largest) {
  return 2 + static_cast<int>(Mix(seed, 1, 1) % static_cast<uint64_t>(largest - 1));
}

SimOptions WorldOptions(uint64_t seed, int world_size) {
  return {.topology = {.world_size = world_size, .ranks_per_host = 1 + static_cast<int>(Mix(seed, 3, 3) % 4)},
          .seed = seed,
          .jitter = static_cast<double>(Mix(seed, 4, 4) % 8),
          .window_bytes = int64_t{1} << (10 + Mix(seed, 5, 5) % 9)};
}

void RunWell(const Program& program, uint64_t seed) {
  SimWorld world(WorldOptions(seed, program.world_size));
  const size_t scratch_bytes = size_t{64 << 10} << (program.world_size > 64 ? 0 : seed % 5);
  SimConformance runner(&world, {.scratch_bytes = scratch_bytes, .chunk_bytes = 4096});
  const SimConformance::Result result = runner.RunProgram(program.cases, program.data_pointers);
  ASSERT_TRUE(result.deadlock.ok()) << "seed " << seed << ": " << result.deadlock;
  for (const absl::Status& status : result.statuses)
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status;
  for (const std::string& problem : result.problems) ASSERT_EQ(problem, "") << "seed " << seed;
  ASSERT_EQ(world.messages_left(), 0) << "seed " << seed;
}

TEST(RandomProgramsTest, EndWithTheRightNumbersOnManyRanks) {
  const struct {
    int world_size, programs;
    int64_t largest_count;
  } kWorlds[] = {{16, 20, 2000}, {17, 20, 2000}, {64, 10, 500}, {257, 2, 20}, {1024, 1, 4}};
  for (const auto& [world_size, programs, largest_count] : kWorlds)
    for (uint64_t seed = 1; seed <= static_cast<uint64_t>(programs) && !::testing::Test::HasFailure(); ++seed)
      RunWell(Program(seed, world_size, 6, largest_count), seed);
}

TEST(RandomProgramsTest, EndWithTheRightNumbers) {
  constexpr int kSeeds = 500;
  int64_t cases = 0;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    const Program program(seed, WorldSize(seed, 17), 8, 20000);
    RunWell(program, seed);
    cases += static_cast<int64_t>(program.cases.size());
  }
  std::cout << kSeeds << " programs, " << cases << " collectives" << std::endl;
}

// What became of a program with a fault in it.
struct History {
  uint64_t trace_hash = 0;
  int failed = 0;

  bool operator==(const History&) const = default;
};

// Loses a rank, or cuts the world in two, somewhere in the program. A rank whose program ended well must have
// the right numbers.
History RunWithFault(uint64_t seed) {
  const Program program(seed, WorldSize(seed, 12), 3, 5000);
  SimWorld world(WorldOptions(seed, program.world_size));
  const auto draw = [&](uint64_t what, int64_t bound) {
    return static_cast<int64_t>(Mix(seed, 9, what) % static_cast<uint64_t>(bound));
  };
  const int victim = static_cast<int>(draw(1, program.world_size));
  if (draw(2, 4) == 0) world.SlowRank(static_cast<int>(draw(3, program.world_size)), 20);
  switch (draw(4, 3)) {
    case 0:
      world.LoseRankAt(victim, draw(5, 150'000));
      break;
    case 1:
      world.LoseRankAfterSends(victim, 1 + draw(6, 30));
      break;
    default: {
      std::vector<int> group;
      for (int rank = 0; rank <= victim && rank + 1 < program.world_size; ++rank) group.push_back(rank);
      world.PartitionAt(group, draw(7, 150'000));
    }
  }
  SimConformance runner(&world, {.scratch_bytes = 64 << 10, .chunk_bytes = 4096});
  const SimConformance::Result result = runner.RunProgram(program.cases, program.data_pointers);
  EXPECT_TRUE(result.deadlock.ok()) << "seed " << seed << ": " << result.deadlock;
  History history{.trace_hash = world.trace_hash()};
  for (size_t rank = 0; rank < result.statuses.size(); ++rank) {
    EXPECT_EQ(result.problems[rank], "") << "seed " << seed;
    if (result.statuses[rank].ok()) continue;
    ++history.failed;
    EXPECT_EQ(result.statuses[rank].code(), absl::StatusCode::kUnavailable) << "seed " << seed;
  }
  return history;
}

TEST(RandomProgramsTest, WithFaultsEndWithTheRightNumbersOrAnError) {
  constexpr int kSeeds = 2000;
  int hit = 0;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    if (RunWithFault(seed).failed > 1) ++hit;
  EXPECT_GT(hit, kSeeds / 4);
  std::cout << kSeeds << " seeds, in " << hit << " of them ranks failed" << std::endl;
}

TEST(RandomProgramsTest, OneSeedIsOneHistory) {
  for (uint64_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(RunWithFault(seed), RunWithFault(seed)) << seed;
}

}  // namespace
}  // namespace lockstep::conformance
