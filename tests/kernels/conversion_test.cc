#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/loops.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/kernels/reference.h"

namespace lockstep::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class ConversionTest : public testing::TestWithParam<KernelCase> {
 protected:
  // Rounds `values` by both of the kernels' ways to write and compares with the reference.
  void CheckEncoding(const std::vector<float>& values) const {
    const DType dtype = GetParam().dtype;
    const auto count = static_cast<int64_t>(values.size());
    Elements destination(dtype, count, 0);
    GetParam().loops->fold_finish(dtype, destination.data(), values.data(), count, 1);
    const auto size = static_cast<size_t>(SizeOf(dtype));
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t got = 0;
      std::memcpy(&got, destination.data() + i * size, size);
      ASSERT_EQ(got, NarrowFloat::Of(dtype).Encode(values[i])) << std::hexfloat << values[i];
    }
  }
};

// Where rounding turns: each number, each midpoint, and their neighbours.
TEST_P(ConversionTest, RoundsToNearestEvenAroundEveryNumber) {
  const std::vector<double>& magnitudes = NarrowFloat::Of(GetParam().dtype).magnitudes();
  std::vector<float> values;
  for (size_t i = 0; i + 1 < magnitudes.size(); ++i) {
    for (const double turn : {magnitudes[i], (magnitudes[i] + magnitudes[i + 1]) / 2}) {
      const auto at = static_cast<float>(turn);
      for (const float value : {std::nextafter(at, 0.0f), at, std::nextafter(at, kInfinity)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
  }
  CheckEncoding(values);
}

TEST_P(ConversionTest, RoundsFloatsOfEveryMagnitude) {
  std::vector<float> values;
  // An odd stride, so that low bits vary as well: 2^32 / 8191.
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 8191) {
    const auto word = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, 4);
    values.push_back(value);
  }
  CheckEncoding(values);
}

TEST_P(ConversionTest, ReadsEveryPattern) {
  const DType dtype = GetParam().dtype;
  const NarrowFloat& format = NarrowFloat::Of(dtype);
  const int64_t count = int64_t{1} << format.total_bits();
  Elements source(dtype, count, 0);
  const auto size = static_cast<size_t>(SizeOf(dtype));
  for (uint32_t bits = 0; bits < count; ++bits) std::memcpy(source.data() + bits * size, &bits, size);
  std::vector<float> values(static_cast<size_t>(count));
  GetParam().loops->fold_first(dtype, values.data(), source.data(), count);
  for (uint32_t bits = 0; bits < count; ++bits) {
    const float expected = format.Decode(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(values[bits])) << bits;
    } else {
      ASSERT_EQ(values[bits], expected) << bits;
      ASSERT_EQ(std::signbit(values[bits]), std::signbit(expected)) << bits;
    }
  }
}

std::vector<KernelCase> NarrowCases() {
  std::vector<KernelCase> cases;
  for (const KernelCase& kernel_case : AllKernelCases())
    if (IsFloatingPoint(kernel_case.dtype) && SizeOf(kernel_case.dtype) <= 2) cases.push_back(kernel_case);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, ConversionTest, testing::ValuesIn(NarrowCases()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace lockstep::kernels
