// Every collective over TCP against the serial reference, with vectors that take many chunks.

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/comm/conformance_matrix.h"

namespace lockstep {
namespace {

using conformance::Matrix;

class LargeConformanceTest : public ::testing::TestWithParam<int> {};

TEST_P(LargeConformanceTest, EveryCollectiveIsRightToTheBit) {
  Matrix matrix;
  matrix.world_sizes = {GetParam()};
  matrix.counts = {65537, (1 << 20) + 7};
  std::printf("%ld cases with %d ranks\n", static_cast<long>(testing::RunMatrix(GetParam(), matrix)),
              GetParam());
}

INSTANTIATE_TEST_SUITE_P(Worlds, LargeConformanceTest, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

}  // namespace
}  // namespace lockstep
