// Every collective over TCP against the serial reference.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "lockstep/communicator.h"
#include "tests/comm/conformance_call.h"
#include "tests/comm/conformance_matrix.h"
#include "tests/support/world.h"

namespace lockstep {
namespace {

using conformance::Case;
using conformance::Data;
using conformance::Matrix;
using testing::RunRanks;

class ConformanceTest : public ::testing::TestWithParam<int> {};

TEST_P(ConformanceTest, EveryCollectiveIsRightToTheBit) {
  Matrix matrix;
  matrix.world_sizes = {GetParam()};
  matrix.counts = {0, 1, 3, 1000};
  std::printf("%ld cases with %d ranks\n", static_cast<long>(testing::RunMatrix(GetParam(), matrix)),
              GetParam());
}

INSTANTIATE_TEST_SUITE_P(Worlds, ConformanceTest, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

TEST(RandomProgramsTest, RandomCollectivesOnRandomGroupsAreRight) {
  constexpr int kPrograms = 500;
  const std::vector<int> worlds = {2, 3, 5, 8};
  for (int world_size : worlds)
    RunRanks(world_size, [&](Communicator& comm) {
      for (int program = 0; program < kPrograms / 4; ++program) {
        const auto seed = static_cast<uint64_t>(program * 16 + world_size);
        std::mt19937_64 random(seed);
        std::vector<int> colors;
        for (int rank = 0; rank < world_size; ++rank) colors.push_back(static_cast<int>(random() % 3));
        auto group = comm.Split(colors[static_cast<size_t>(comm.rank())], comm.rank());
        ASSERT_TRUE(group.ok()) << "seed " << seed << ": " << group.status();
        for (uint64_t step = 0; step < 4; ++step) {
          const Case one = conformance::RandomCase(seed * 100 + step, (*group)->world_size(), 5000);
          const Data data = conformance::DataFor(one, conformance::Pattern::kExact);
          ASSERT_EQ(testing::Wrong(**group, one, data), "") << "seed " << seed;
        }
      }
    });
  std::printf("%d random programs, seeds program * 16 + world size\n", kPrograms);
}

TEST(ProcessesTest, FourProcessesGetWhatThreadsGet) {
  testing::ProcessWorld world(4, [](Communicator& comm) {
    Matrix matrix;
    matrix.world_sizes = {4};
    matrix.counts = {3, 1000};
    matrix.dtypes = {DType::kF32, DType::kBF16, DType::kI64};
    std::string wrong;
    const int64_t cases = ForEachCase(matrix, [&](const Case& one, const Data& data) {
      if (wrong.empty()) wrong = testing::Wrong(comm, one, data);
    });
    return wrong.empty() ? std::to_string(cases) + " cases" : wrong;
  });
  const std::string first = world.Result(0);
  std::printf("%s\n", first.c_str());
  EXPECT_NE(first.find(" cases"), std::string::npos) << first;
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(world.Result(rank), first);
}

TEST(StrictTest, BitsDependOnNeitherAlgorithmNorBuckets) {
  constexpr int64_t kCount = 100003;
  for (int world_size : {2, 3, 5}) {
    RunRanks(world_size, [&](Communicator& comm) {
      std::mt19937 random(static_cast<unsigned>(comm.rank()));
      std::vector<float> input(kCount);
      for (float& value : input) value = std::normal_distribution<float>(0, 1000)(random);
      const auto reduce = [&](Algorithm algorithm, int64_t buckets) {
        std::vector<float> output = input;
        CallOptions options;
        options.determinism = Determinism::kStrict;
        options.algorithm = algorithm;
        for (int64_t b = 0; b < buckets; ++b) {
          const int64_t begin = kCount * b / buckets, end = kCount * (b + 1) / buckets;
          const absl::Status status =
              comm.AllReduce(TensorView(output.data() + begin, DType::kF32, end - begin), ReduceOp::kSum,
                             options)
                  .Wait();
          EXPECT_TRUE(status.ok()) << status;
        }
        return output;
      };
      const std::vector<float> ring = reduce(Algorithm::kRing, 1);
      const std::vector<float> doubling = reduce(Algorithm::kRecursiveDoubling, 1);
      const std::vector<float> seven = reduce(Algorithm::kRing, 7);
      EXPECT_EQ(std::memcmp(ring.data(), doubling.data(), kCount * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(ring.data(), seven.data(), kCount * sizeof(float)), 0);
    });
  }
}

}  // namespace
}  // namespace lockstep
