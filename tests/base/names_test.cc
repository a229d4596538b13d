#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lockstep/algorithm.h"
#include "lockstep/device.h"
#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"
#include "lockstep/version.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(NamesTest, EveryDTypeIsFoundUnderItsName) {
  std::set<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(*ParseDType(Name(dtype)), dtype);
    names.insert(Name(dtype));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kDTypeCount));
}

TEST(NamesTest, SizesAreThoseOfTheFormats) {
  EXPECT_EQ(SizeOf(DType::kF32), 4);
  EXPECT_EQ(SizeOf(DType::kF16), 2);
  EXPECT_EQ(SizeOf(DType::kBF16), 2);
  EXPECT_EQ(SizeOf(DType::kF64), 8);
  EXPECT_EQ(SizeOf(DType::kI8), 1);
  EXPECT_EQ(SizeOf(DType::kU8), 1);
  EXPECT_EQ(SizeOf(DType::kI32), 4);
  EXPECT_EQ(SizeOf(DType::kI64), 8);
  EXPECT_EQ(SizeOf(DType::kF8E4M3), 1);
  EXPECT_EQ(SizeOf(DType::kF8E5M2), 1);
}

TEST(NamesTest, FloatingPointIsToldFromIntegers) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kF8E4M3, DType::kF8E5M2})
    EXPECT_TRUE(IsFloatingPoint(dtype)) << Name(dtype);
  for (DType dtype : {DType::kI8, DType::kU8, DType::kI32, DType::kI64})
    EXPECT_FALSE(IsFloatingPoint(dtype)) << Name(dtype);
}

TEST(NamesTest, EveryReduceOpAndAlgorithmIsFoundUnderItsName) {
  for (int i = 0; i < kReduceOpCount; ++i)
    EXPECT_EQ(*ParseReduceOp(Name(static_cast<ReduceOp>(i))), static_cast<ReduceOp>(i));
  for (Algorithm algorithm : {Algorithm::kAuto, Algorithm::kRing, Algorithm::kRecursiveDoubling,
                              Algorithm::kHalvingDoubling, Algorithm::kTree, Algorithm::kDirect})
    EXPECT_EQ(*ParseAlgorithm(Name(algorithm)), algorithm);
}

TEST(NamesTest, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_THAT(std::string(ParseDType("f33").status().message()), AllOf(HasSubstr("f33"), HasSubstr("f32")));
  EXPECT_THAT(std::string(ParseReduceOp("mean").status().message()),
              AllOf(HasSubstr("mean"), HasSubstr("avg")));
  EXPECT_THAT(std::string(ParseAlgorithm("rings").status().message()),
              AllOf(HasSubstr("rings"), HasSubstr("recursive_doubling")));
}

TEST(NamesTest, DevicesAndTheVersionCanBePrinted) {
  EXPECT_EQ(ToString(Device{}), "host");
  EXPECT_EQ(ToString(Device{DeviceKind::kCuda, 1}), "cuda:1");
  EXPECT_EQ(Version(), std::to_string(LOCKSTEP_VERSION_MAJOR) + "." + std::to_string(LOCKSTEP_VERSION_MINOR) +
                           "." + std::to_string(LOCKSTEP_VERSION_PATCH));
}

}  // namespace
}  // namespace lockstep
