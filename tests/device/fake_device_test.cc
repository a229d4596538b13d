#include "src/device/fake_device.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace lockstep::device {
namespace {

TEST(FakeDeviceTest, NamesItsDevice) {
  const Stream stream(std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.index = 2}));
  EXPECT_EQ(stream.device(), (Device{DeviceKind::kFake, 2}));
}

TEST(FakeDeviceTest, NeverRunsWorkInsideEnqueue) {
  Stream stream(std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.min_polls = 0, .max_polls = 0}));
  bool ran = false;
  stream.Enqueue([&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_FALSE(stream.impl()->TryRun([&] { ran = true; }));
  EXPECT_FALSE(ran);
  EXPECT_TRUE(stream.Record().Done());
  EXPECT_TRUE(ran);
}

TEST(FakeDeviceTest, CompletesAfterTheChosenNumberOfPolls) {
  Stream stream(std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.min_polls = 5, .max_polls = 5}));
  stream.Enqueue([] {});
  const Event event = stream.Record();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(event.Done());
  EXPECT_TRUE(event.Done());
}

// How many polls each of a few items took.
std::vector<int> History(uint64_t seed) {
  Stream stream(
      std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.min_polls = 0, .max_polls = 9, .seed = seed}));
  std::vector<int> polls;
  for (int i = 0; i < 50; ++i) {
    stream.Enqueue([] {});
    const Event event = stream.Record();
    polls.push_back(1);
    while (!event.Done()) ++polls.back();
  }
  return polls;
}

TEST(FakeDeviceTest, OneSeedIsOneHistory) {
  EXPECT_EQ(History(7), History(7));
  EXPECT_NE(History(7), History(8));
}

TEST(FakeDeviceTest, WhileHeldRunsWhatIsReleased) {
  auto fake = std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.held = true});
  Stream stream(fake);
  int ran = 0;
  for (int i = 0; i < 3; ++i) stream.Enqueue([&] { ++ran; });
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(stream.Record().Done());
  fake->Release();
  EXPECT_EQ(ran, 1);
  fake->ReleaseAll();
  EXPECT_EQ(ran, 3);
  EXPECT_TRUE(stream.Idle());
}

TEST(FakeDeviceTest, AWaiterSleepsUntilTheRelease) {
  auto fake = std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.held = true});
  Stream stream(fake);
  bool ran = false;
  stream.Enqueue([&] { ran = true; });
  std::thread waiter([event = stream.Record()] { event.WaitSync(); });
  fake->Release();
  waiter.join();
  EXPECT_TRUE(ran);
}

TEST(FakeDeviceTest, WaitsForHostWorkThatNobodyElseRuns) {
  auto held = std::make_shared<FakeDeviceStream>(FakeDeviceOptions{.held = true});
  Stream gate(held), host = Stream::Host();
  Stream device(std::make_shared<FakeDeviceStream>(FakeDeviceOptions{}));
  std::vector<int> order;
  gate.Enqueue([&] { order.push_back(0); });
  host.WaitFor(gate.Record());
  host.Enqueue([&] { order.push_back(1); });
  device.WaitFor(host.Record());
  device.Enqueue([&] { order.push_back(2); });
  const Event event = device.Record();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(event.Done());
  held->Release();
  event.WaitSync();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace lockstep::device
