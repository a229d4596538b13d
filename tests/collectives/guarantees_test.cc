#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/device/fake_device.h"
#include "tests/collectives/sim_conformance.h"

namespace lockstep::conformance {
namespace {

using transport::sim::SimWorld;

constexpr DType kFloats[] = {DType::kF32, DType::kF16,    DType::kBF16,
                             DType::kF64, DType::kF8E4M3, DType::kF8E5M2};

// The expected result of strict sums is the left fold itself, so the harness compares to the bit, though the
// sums round.
TEST(StrictTest, IsTheLeftFoldOverTheRanksWhateverTheAlgorithm) {
  for (int world_size : {2, 3, 5, 8, 17})
    for (DType dtype : kFloats)
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg})
        for (OpKind kind :
             {OpKind::kAllReduce, OpKind::kReduce, OpKind::kReduceScatter, OpKind::kReduceScatterV})
          for (int64_t count : {1, 1000, 30000}) {
            if (kind != OpKind::kAllReduce && count > 1000) continue;
            Case one{.op = kind,
                     .dtype = dtype,
                     .reduce_op = op,
                     .determinism = Determinism::kStrict,
                     .world_size = world_size,
                     .root = world_size / 2,
                     .count = count};
            const Data data = DataFor(one, Pattern::kRounded);
            for (Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling, Algorithm::kTree}) {
              one.algorithm = algorithm;
              SimWorld world({.topology = {.world_size = world_size}});
              SimConformance runner(&world, {.scratch_bytes = 64 << 10, .chunk_bytes = 4096});
              ASSERT_EQ(runner.Run(one, data), "");
            }
          }
}

TEST(FastTest, EndsWithTheSameBitsEverywhereAndAgain) {
  for (int world_size : {2, 3, 6, 8, 13})
    for (Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling, Algorithm::kHalvingDoubling})
      for (DType dtype : {DType::kF32, DType::kBF16}) {
        const Case one{.dtype = dtype, .algorithm = algorithm, .world_size = world_size, .count = 10007};
        const Data data = DataFor(one, Pattern::kRounded);
        std::vector<std::vector<std::byte>> runs;
        for (uint64_t seed : {1, 2}) {
          SimWorld world({.topology = {.world_size = world_size}, .seed = seed, .jitter = 5});
          SimConformance runner(&world, {.chunk_bytes = 4096});
          (void)runner.Run(one, data);  // not the left fold
          for (int rank = 0; rank < world_size; ++rank) runs.push_back(runner.Output(rank));
        }
        for (const std::vector<std::byte>& run : runs) ASSERT_TRUE(run == runs[0]) << ToString(one);
      }
}

TEST(LateKernelsTest, NothingIsSentOrReusedBeforeItsKernelHasRun) {
  for (int world_size : {1, 2, 3, 8}) {
    SimConformance::Options options{.scratch_bytes = 64 << 10, .chunk_bytes = 1024};
    for (int rank = 0; rank < world_size; ++rank)
      options.streams.emplace_back(std::make_shared<device::FakeDeviceStream>(device::FakeDeviceOptions{
          .index = rank, .min_polls = 0, .max_polls = 7, .seed = static_cast<uint64_t>(rank) + 1}));
    SimWorld world({.topology = {.world_size = world_size}, .jitter = 3, .idle_polls = 20'000});
    SimConformance runner(&world, options);
    bool failed = false;
    const Matrix matrix{
        .world_sizes = {world_size}, .counts = {1, 3000}, .dtypes = {DType::kF32, DType::kBF16}};
    ForEachCase(matrix, [&](const Case& one, const Data& data) {
      if (failed) return;
      const std::string problem = runner.Run(one, data);
      failed = !problem.empty();
      EXPECT_EQ(problem, "");
    });
  }
}

TEST(ScratchTest, TooLittleIsAnErrorThatSaysHowMuchIsNeeded) {
  SimWorld world({.topology = {.world_size = 2}});
  SimConformance runner(&world, {.scratch_bytes = 1000});
  const Case one{.world_size = 2, .count = 10};
  const std::string problem = runner.Run(one, DataFor(one, Pattern::kExact));
  EXPECT_NE(problem.find("RESOURCE_EXHAUSTED"), std::string::npos) << problem;
  EXPECT_NE(problem.find("65536"), std::string::npos) << problem;
}

// Rank 1 makes another call than the others.
void ExpectMismatch(const Case& theirs, const Case& ours) {
  SimWorld world({.topology = {.world_size = theirs.world_size}});
  SimConformance runner(&world, {.scratch_bytes = 64 << 10});
  const Data data = DataFor(theirs, Pattern::kExact), other_data = DataFor(ours, Pattern::kExact);
  const SimConformance::Result result = runner.RunEach([&](int rank) -> SimConformance::Call {
    return rank == 1 ? SimConformance::Call{&ours, &other_data} : SimConformance::Call{&theirs, &data};
  });
  // Where no rank has a message of the other kind before it, none can tell: the control plane compares the
  // calls when nothing moves.
  bool noticed = !result.deadlock.ok();
  for (const absl::Status& status : result.statuses) noticed |= !status.ok();
  EXPECT_TRUE(noticed) << ToString(theirs) << " and " << ToString(ours);
}

TEST(MismatchTest, AnotherCallNeverGoesUnnoticed) {
  for (int world_size : {2, 3, 8})
    for (int64_t count : {1, 1000, 40000})
      for (OpKind op : {OpKind::kAllReduce, OpKind::kAllGather, OpKind::kReduceScatter, OpKind::kBroadcast,
                        OpKind::kReduce, OpKind::kGather, OpKind::kScatter, OpKind::kAllToAll}) {
        const Case right{.op = op, .world_size = world_size, .count = count};
        Case wrong = right;
        wrong.count += 1;
        ExpectMismatch(right, wrong);
        wrong = right;
        wrong.dtype = DType::kI32;
        ExpectMismatch(right, wrong);
        if (Reduces(op)) {
          wrong = right;
          wrong.reduce_op = ReduceOp::kMax;
          ExpectMismatch(right, wrong);
        }
        if (op != OpKind::kAllReduce) {
          wrong = right;
          wrong.op = OpKind::kAllReduce;
          ExpectMismatch(right, wrong);
        }
      }
}

}  // namespace
}  // namespace lockstep::conformance
