#include <gtest/gtest.h>

#include <random>
#include <string>

#include "src/comm/control/facts.h"

namespace lockstep::comm {
namespace {

constexpr int kWorldSize = 70;

RankSet RandomRanks(std::mt19937& random) {
  RankSet ranks;
  for (int rank = 0; rank < kWorldSize; ++rank)
    if (random() % 3 == 0) ranks.Add(rank);
  return ranks;
}

// Facts as ranks would state them: a call or a step is made once.
Facts RandomFacts(std::mt19937& random) {
  Facts facts;
  for (int i = static_cast<int>(random() % 4); i > 0; --i) {
    LostRank lost;
    lost.rank = static_cast<int>(random() % 5);
    lost.kind = static_cast<LostRank::Kind>(random() % 3);
    lost.detail = "noticed by rank " + std::to_string(random() % 3);
    facts.lost[lost.rank] = lost;
  }
  for (int i = static_cast<int>(random() % 4); i > 0; --i) {
    collectives::Descriptor call;
    call.op = static_cast<collectives::OpKind>(random() % collectives::kOpKindCount);
    call.count = static_cast<int64_t>(random() % 3);
    facts.calls[{random() % 2, random() % 3}][call].Merge(RankSet{static_cast<int>(random() % kWorldSize)});
  }
  for (int i = static_cast<int>(random() % 3); i > 0; --i) {
    PoisonFact& poison = facts.poison[random() % 3];
    poison.sequence = random() % 3;
    poison.origin = static_cast<int>(random() % 3);
    poison.code = static_cast<int>(1 + random() % 16);
    poison.message = "reason " + std::to_string(poison.origin);
    poison.lost = RandomRanks(random);
  }
  for (int i = static_cast<int>(random() % 3); i > 0; --i) {
    AgreementStep step;
    step.dead = RandomRanks(random);
    step.phase = static_cast<AgreementStep::Phase>(random() % 2);
    step.value = RandomRanks(random);
    step.value_round = static_cast<int>(random() % 4) - 1;
    facts.agreements[{random() % 2, 0}][step].Merge(RankSet{static_cast<int>(random() % kWorldSize)});
  }
  return facts;
}

TEST(FactsTest, ComeBackFromTheWire) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const Facts facts = RandomFacts(random);
    const std::string bytes = EncodeFacts(facts);
    const absl::StatusOr<Facts> back = DecodeFacts(bytes, kWorldSize);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(EncodeFacts(*back), bytes);
    EXPECT_EQ(back->lost, facts.lost);
    EXPECT_EQ(back->calls, facts.calls);
    EXPECT_EQ(back->poison, facts.poison);
    EXPECT_EQ(back->agreements, facts.agreements);
  }
}

TEST(FactsTest, RejectsWhatIsCutLongerOrOfAnotherWorld) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const std::string bytes = EncodeFacts(RandomFacts(random));
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(DecodeFacts(bytes.substr(0, size), kWorldSize).ok());
    EXPECT_FALSE(DecodeFacts(bytes + '\0', kWorldSize).ok());
  }
  Facts facts;
  facts.lost[69].rank = 69;
  EXPECT_TRUE(DecodeFacts(EncodeFacts(facts), 70).ok());
  EXPECT_FALSE(DecodeFacts(EncodeFacts(facts), 69).ok());
  facts = {};
  facts.poison[1].code = 1;
  facts.poison[1].lost = {69};
  EXPECT_TRUE(DecodeFacts(EncodeFacts(facts), 70).ok());
  EXPECT_FALSE(DecodeFacts(EncodeFacts(facts), 69).ok());
  EXPECT_FALSE(DecodeFacts(EncodeFacts(facts), 64).ok());
}

TEST(FactsTest, MergeToTheSameWhateverTheOrder) {
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    const Facts a = RandomFacts(random), b = RandomFacts(random), c = RandomFacts(random);
    Facts ab_c = a, c_ba = c;
    ab_c.Merge(b);
    ab_c.Merge(c);
    Facts ba = b;
    ba.Merge(a);
    c_ba.Merge(ba);
    EXPECT_EQ(EncodeFacts(ab_c), EncodeFacts(c_ba));
    EXPECT_TRUE(ab_c.Merge(a).empty()) << "nothing is new the second time";
    EXPECT_TRUE(ab_c.Merge(ba).empty());
  }
}

TEST(FactsTest, WhatMergeCallsFreshIsAllThatAnotherNeeds) {
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    const Facts before = RandomFacts(random);
    Facts here = before, there = before;
    there.Merge(here.Merge(RandomFacts(random)));
    EXPECT_EQ(EncodeFacts(here), EncodeFacts(there));
  }
}

TEST(FactsTest, TheStrongerReportOfALossStays) {
  Facts facts, other;
  facts.lost[3] = {3, LostRank::Kind::kSilent, "noticed by rank 0"};
  other.lost[3] = {3, LostRank::Kind::kDied, "noticed by rank 1"};
  EXPECT_FALSE(facts.Merge(other).empty());
  EXPECT_EQ(facts.lost[3].kind, LostRank::Kind::kDied);
  other.lost[3] = {3, LostRank::Kind::kSilent, "noticed by rank 2"};
  EXPECT_TRUE(facts.Merge(other).empty());
  EXPECT_EQ(facts.lost[3].detail, "noticed by rank 1");
}

}  // namespace
}  // namespace lockstep::comm
