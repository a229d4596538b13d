#include "src/transport/sim/sim_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "lockstep/status.h"

namespace lockstep::transport::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Tag kTag{1, 2, 3};

// Posts one send and one receive, and ends with them.
struct Exchange {
  std::vector<std::byte> out, in;
  Operation send, receive;
  int sends_to = -1, receives_from = -1;
  Tag tag = kTag;
  bool posted = false;

  absl::StatusOr<bool> Advance(Transport& transport) {
    if (!posted) {
      posted = true;
      if (sends_to >= 0) transport.PostSend(Lane::kCollective, sends_to, tag, out, &send);
      if (receives_from >= 0)
        transport.PostReceive(Lane::kCollective, receives_from, tag, absl::MakeSpan(in), &receive);
    }
    LOCKSTEP_RETURN_IF_ERROR(send.status());
    LOCKSTEP_RETURN_IF_ERROR(receive.status());
    return send.done() && receive.done();
  }
};

std::vector<std::byte> Bytes(size_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  return bytes;
}

SimWorld::Outcome RunAll(SimWorld& world, std::vector<Exchange>& exchanges) {
  std::vector<SimWorld::Program> programs;
  for (int rank = 0; rank < world.world_size(); ++rank)
    programs.emplace_back([&world, &exchanges, rank] {
      return exchanges[static_cast<size_t>(rank)].Advance(world.transport(rank));
    });
  return world.Run(programs);
}

// Each rank to the next, `count` bytes.
std::vector<Exchange> Circle(int world_size, size_t count) {
  std::vector<Exchange> exchanges(static_cast<size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) {
    Exchange& mine = exchanges[static_cast<size_t>(rank)];
    mine.out = Bytes(count, rank);
    mine.in.resize(count);
    mine.sends_to = (rank + 1) % world_size;
    mine.receives_from = (rank + world_size - 1) % world_size;
  }
  return exchanges;
}

TEST(SimWorldTest, DeliversWhatWasSent) {
  for (size_t count : {size_t{0}, size_t{1}, size_t{5000}, size_t{1} << 20}) {
    SimWorld world({.topology = {.world_size = 5, .ranks_per_host = 2}});
    std::vector<Exchange> exchanges = Circle(5, count);
    ASSERT_TRUE(RunAll(world, exchanges).ok());
    for (size_t rank = 0; rank < 5; ++rank) EXPECT_EQ(exchanges[rank].in, exchanges[(rank + 4) % 5].out);
    EXPECT_EQ(world.messages_left(), 0);
    EXPECT_EQ(world.transport(2).counters().bytes_received, static_cast<int64_t>(count));
    EXPECT_EQ(world.transport(2).counters().messages_sent, 1);
  }
}

