#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/cpu/loops.h"
#include "kernels/kernel_table.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/kernels/reference.h"

namespace lockstep::kernels {
namespace {

class FoldTest : public testing::TestWithParam<KernelCase> {};

// Sources that arrive one after another give the bits of all at once.
TEST_P(FoldTest, EqualsReduceToTheBit) {
  const DType dtype = GetParam().dtype;
  const Loops& loops = *GetParam().loops;
  const int64_t accumulator_size = HostKernels().accumulator_size(dtype);
  for (const int64_t count : {0, 1, 3, 7, 15, 16, 17, 63, 64, 65, 1000}) {
    for (const int misalignment : {0, 1, 5}) {
      std::vector<Elements> sources;
      std::vector<const void*> pointers;
      for (int s = 0; s < 5; ++s) {
        sources.emplace_back(dtype, count, (misalignment * (s + 1)) % 64);
        FillWithEverything(sources.back(), dtype, static_cast<uint64_t>(s) + 1);
        pointers.push_back(sources.back().data());
      }
      for (int o = 0; o < kReduceOpCount; ++o) {
        const auto op = static_cast<ReduceOp>(o);
        const double divisor = op == ReduceOp::kAvg && IsFloatingPoint(dtype) ? 5 : 1;
        Elements accumulator(DType::kU8, count * accumulator_size, misalignment);
        Elements destination(dtype, count, misalignment);
        loops.fold_first(dtype, accumulator.data(), pointers[0], count);
        for (size_t s = 1; s < pointers.size(); ++s)
          loops.fold(dtype, op, accumulator.data(), pointers[s], count);
        loops.fold_finish(dtype, destination.data(), accumulator.data(), count, divisor);
        ASSERT_EQ(Difference(destination.data(), ReferenceReduce(dtype, op, pointers, count, divisor), dtype),
                  "")
            << Name(op) << ", count " << count << ", misalignment " << misalignment;
        ASSERT_TRUE(accumulator.GuardsHold());
        ASSERT_TRUE(destination.GuardsHold());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FoldTest, testing::ValuesIn(AllKernelCases()),
                         [](const auto& info) { return NameOf(info.param); });

TEST(AccumulatorSizeTest, IsThatOfTheTypeCombinedIn) {
  const KernelTable& kernels = HostKernels();
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2, DType::kF32})
    EXPECT_EQ(kernels.accumulator_size(dtype), 4);
  for (const DType dtype : {DType::kF64, DType::kI8, DType::kU8, DType::kI32, DType::kI64})
    EXPECT_EQ(kernels.accumulator_size(dtype), SizeOf(dtype));
}

}  // namespace
}  // namespace lockstep::kernels
