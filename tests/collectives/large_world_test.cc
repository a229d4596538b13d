#include <gtest/gtest.h>

#include <iostream>
#include <vector>

#include "tests/collectives/sim_conformance.h"

namespace lockstep::conformance {
namespace {

using transport::sim::SimWorld;

constexpr OpKind kScalable[] = {OpKind::kAllReduce, OpKind::kReduce,    OpKind::kReduceScatter,
                                OpKind::kAllGather, OpKind::kBroadcast, OpKind::kGather,
                                OpKind::kScatter,   OpKind::kBarrier};

int64_t RunOn(int world_size, const std::vector<OpKind>& ops, const std::vector<DType>& dtypes,
              const std::vector<int64_t>& counts) {
  SimWorld world({.topology = {.world_size = world_size, .ranks_per_host = 8}, .seed = 5, .jitter = 2});
  SimConformance runner(&world, {.scratch_bytes = 64 << 10, .chunk_bytes = 16 << 10});
  bool failed = false;
  const Matrix matrix{.world_sizes = {world_size}, .counts = counts, .dtypes = dtypes, .ops = ops};
  return ForEachCase(matrix, [&](const Case& one, const Data& data) {
    if (failed) return;
    const std::string problem = runner.Run(one, data);
    failed = !problem.empty();
    EXPECT_EQ(problem, "");
  });
}

TEST(LargeWorldTest, AllOperationsOn16And17And64Ranks) {
  int64_t cases = 0;
  for (int world_size : {16, 17, 64}) cases += RunOn(world_size, {}, {DType::kF32, DType::kI64}, {0, 3, 200});
  std::cout << cases << " cases" << std::endl;
}

TEST(LargeWorldTest, OperationsThatScaleOn257Ranks) {
  std::cout << RunOn(257, {std::begin(kScalable), std::end(kScalable)}, {DType::kF32}, {3}) << " cases"
            << std::endl;
}

TEST(LargeWorldTest, ARingOf1024Ranks) {
  constexpr int kRanks = 1024;
  SimWorld world({.topology = {.world_size = kRanks, .ranks_per_host = 8}});
  SimConformance runner(&world, {.scratch_bytes = 64 << 10, .chunk_bytes = 16 << 10});
  for (Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling, Algorithm::kHalvingDoubling}) {
    const Case one{.algorithm = algorithm, .world_size = kRanks, .count = 5000};
    const Data data = DataFor(one, Pattern::kExact);
    const int64_t begin_ns = world.now_ns(), begin_events = world.events();
    ASSERT_EQ(runner.Run(one, data), "");
    std::cout << Name(algorithm) << ": " << (world.now_ns() - begin_ns) / 1000 << " us of virtual time, "
              << world.events() - begin_events << " events" << std::endl;
  }
}

TEST(LargeWorldTest, TreesAndBarriersOf1024Ranks) {
  std::cout << RunOn(1024, {OpKind::kBroadcast, OpKind::kReduce, OpKind::kBarrier}, {DType::kF32}, {7})
            << " cases" << std::endl;
}

}  // namespace
}  // namespace lockstep::conformance
