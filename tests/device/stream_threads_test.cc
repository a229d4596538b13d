#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "lockstep/stream.h"
#include "src/device/fake_device.h"

namespace lockstep {
namespace {

TEST(StreamThreadsTest, ItemsOfSeveralThreadsRunOneAtATimeAndInEachThreadsOrder) {
  constexpr int kThreads = 4, kItems = 2000;
  Stream stream = Stream::Host();
  std::atomic<int> running{0};
  std::vector<std::vector<int>> seen(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t, stream]() mutable {
      for (int i = 0; i < kItems; ++i) {
        stream.Enqueue([&, t, i] {
          EXPECT_EQ(running.fetch_add(1), 0);
          seen[static_cast<size_t>(t)].push_back(i);
          running.fetch_sub(1);
        });
        if (i % 64 == 0) stream.Record().WaitSync();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stream.WaitSync();
  for (const std::vector<int>& order : seen) {
    ASSERT_EQ(order.size(), static_cast<size_t>(kItems));
    for (int i = 0; i < kItems; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  }
}

TEST(StreamThreadsTest, AWaiterSleepsWhileAnotherThreadRunsTheItem) {
  Stream stream = Stream::Host();
  std::atomic<bool> started{false}, finish{false};
  bool ran = false;
  std::thread runner([&] {
    stream.Enqueue([&] {
      started = true;
      started.notify_one();
      finish.wait(false);
      ran = true;
    });
  });
  started.wait(false);
  const Event event = stream.Record();
  EXPECT_FALSE(event.Done());
  std::thread waiter([&] {
    event.WaitSync();
    EXPECT_TRUE(ran);
  });
  finish = true;
  finish.notify_one();
  waiter.join();
  runner.join();
}

// Streams of both kinds, threads that enqueue, record, wait for one another's events, poll and wait.
class Mesh {
 public:
  explicit Mesh(uint64_t seed) {
    for (int i = 0; i < 3; ++i) streams_.push_back(Stream::Host());
    streams_.emplace_back(
        std::make_shared<device::FakeDeviceStream>(device::FakeDeviceOptions{.seed = seed}));
  }

  void RunThread(uint64_t seed, int steps) {
    std::mt19937_64 random(seed);
    std::vector<Event> events(8);
    for (int i = 0; i < steps; ++i) {
      const size_t s = random() % streams_.size();
      Event& event = events[random() % events.size()];
      switch (random() % 5) {
        case 0:
          streams_[s].WaitFor(event);
          break;
        case 1:
          event.WaitSync();
          break;
        case 2:
          event.Done();
          break;
        default:
          streams_[s].Enqueue([this, s] { ++counters_[s]; });
          ++enqueued_[s];
          event = streams_[s].Record();
      }
    }
  }

  void ExpectAllRan() {
    for (size_t s = 0; s < streams_.size(); ++s) {
      streams_[s].WaitSync();
      EXPECT_EQ(counters_[s], enqueued_[s].load());
    }
  }

 private:
  std::vector<Stream> streams_;
  int counters_[4] = {};  // not atomic: a stream's items run one after another
  std::atomic<int> enqueued_[4] = {};
};

TEST(StreamThreadsTest, RandomProgramsOfSeveralThreadsFinish) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Mesh mesh(seed);
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t)
      threads.emplace_back([&mesh, seed, t] { mesh.RunThread(seed * 100 + t, 1000); });
    for (std::thread& thread : threads) thread.join();
    mesh.ExpectAllRan();
  }
}

}  // namespace
}  // namespace lockstep
