#include "src/device/host_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "src/device/fake_device.h"

namespace lockstep::device {
namespace {

// A device that does nothing until the test says so.
class HostStreamTest : public testing::Test {
 protected:
  Event HeldEvent() {
    Stream stream(held_);
    stream.Enqueue([] {});
    return stream.Record();
  }
  std::shared_ptr<FakeDeviceStream> held_ =
      std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.held = true});
};

TEST_F(HostStreamTest, RunsInlineWhenNothingIsBefore) {
  Stream stream = Stream::Host();
  bool ran = false;
  stream.Enqueue([&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_TRUE(stream.Record().Done());
}

TEST_F(HostStreamTest, HoldsWorkBackBehindAnEventAndKeepsItsOrder) {
  Stream stream = Stream::Host();
  std::vector<int> order;
  stream.WaitFor(HeldEvent());
  stream.Enqueue([&] { order.push_back(1); });
  stream.Enqueue([&] { order.push_back(2); });
  const Event event = stream.Record();
  EXPECT_FALSE(event.Done());
  EXPECT_FALSE(stream.Idle());
  EXPECT_TRUE(order.empty());
  held_->Release();
  EXPECT_TRUE(event.Done());
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(stream.Idle());
}

TEST_F(HostStreamTest, RunsWhatIsDueWhenMoreIsEnqueued) {
  Stream stream = Stream::Host();
  std::vector<int> order;
  stream.WaitFor(HeldEvent());
  stream.Enqueue([&] { order.push_back(1); });
  held_->Release();
  stream.Enqueue([&] { order.push_back(2); });
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(HostStreamTest, PollingAnEarlierEventLeavesLaterWorkAlone) {
  Stream stream = Stream::Host();
  std::vector<int> order;
  stream.WaitFor(HeldEvent());
  stream.Enqueue([&] { order.push_back(1); });
  const Event first = stream.Record();
  stream.Enqueue([&] { order.push_back(2); });
  held_->Release();
  EXPECT_TRUE(first.Done());
  EXPECT_EQ(order, std::vector<int>{1});
  stream.WaitSync();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(HostStreamTest, WorkEnqueuedByWorkRunsAfterwardsNotInside) {
  Stream stream = Stream::Host();
  std::vector<int> order;
  stream.Enqueue([&] {
    stream.Enqueue([&] { order.push_back(2); });
    EXPECT_FALSE(stream.Record().Done());
    order.push_back(1);
  });
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(HostStreamTest, WorkMayDropTheLastHandle) {
  auto stream = std::make_unique<Stream>(Stream::Host());
  bool ran = false;
  Stream& handle = *stream;
  handle.Enqueue([&] {
    stream.reset();
    ran = true;
  });
  EXPECT_TRUE(ran);
}

TEST_F(HostStreamTest, DropsWhatHasNotRunWithItsLastHandle) {
  bool ran = false;
  auto captured = std::make_shared<int>(0);
  {
    Stream stream = Stream::Host();
    stream.WaitFor(HeldEvent());
    stream.Enqueue([&ran, captured] { ran = true; });
  }
  held_->ReleaseAll();
  EXPECT_FALSE(ran);
  EXPECT_EQ(captured.use_count(), 1);
}

TEST_F(HostStreamTest, RunsWorkInPlaceOnlyWhenNothingIsBefore) {
  Stream stream = Stream::Host();
  int runs = 0;
  EXPECT_TRUE(stream.impl()->TryRun([&] { ++runs; }));
  EXPECT_EQ(runs, 1);
  stream.WaitFor(HeldEvent());
  EXPECT_FALSE(stream.impl()->TryRun([&] { ++runs; }));
  held_->Release();
  EXPECT_TRUE(stream.Idle());
  EXPECT_TRUE(stream.impl()->TryRun([&] { ++runs; }));
  EXPECT_EQ(runs, 2);
}

TEST_F(HostStreamTest, TwoStreamsThatWaitForEachOtherInTurnsFinish) {
  Stream a = Stream::Host(), b = Stream::Host();
  std::vector<int> order;
  a.WaitFor(HeldEvent());
  for (int i = 0; i < 100; i += 2) {
    a.Enqueue([&order, i] { order.push_back(i); });
    b.WaitFor(a.Record());
    b.Enqueue([&order, i] { order.push_back(i + 1); });
    a.WaitFor(b.Record());
  }
  const Event last = a.Record();
  EXPECT_FALSE(last.Done());
  held_->Release();
  last.WaitSync();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_F(HostStreamTest, ALongChainOfStreamsNeedsNoDeepStack) {
  constexpr int kStreams = 50'000;
  int ran = 0;
  Event event = HeldEvent();
  for (int i = 0; i < kStreams; ++i) {
    Stream stream = Stream::Host();
    stream.WaitFor(event);
    stream.Enqueue([&ran] { ++ran; });
    event = stream.Record();
  }
  EXPECT_FALSE(event.Done());
  held_->Release();
  event.WaitSync();
  EXPECT_EQ(ran, kStreams);
}

TEST_F(HostStreamTest, ALongChainThatNeverRanIsDroppedWithoutADeepStack) {
  Event event = HeldEvent();
  for (int i = 0; i < 50'000; ++i) {
    Stream stream = Stream::Host();
    stream.WaitFor(event);
    event = stream.Record();
  }
  event = {};
}

}  // namespace
}  // namespace lockstep::device
