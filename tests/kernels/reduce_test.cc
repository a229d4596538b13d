#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/cpu/loops.h"
#include "lockstep/reduce_op.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/kernels/reference.h"

namespace lockstep::kernels {
namespace {

constexpr int64_t kCounts[] = {0, 1, 3, 7, 15, 16, 17, 63, 64, 65, 1000, 65537};
constexpr int64_t kLargestCount = 65537;
constexpr int kMisalignments[] = {0, 1, 4, 62};
constexpr int kSourceCounts[] = {1, 2, 3, 5, 8};

class ReduceTest : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    for (int s = 0; s < 8; ++s) {
      sources_.emplace_back(dtype(), kLargestCount, 0);
      FillWithEverything(sources_.back(), dtype(), static_cast<uint64_t>(s) + 1);
    }
  }
  DType dtype() const { return GetParam().dtype; }
  const Loops& loops() const { return *GetParam().loops; }
  std::vector<double> Divisors(ReduceOp op) const {
    if (!IsFloatingPoint(dtype())) return {1};
    return op == ReduceOp::kAvg ? std::vector<double>{1, 2, 3, 7} : std::vector<double>{1, 3};
  }
  // The first `count` elements of the first `source_count` sources, copied to where `misalignment` puts them.
  std::vector<Elements> Sources(int source_count, int64_t count, int misalignment) const {
    std::vector<Elements> runs;
    for (int s = 0; s < source_count; ++s) {
      runs.emplace_back(dtype(), count, (misalignment * (s + 1)) % 64);
      std::memcpy(runs.back().data(), sources_[static_cast<size_t>(s)].data(),
                  static_cast<size_t>(runs.back().bytes()));
    }
    return runs;
  }
  static std::vector<const void*> Pointers(const std::vector<Elements>& runs) {
    std::vector<const void*> pointers;
    for (const Elements& run : runs) pointers.push_back(run.data());
    return pointers;
  }
  // Compares `count` elements with the start of `expected`, for one way to lay them out.
  void Check(ReduceOp op, int source_count, int64_t count, int misalignment, double divisor,
             const std::vector<char>& expected) const {
    const std::vector<Elements> sources = Sources(source_count, count, misalignment);
    const std::vector<const void*> pointers = Pointers(sources);
    Elements destination(dtype(), count, misalignment);
    loops().reduce(dtype(), op, destination.data(), pointers.data(), source_count, count, divisor);
    const std::vector<char> wanted(expected.begin(), expected.begin() + destination.bytes());
    ASSERT_EQ(Difference(destination.data(), wanted, dtype()), "")
        << Name(op) << ", " << source_count << " sources, count " << count << ", misalignment "
        << misalignment << ", divisor " << divisor;
    ASSERT_TRUE(destination.GuardsHold());
  }

  std::vector<Elements> sources_;
};

TEST_P(ReduceTest, EqualsTheReferenceToTheBit) {
  for (int o = 0; o < kReduceOpCount; ++o) {
    const auto op = static_cast<ReduceOp>(o);
    for (const int source_count : kSourceCounts) {
      const std::vector<Elements> sources = Sources(source_count, kLargestCount, 0);
      for (const double divisor : Divisors(op)) {
        const std::vector<char> expected =
            ReferenceReduce(dtype(), op, Pointers(sources), kLargestCount, divisor);
        for (const int64_t count : kCounts)
          for (const int misalignment : kMisalignments) {
            // Positions differ in nothing but their place: the largest count once and small ones always.
            if (count == kLargestCount && misalignment > 1) continue;
            Check(op, source_count, count, misalignment, divisor, expected);
            if (HasFatalFailure()) return;
          }
      }
    }
  }
}

TEST_P(ReduceTest, WritesOverAnyOfItsSources) {
  constexpr int64_t kCount = 2500;
  for (const int source_count : {1, 2, 3, 5}) {
    for (int over = 0; over < source_count; ++over) {
      std::vector<Elements> sources = Sources(source_count, kCount, 3);
      const std::vector<const void*> pointers = Pointers(sources);
      const std::vector<char> expected = ReferenceReduce(dtype(), ReduceOp::kSum, pointers, kCount, 1);
      Elements& destination = sources[static_cast<size_t>(over)];
      loops().reduce(dtype(), ReduceOp::kSum, destination.data(), pointers.data(), source_count, kCount, 1);
      EXPECT_EQ(Difference(destination.data(), expected, dtype()), "")
          << "over source " << over << " of " << source_count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReduceTest, testing::ValuesIn(AllKernelCases()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace lockstep::kernels