TEST(SimWorldTest, TakesAlphaAndBetaForTheWay) {
  SimWorld world({.topology = {.world_size = 2, .between_hosts = {.alpha_ns = 10'000, .beta_ns = 1}}});
  std::vector<Exchange> exchanges(2);
  exchanges[0].out = Bytes(1000 - 64, 0);  // a header is 64 bytes
  exchanges[0].sends_to = 1;
  exchanges[1].in.resize(exchanges[0].out.size());
  exchanges[1].receives_from = 0;
  EXPECT_EQ(RunAll(world, exchanges).end_ns, 11'000);
}

TEST(SimWorldTest, ASendersPortServesOneMessageAtATime) {
  SimWorld world({.topology = {.world_size = 3, .between_hosts = {.alpha_ns = 10'000, .beta_ns = 1}}});
  std::vector<std::byte> data(1000 - 64), first(data.size()), second(data.size());
  std::array<Operation, 4> operations;
  world.transport(0).PostSend(Lane::kCollective, 1, kTag, data, &operations[0]);
  world.transport(0).PostSend(Lane::kCollective, 2, kTag, data, &operations[1]);
  world.transport(1).PostReceive(Lane::kCollective, 0, kTag, absl::MakeSpan(first), &operations[2]);
  world.transport(2).PostReceive(Lane::kCollective, 0, kTag, absl::MakeSpan(second), &operations[3]);
  std::vector<int64_t> ends(3);
  std::vector<SimWorld::Program> programs;
  for (int rank = 0; rank < 3; ++rank)
    programs.emplace_back([&, rank]() -> absl::StatusOr<bool> {
      ends[static_cast<size_t>(rank)] = world.now_ns();
      return rank == 0 ? operations[1].done() : operations[static_cast<size_t>(1 + rank)].done();
    });
  ASSERT_TRUE(world.Run(programs).ok());
  EXPECT_THAT(ends, ElementsAre(2000, 11'000, 12'000));
}

TEST(SimWorldTest, AMessageOfAnotherCallFailsTheReceive) {
  SimWorld world({.topology = {.world_size = 2}});
  std::vector<Exchange> exchanges = Circle(2, 100);
  exchanges[1].tag.sequence = 9;
  const SimWorld::Outcome outcome = RunAll(world, exchanges);
  ASSERT_TRUE(outcome.status.ok());
  for (const absl::Status& status : outcome.ranks) EXPECT_FALSE(status.ok());
  EXPECT_EQ(exchanges[0].receive.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(exchanges[0].receive.status().message()), HasSubstr("expected #1, 100 bytes"));
}

TEST(SimWorldTest, AMessageOfAnotherLengthFailsTheReceive) {
  SimWorld world({.topology = {.world_size = 2}});
  std::vector<Exchange> exchanges = Circle(2, 100);
  exchanges[1].out.resize(99);
  ASSERT_FALSE(RunAll(world, exchanges).ok());
  EXPECT_EQ(exchanges[0].receive.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(exchanges[0].receive.status().message()), HasSubstr("got #1, 99 bytes"));
}

TEST(SimWorldTest, SaysWhatEachRankOfADeadlockWaitsFor) {
  SimWorld world({.topology = {.world_size = 3}});
  std::vector<Exchange> exchanges(3);
  for (int rank = 0; rank < 3; ++rank) {
    exchanges[static_cast<size_t>(rank)].in.resize(8);
    exchanges[static_cast<size_t>(rank)].receives_from = (rank + 1) % 3;
  }
  const SimWorld::Outcome outcome = RunAll(world, exchanges);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(outcome.status.message()),
              HasSubstr("rank 1 waits for a message of rank 2 (#1, 8 bytes"));
  world.transport(0).Abort(absl::AbortedError("over"));
  world.transport(1).Abort(absl::AbortedError("over"));
  world.transport(2).Abort(absl::AbortedError("over"));
}

TEST(SimWorldTest, WhatNobodyReceivesFillsTheWindowAndThenHoldsTheSender) {
  SimWorld world({.topology = {.world_size = 2}, .window_bytes = 1000});
  std::vector<std::byte> data(400);
  std::array<Operation, 3> sends;
  for (Operation& send : sends) world.transport(0).PostSend(Lane::kCollective, 1, kTag, data, &send);
  std::vector<SimWorld::Program> programs = {[&]() -> absl::StatusOr<bool> { return sends[2].done(); },
                                             [] { return true; }};
  EXPECT_THAT(std::string(world.Run(programs).status.message()), HasSubstr("rank 0 waits to send to rank 1"));
  EXPECT_TRUE(sends[1].done());
  world.transport(0).Abort(absl::AbortedError("over"));
  EXPECT_TRUE(sends[2].done());
}

TEST(SimWorldTest, TheOthersHearOfALostRank) {
  SimWorld world({.topology = {.world_size = 4}, .notice_ns = 1'000'000});
  world.LoseRankAt(2, 500);
  std::vector<Exchange> exchanges = Circle(4, 100'000);
  const SimWorld::Outcome outcome = RunAll(world, exchanges);
  ASSERT_TRUE(outcome.status.ok());
  EXPECT_THAT(LostRanks(outcome.ranks[2]), ElementsAre(2));
  EXPECT_THAT(LostRanks(outcome.ranks[3]), ElementsAre(2));
  EXPECT_LE(outcome.end_ns, 2'100'000);
}

TEST(SimWorldTest, ARankThatDiesWhileItSendsLeavesNoHalfMessage) {
  SimWorld world({.topology = {.world_size = 2}});
  world.LoseRankAfterSends(0, 1);
  std::vector<Exchange> exchanges = Circle(2, 100);
  const SimWorld::Outcome outcome = RunAll(world, exchanges);
  EXPECT_EQ(outcome.ranks[1].code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(exchanges[1].in, std::vector<std::byte>(100));
}

TEST(SimWorldTest, BothSidesOfAPartitionGiveUpAfterTheSilence) {
  SimWorld world({.topology = {.world_size = 4}, .silence_ns = 7'000'000});
  world.PartitionAt({0, 1}, 0);
  std::vector<Exchange> exchanges = Circle(4, 100'000);
  const SimWorld::Outcome outcome = RunAll(world, exchanges);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_FALSE(outcome.ranks[2].ok());
  EXPECT_FALSE(outcome.ranks[0].ok());
  EXPECT_GE(outcome.end_ns, 7'000'000);
}

TEST(SimWorldTest, OneSeedIsOneHistory) {
  const auto history = [](uint64_t seed) {
    SimWorld world({.topology = {.world_size = 9, .ranks_per_host = 4}, .seed = seed, .jitter = 5});
    world.SlowRank(3, 10);
    std::vector<Exchange> exchanges = Circle(9, 3000);
    EXPECT_TRUE(RunAll(world, exchanges).ok());
    return std::pair(world.trace_hash(), world.now_ns());
  };
  EXPECT_EQ(history(1), history(1));
  EXPECT_NE(history(1), history(2));
}

}  // namespace
}  // namespace lockstep::transport::sim
