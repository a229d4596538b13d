#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/collectives/collective.h"
#include "src/collectives/cost_model.h"

namespace lockstep::collectives {
namespace {

Algorithm AllReduceAlgorithm(int64_t bytes, int world_size) {
  return Choose({.op = OpKind::kAllReduce, .dtype = DType::kU8, .count = bytes}, world_size);
}

double AllReduceCost(int64_t bytes, int world_size) {
  const auto n = static_cast<double>(bytes), p = static_cast<double>(world_size);
  switch (AllReduceAlgorithm(bytes, world_size)) {
    case Algorithm::kRing:
      return CostModel::Ring(n, p, 2);
    case Algorithm::kRecursiveDoubling:
      return CostModel::RecursiveDoubling(n, p);
    default:
      return CostModel::HalvingDoubling(n, p);
  }
}

TEST(ChooseTest, SmallGoesByRecursiveDoublingLargeByTheRing) {
  for (int world_size : {2, 3, 8, 64}) {
    EXPECT_EQ(AllReduceAlgorithm(8, world_size), Algorithm::kRecursiveDoubling) << world_size;
    EXPECT_EQ(AllReduceAlgorithm(int64_t{1} << 30, world_size), Algorithm::kRing) << world_size;
  }
}

TEST(ChooseTest, TakesWhatWasAskedForWhereItFits) {
  EXPECT_EQ(Choose({.op = OpKind::kAllReduce, .algorithm = Algorithm::kHalvingDoubling, .count = 1}, 4),
            Algorithm::kHalvingDoubling);
  EXPECT_NE(Choose({.op = OpKind::kAllReduce, .algorithm = Algorithm::kTree, .count = 1}, 4),
            Algorithm::kTree);
}

TEST(ChooseTest, NoChoiceMakesTheCostJump) {
  for (int world_size : {2, 3, 5, 8, 17, 64, 1000}) {
    double before = AllReduceCost(0, world_size);
    for (int64_t bytes = 1; bytes < int64_t{1} << 30; bytes += 1 + bytes / 64) {
      const double cost = AllReduceCost(bytes, world_size);
      EXPECT_LE(cost, before * 1.03 + 0.01) << bytes << " bytes on " << world_size << " ranks";
      before = cost;
    }
  }
}

TEST(ChooseTest, ChainsChunksFitTheirLimits) {
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{5000}, int64_t{1} << 20, int64_t{1} << 40})
    for (int world_size : {2, 3, 1000}) {
      EXPECT_GT(ChainChunkBytes(bytes, world_size, 256 << 10), 0);
      EXPECT_LE(ChainChunkBytes(bytes, world_size, 256 << 10), 256 << 10);
    }
}

}  // namespace
}  // namespace lockstep::collectives
