#include "lockstep/stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "src/device/fake_device.h"

namespace lockstep {
namespace {

TEST(InlineStreamTest, RunsWorkInTheCallingThreadAtOnce) {
  Stream stream;
  std::thread::id ran_in;
  stream.Enqueue([&] { ran_in = std::this_thread::get_id(); });
  EXPECT_EQ(ran_in, std::this_thread::get_id());
  EXPECT_TRUE(stream.Record().Done());
  EXPECT_TRUE(stream.Idle());
  EXPECT_EQ(stream.device(), Device{});
}

TEST(InlineStreamTest, WaitsWhereItCannotHoldWorkBack) {
  Stream late(std::make_shared<device::FakeDeviceStream>(device::FakeDeviceOptions{}));
  bool ran = false;
  late.Enqueue([&] { ran = true; });
  Stream().WaitFor(late.Record());
  EXPECT_TRUE(ran);
}

TEST(EventTest, IsCompleteWhenDefaultConstructed) {
  EXPECT_TRUE(Event().Done());
  Event().WaitSync();
}

TEST(EventTest, KeepsItsStreamAlive) {
  bool ran = false;
  Event event;
  {
    Stream stream(std::make_shared<device::FakeDeviceStream>(device::FakeDeviceOptions{}));
    stream.Enqueue([&] { ran = true; });
    event = stream.Record();
  }
  event.WaitSync();
  EXPECT_TRUE(ran);
}

TEST(EventTest, StaysDoneAndCanBeWaitedForAgain) {
  Stream stream(std::make_shared<device::FakeDeviceStream>(device::FakeDeviceOptions{}));
  stream.Enqueue([] {});
  const Event event = stream.Record();
  event.WaitSync();
  stream.Enqueue([] {});
  event.WaitSync();
  EXPECT_TRUE(event.Done());
}

}  // namespace
}  // namespace lockstep
