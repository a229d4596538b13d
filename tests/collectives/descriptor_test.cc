#include "src/collectives/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace lockstep::collectives {
namespace {

Descriptor Example() {
  return {.op = OpKind::kReduce,
          .dtype = DType::kBF16,
          .reduce_op = ReduceOp::kMax,
          .determinism = Determinism::kStrict,
          .algorithm = Algorithm::kTree,
          .root = 3,
          .count = int64_t{5} << 33,
          .counts_hash = 0xfedcba9876543210};
}

TEST(DescriptorTest, SurvivesTheWire) {
  const absl::StatusOr<Descriptor> decoded = DecodeDescriptor(EncodeDescriptor(Example()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, Example());
}

TEST(DescriptorTest, EveryFieldChangesTheHash) {
  std::vector<Descriptor> variants(9, Example());
  variants[1].op = OpKind::kBroadcast;
  variants[2].dtype = DType::kF16;
  variants[3].reduce_op = ReduceOp::kMin;
  variants[4].determinism = Determinism::kFast;
  variants[5].algorithm = Algorithm::kRing;
  variants[6].root = 2;
  variants[7].count += 1;
  variants[8].counts_hash ^= 1;
  std::set<uint64_t> hashes;
  for (const Descriptor& variant : variants) hashes.insert(variant.Hash());
  EXPECT_EQ(hashes.size(), variants.size());
}

TEST(DescriptorTest, ReadsAsACall) {
  Descriptor call{.op = OpKind::kAllReduce, .reduce_op = ReduceOp::kSum, .count = 1000};
  EXPECT_EQ(call.ToString(), "allreduce f32 x 1000 sum");
  call = {.op = OpKind::kBroadcast, .dtype = DType::kBF16, .root = 3, .count = 7};
  EXPECT_EQ(call.ToString(), "broadcast bf16 x 7 root 3");
  EXPECT_EQ(Descriptor{}.ToString(), "barrier");
  EXPECT_EQ(Descriptor{.op = OpKind::kGatherV}.ToString(), "gatherv f32");
}

TEST(DescriptorTest, RejectsWhatNoRankWouldSend) {
  const std::string good = EncodeDescriptor(Example());
  EXPECT_FALSE(DecodeDescriptor("").ok());
  EXPECT_FALSE(DecodeDescriptor(good.substr(1)).ok());
  EXPECT_FALSE(DecodeDescriptor(good + "x").ok());
  for (size_t enumerator : {0, 1, 2, 3, 4}) {
    std::string bad = good;
    bad[enumerator] = '\x7f';
    EXPECT_FALSE(DecodeDescriptor(bad).ok()) << "byte " << enumerator;
  }
}

}  // namespace
}  // namespace lockstep::collectives
