// What the ranks get when something goes wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lockstep/communicator.h"
#include "tests/support/world.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProcessWorld;
using testing::RunRanks;

// One call that a rank makes differently from the others.
struct Mismatch {
  const char* name;
  std::function<Work(Communicator&, bool odd_one, std::vector<float>& in, std::vector<float>& out)> call;
};

ConstTensorView In(std::vector<float>& buffer, int64_t count) { return {buffer.data(), DType::kF32, count}; }
TensorView Out(std::vector<float>& buffer, int64_t count, DType dtype = DType::kF32) {
  return {buffer.data(), dtype, count};
}

std::vector<Mismatch> Mismatches() {
  return {
      {"allreduce count",
       [](auto& c, bool odd, auto&, auto& out) { return c.AllReduce(Out(out, odd ? 99 : 100)); }},
      {"allreduce count, large",
       [](auto& c, bool odd, auto&, auto& out) { return c.AllReduce(Out(out, odd ? 99999 : 100000)); }},
      {"allreduce count zero",
       [](auto& c, bool odd, auto&, auto& out) { return c.AllReduce(Out(out, odd ? 0 : 100)); }},
      {"allreduce dtype",
       [](auto& c, bool odd, auto&, auto& out) {
         return c.AllReduce(Out(out, 100, odd ? DType::kI32 : DType::kF32));
       }},
      {"allreduce op",
       [](auto& c, bool odd, auto&, auto& out) {
         return c.AllReduce(Out(out, 100), odd ? ReduceOp::kMax : ReduceOp::kSum);
       }},
      {"allgather count",
       [](auto& c, bool odd, auto& in, auto& out) {
         const int64_t n = odd ? 9 : 10;
         return c.AllGather(In(in, n), Out(out, 4 * n));
       }},
      {"allgatherv counts",
       [](auto& c, bool odd, auto& in, auto& out) {
         std::vector<int64_t> counts = {10, 10, 10, odd ? 11 : 10};
         int64_t sum = 0;
         for (int64_t n : counts) sum += n;
         return c.AllGatherV(In(in, counts[static_cast<size_t>(c.rank())]), Out(out, sum), counts);
       }},
      {"reduce-scatter op",
       [](auto& c, bool odd, auto& in, auto& out) {
         return c.ReduceScatter(In(in, 400), Out(out, 100), odd ? ReduceOp::kMin : ReduceOp::kSum);
       }},
      {"broadcast count",
       [](auto& c, bool odd, auto&, auto& out) { return c.Broadcast(Out(out, odd ? 99 : 100), 0); }},
      {"broadcast root",
       [](auto& c, bool odd, auto&, auto& out) { return c.Broadcast(Out(out, 100), odd ? 1 : 0); }},
      {"reduce root",
       [](auto& c, bool odd, auto& in, auto& out) {
         return c.Reduce(In(in, 100), Out(out, 100), ReduceOp::kSum, odd ? 1 : 0);
       }},
      {"gather count",
       [](auto& c, bool odd, auto& in, auto& out) {
         const int64_t n = odd ? 9 : 10;
         return c.Gather(In(in, n), Out(out, 4 * n), 0);
       }},
      {"scatter root", [](auto& c, bool odd, auto& in,
                          auto& out) { return c.Scatter(In(in, 40), Out(out, 10), odd ? 3 : 0); }},
      {"alltoall count",
       [](auto& c, bool odd, auto& in, auto& out) {
         const int64_t n = odd ? 36 : 40;
         return c.AllToAll(In(in, n), Out(out, n));
       }},
      {"another operation",
       [](auto& c, bool odd, auto&, auto& out) { return odd ? c.Barrier() : c.AllReduce(Out(out, 100)); }},
  };
}

TEST(FailureTest, RanksThatDisagreeAllLearnBothSides) {
  for (const Mismatch& mismatch : Mismatches()) {
    SCOPED_TRACE(mismatch.name);
    RunRanks(4, [&](Communicator& comm) {
      std::vector<float> in(100000, 1.0f), out(100000, 1.0f);
      absl::Status status = mismatch.call(comm, comm.rank() == 2, in, out).Wait();
      // A rank whose part was already over learns of it at its next call.
      if (status.ok()) status = comm.AllReduce(Out(out, 1)).Wait();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      const std::string message(status.message());
      EXPECT_THAT(message, HasSubstr("rank 2 called")) << mismatch.name;
      EXPECT_THAT(message, HasSubstr("ranks 0, 1, 3 called")) << mismatch.name;
    });
  }
}

