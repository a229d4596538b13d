#include "tests/kernels/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep::kernels {
namespace {

// Known numbers, so that the reference itself stands on something.
TEST(ReferenceTest, KnowsTheFormats) {
  const NarrowFloat& f16 = NarrowFloat::Of(DType::kF16);
  EXPECT_EQ(f16.Decode(0x3c00), 1.0f);
  EXPECT_EQ(f16.Decode(0xc000), -2.0f);
  EXPECT_EQ(f16.Decode(0x7bff), 65504.0f);
  EXPECT_EQ(f16.Decode(0x0001), std::ldexp(1.0f, -24));
  EXPECT_TRUE(std::isinf(f16.Decode(0x7c00)));
  EXPECT_TRUE(std::isnan(f16.Decode(0x7c01)));
  const NarrowFloat& bf16 = NarrowFloat::Of(DType::kBF16);
  EXPECT_EQ(bf16.Decode(0x3f80), 1.0f);
  EXPECT_EQ(bf16.Decode(0x0001), std::ldexp(1.0f, -133));
  const NarrowFloat& e4m3 = NarrowFloat::Of(DType::kF8E4M3);
  EXPECT_EQ(e4m3.Decode(0x38), 1.0f);
  EXPECT_EQ(e4m3.Decode(0x7e), 448.0f);
  EXPECT_EQ(e4m3.Decode(0x01), std::ldexp(1.0f, -9));
  EXPECT_TRUE(std::isnan(e4m3.Decode(0xff)));
  const NarrowFloat& e5m2 = NarrowFloat::Of(DType::kF8E5M2);
  EXPECT_EQ(e5m2.Decode(0x7b), 57344.0f);
  EXPECT_TRUE(std::isinf(e5m2.Decode(0xfc)));
}

TEST(ReferenceTest, RoundsToNearestEvenAndOverflowsAsTheFormatDoes) {
  const NarrowFloat& f16 = NarrowFloat::Of(DType::kF16);
  EXPECT_EQ(f16.Encode(1 + std::ldexp(1.0f, -11)), 0x3c00u);
  EXPECT_EQ(f16.Encode(1 + std::ldexp(3.0f, -11)), 0x3c02u);
  EXPECT_EQ(f16.Encode(65519.0f), 0x7bffu);
  EXPECT_EQ(f16.Encode(65520.0f), 0x7c00u);
  EXPECT_EQ(f16.Encode(-0.0f), 0x8000u);
  const NarrowFloat& e4m3 = NarrowFloat::Of(DType::kF8E4M3);
  EXPECT_EQ(e4m3.Encode(464.0f), 0x7eu);
  EXPECT_EQ(e4m3.Encode(465.0f), 0x7fu);
  EXPECT_EQ(e4m3.Encode(-1e9f), 0x7fu);
  EXPECT_EQ(e4m3.Encode(std::numeric_limits<float>::infinity()), 0x7fu);
  const NarrowFloat& e5m2 = NarrowFloat::Of(DType::kF8E5M2);
  EXPECT_EQ(e5m2.Encode(-61440.0f), 0xfcu);
  EXPECT_EQ(e5m2.Encode(std::numeric_limits<float>::quiet_NaN()), 0x7eu);
  EXPECT_EQ(NarrowFloat::Of(DType::kBF16).Encode(3.4e38f), 0x7f80u);
}

}  // namespace
}  // namespace lockstep::kernels
