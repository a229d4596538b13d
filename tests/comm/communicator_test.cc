#include "lockstep/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "src/device/fake_device.h"
#include "tests/support/world.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using testing::RunRanks;

std::vector<float> Ramp(int rank, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<float>((i % 997) * (rank + 1));
  return values;
}

void ExpectSum(const std::vector<float>& values, int world_size) {
  const int factor = world_size * (world_size + 1) / 2;
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<float>(static_cast<int>(i % 997) * factor)) << "element " << i;
}

TEST(CommunicatorTest, IsAWorldOfOneWithoutALauncher) {
  CommunicatorOptions options;
  options.rank = 0;
  options.world_size = 1;
  absl::StatusOr<std::unique_ptr<Communicator>> comm = Communicator::Create(options);
  ASSERT_TRUE(comm.ok()) << comm.status();
  std::vector<float> values = {1, 2, 3};
  ASSERT_TRUE((*comm)->AllReduce(values, ReduceOp::kAvg).Wait().ok());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  ASSERT_TRUE((*comm)->Barrier().Wait().ok());
  absl::StatusOr<std::unique_ptr<Communicator>> part = (*comm)->Split(0, 0);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ((*part)->world_size(), 1);
  absl::StatusOr<std::unique_ptr<Communicator>> rest = (*comm)->Shrink();
  ASSERT_TRUE(rest.ok()) << rest.status();
}

TEST(CommunicatorTest, AllReducesOnAnyWorldSize) {
  for (int world_size : {2, 3, 4, 5, 8}) {
    RunRanks(world_size, [&](Communicator& comm) {
      for (int64_t count : {0, 1, 3, 1000, 65537, 1000003}) {
        std::vector<float> values = Ramp(comm.rank(), count);
        ASSERT_TRUE(comm.AllReduce(values).Wait().ok());
        ExpectSum(values, world_size);
      }
    });
  }
}

TEST(CommunicatorTest, RunsManyPendingCallsInOrderWithoutAWaiter) {
  RunRanks(3, [&](Communicator& comm) {
    std::vector<std::vector<float>> buffers;
    std::vector<Work> works;
    for (int i = 0; i < 20; ++i) buffers.push_back(Ramp(comm.rank(), 5000 + i));
    for (std::vector<float>& buffer : buffers) works.push_back(comm.AllReduce(buffer));
    while (!works.back().Test()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (size_t i = 0; i < works.size(); ++i) {
      ASSERT_TRUE(works[i].status().ok()) << works[i].status();
      EXPECT_EQ(works[i].sequence(), i + 1);
      ExpectSum(buffers[i], 3);
    }
  });
}

TEST(CommunicatorTest, TheProgressThreadFinishesADroppedWork) {
  RunRanks(2, [&](Communicator& comm) {
    std::vector<float> values = Ramp(comm.rank(), 100000);
    (void)comm.AllReduce(values);
    std::vector<float> last(1);
    ASSERT_TRUE(comm.AllReduce(last).Wait().ok());
    ExpectSum(values, 2);
  });
}

TEST(CommunicatorTest, WaitMayBeCalledFromManyThreadsAndManyTimes) {
  RunRanks(2, [&](Communicator& comm) {
    std::vector<float> values = Ramp(comm.rank(), 300000);
    Work work = comm.AllReduce(values);
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i)
      waiters.emplace_back([work]() mutable {
        EXPECT_TRUE(work.Wait().ok());
        EXPECT_TRUE(work.Wait().ok());
      });
    for (std::thread& waiter : waiters) waiter.join();
    ExpectSum(values, 2);
  });
}

TEST(CommunicatorTest, SendAndRecvRunBesideCollectivesInBothDirectionsAtOnce) {
  RunRanks(4, [&](Communicator& comm) {
    const int next = (comm.rank() + 1) % 4, previous = (comm.rank() + 3) % 4;
    std::vector<float> out = Ramp(comm.rank(), 2000000), in(2000000), sum = Ramp(comm.rank(), 1000);
    Work send = comm.Send(out, next);  // everybody sends first: too large for any socket buffer
    Work reduce = comm.AllReduce(sum);
    Work receive = comm.Recv(in, previous);
    ASSERT_TRUE(send.Wait().ok());
    ASSERT_TRUE(receive.Wait().ok());
    ASSERT_TRUE(reduce.Wait().ok());
    EXPECT_EQ(in, Ramp(previous, 2000000));
    ExpectSum(sum, 4);
  });
}