TEST(FailureTest, NamesTheRankThatNeverCame) {
  RunRanks(3, [&](Communicator& comm) {
    if (comm.rank() == 1) {
      while (comm.status().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    std::vector<float> values(10);
    CallOptions options;
    options.timeout = std::chrono::milliseconds(700);
    const absl::Status status = comm.AllReduce(values, ReduceOp::kSum, options).Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1")) << status;
  });
}

TEST(FailureTest, ADeadlineHoldsWhileOtherCallsFlow) {
  RunRanks(3, [&](Communicator& comm) {
    std::vector<float> sum(10), mine(1000), theirs(1000);
    Work stuck;
    if (comm.rank() != 2) {
      CallOptions options;
      options.timeout = std::chrono::seconds(1);
      stuck = comm.AllReduce(sum, ReduceOp::kSum, options);
    }
    absl::Status status = comm.status();
    while (status.ok() && comm.rank() != 2) {
      Work send = comm.Send(mine, 1 - comm.rank());
      status = comm.Recv(theirs, 1 - comm.rank()).Wait();
      if (status.ok()) status = send.Wait();
    }
    while (comm.rank() == 2 && comm.status().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    status = comm.status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  });
}

TEST(FailureTest, SendAndRecvOfDifferentSizesAreAnErrorOnBothSides) {
  RunRanks(2, [&](Communicator& comm) {
    std::vector<float> values(1000);
    absl::Status status =
        comm.rank() == 0 ? comm.Send(Out(values, 10), 1).Wait() : comm.Recv(Out(values, 11), 0).Wait();
    if (status.ok()) status = comm.Recv(Out(values, 1), 1).Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  });
}

TEST(FailureTest, AbortReachesEveryRank) {
  RunRanks(4, [&](Communicator& comm) {
    std::vector<float> values(1000);
    if (comm.rank() == 3) {
      comm.Abort("the loss is NaN");
    }
    const absl::Status status = comm.AllReduce(values).Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("rank 3"), HasSubstr("the loss is NaN")));
    EXPECT_EQ(comm.Barrier().Wait(), status) << "the first failure stays";
  });
}

TEST(FailureTest, ARankThatLeftInGoodOrderIsToldApartFromOneThatDied) {
  RunRanks(3, [&](Communicator& comm) {
    if (comm.rank() == 1) return;
    std::vector<float> values(10);
    const absl::Status status = comm.AllReduce(values).Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("finished and left"));
  });
}

// Rank `victim` of four dies in the middle of a large allreduce.
void KillOne(int victim) {
  ProcessWorld world(4, [&](Communicator& comm) {
    std::vector<float> values(16 << 20, 1.0f);
    ProcessWorld::Announce("ready");
    absl::Status status;
    while (status.ok()) status = comm.AllReduce(values).Wait();
    std::string report = absl::StrCat(absl::StatusCodeToString(status.code()), " lost ",
                                      absl::StrJoin(LostRanks(status), ","), "; ");
    absl::StatusOr<std::unique_ptr<Communicator>> rest = comm.Shrink();
    if (!rest.ok()) return absl::StrCat(report, rest.status().ToString());
    std::vector<float> ones(1000, 1.0f);
    const absl::Status again = (*rest)->AllReduce(ones).Wait();
    return absl::StrCat(report, (*rest)->world_size(), " left, ",
                        again.ok() && ones[999] == 3.0f ? "sum right" : "sum wrong");
  });
  for (int rank = 0; rank < 4; ++rank) world.AwaitAnnouncement(rank, "ready");
  usleep(50000);
  kill(world.pid(victim), SIGKILL);
  for (int rank = 0; rank < 4; ++rank)
    if (rank != victim) {
      EXPECT_EQ(world.Result(rank), absl::StrCat("UNAVAILABLE lost ", victim, "; 3 left, sum right"))
          << "rank " << rank;
    }
}

TEST(FailureTest, ADeadRankIsNamedToAllOthersAndTheyGoOn) {
  for (int victim = 0; victim < 4; ++victim) {
    SCOPED_TRACE(victim);
    KillOne(victim);
  }
}

TEST(FailureTest, AStoppedRankIsLostAfterTheHeartbeatTimeout) {
  ProcessWorld world(
      3,
      [&](Communicator& comm) {
        std::vector<float> values(1 << 20, 1.0f);
        ProcessWorld::Announce("ready");
        absl::Status status;
        while (status.ok()) status = comm.AllReduce(values).Wait();
        return absl::StrCat(absl::StatusCodeToString(status.code()), " lost ",
                            absl::StrJoin(LostRanks(status), ","));
      },
      [](int, CommunicatorOptions& options) { options.heartbeat_timeout = std::chrono::seconds(2); });
  for (int rank = 0; rank < 3; ++rank) world.AwaitAnnouncement(rank, "ready");
  kill(world.pid(1), SIGSTOP);
  EXPECT_EQ(world.Result(0), "UNAVAILABLE lost 1");
  EXPECT_EQ(world.Result(2), "UNAVAILABLE lost 1");
}

}  // namespace
}  // namespace lockstep