TEST(CommunicatorTest, SplitsIntoGroupsThatWorkIndependently) {
  RunRanks(5, [&](Communicator& comm) {
    absl::StatusOr<std::unique_ptr<Communicator>> half = comm.Split(comm.rank() % 2, -comm.rank());
    ASSERT_TRUE(half.ok()) << half.status();
    const int size = comm.rank() % 2 == 0 ? 3 : 2;
    EXPECT_EQ((*half)->world_size(), size);
    EXPECT_EQ((*half)->rank(), size - 1 - comm.rank() / 2);
    std::vector<float> values = Ramp((*half)->rank(), 4000);
    ASSERT_TRUE((*half)->AllReduce(values).Wait().ok());
    ExpectSum(values, size);
    absl::StatusOr<std::unique_ptr<Communicator>> none = comm.Split(comm.rank() == 0 ? -1 : 0, 0);
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(*none == nullptr, comm.rank() == 0);
  });
}

TEST(CommunicatorTest, TwoCommunicatorsWorkFromTwoThreadsAtOnce) {
  RunRanks(3, [&](Communicator& comm) {
    absl::StatusOr<std::unique_ptr<Communicator>> other = comm.Split(0, comm.rank());
    ASSERT_TRUE(other.ok());
    const auto loop = [](Communicator& one) {
      for (int i = 0; i < 50; ++i) {
        std::vector<float> values = Ramp(one.rank(), 1 + i * 997);
        ASSERT_TRUE(one.AllReduce(values).Wait().ok());
        ExpectSum(values, 3);
      }
    };
    std::thread thread([&] { loop(**other); });
    loop(comm);
    thread.join();
  });
}

TEST(CommunicatorTest, StartsAfterWhatTheStreamHolds) {
  RunRanks(2, [&](Communicator& comm) {
    Stream stream(std::make_shared<device::FakeDeviceStream>(
        device::FakeDeviceOptions{}));  // runs nothing before it is polled
    std::vector<float> values(1000, 0.0f);
    stream.Enqueue([&] {
      const std::vector<float> ramp = Ramp(comm.rank(), 1000);
      std::copy(ramp.begin(), ramp.end(), values.begin());
    });
    CallOptions options;
    options.stream = stream;
    ASSERT_TRUE(comm.AllReduce(values, ReduceOp::kSum, options).Wait().ok());
    ExpectSum(values, 2);
  });
}

TEST(CommunicatorTest, RefusesArgumentsThatAreWrongByThemselves) {
  RunRanks(2, [&](Communicator& comm) {
    std::vector<float> two(2), three(3);
    std::vector<int32_t> integers(2);
    const auto expect = [](Work work, const char* what) {
      EXPECT_EQ(work.Wait().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(work.status().message()), HasSubstr(what));
    };
    expect(comm.AllReduce(two, three, ReduceOp::kSum), "output has 3 elements, 2 are needed");
    expect(comm.AllReduce(integers, ReduceOp::kAvg), "avg of i32");
    expect(comm.AllReduce(two, integers, ReduceOp::kSum), "input is f32 but output is i32");
    expect(comm.AllGather(two, three), "world size x input");
    expect(comm.Broadcast(two, 2), "root 2 is not a rank");
    expect(comm.Send(two, comm.rank()), "cannot send to itself");
    expect(comm.AllGatherV(two, three, {2, -1}), "counts[1] is negative");
    expect(comm.AllGatherV(two, three, {2}), "counts has 1 entries");
    expect(comm.AllReduce(TensorView(nullptr, DType::kF32, 3)), "has no memory");
    expect(comm.AllToAll(two, two), "overlap");
    ASSERT_TRUE(comm.AllReduce(two).Wait().ok()) << "a wrong call must leave the communicator usable";
  });
}

TEST(CommunicatorTest, AWorkOutlivesItsCommunicator) {
  std::vector<Work> works(2);
  RunRanks(2, [&](Communicator& comm) {
    std::vector<float> values = Ramp(comm.rank(), 10);
    works[static_cast<size_t>(comm.rank())] = comm.AllReduce(values);
    ASSERT_TRUE(works[static_cast<size_t>(comm.rank())].Wait().ok());
  });
  for (Work& work : works) {
    EXPECT_TRUE(work.Test());
    EXPECT_TRUE(work.Wait().ok());
    EXPECT_GE(work.timing().ended, work.timing().enqueued);
  }
}

}  // namespace
}  // namespace lockstep
