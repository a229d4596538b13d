// Programs without a race, made of Abseil's parts that we use, and one with a race. In a thread-sanitizer
// build the first must pass unreported and the last must not; in every other build they only have to work.

#include <cstdlib>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 2000;

TEST(TsanAbseilTest, SeesThatAMutexOrders) {
  absl::Mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const absl::MutexLock lock(&mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
}

TEST(TsanAbseilTest, SeesThatConditionsAreEvaluatedUnderTheMutex) {
  absl::Mutex mutex;
  bool started = false;
  int arrived = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      mutex.LockWhen(absl::Condition(&started));
      ++arrived;
      mutex.Unlock();
    });
  }
  {
    const absl::MutexLock lock(&mutex);
    started = true;
    const auto all = [&] { return arrived == kThreads; };
    mutex.Await(absl::Condition(&all));
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&all), absl::Seconds(60)));
    EXPECT_TRUE(mutex.AwaitWithDeadline(absl::Condition(&all), absl::InfiniteFuture()));
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TsanAbseilTest, SeesThatAConditionVariableLetsGoOfTheMutex) {
  absl::Mutex mutex;
  absl::CondVar changed;
  int turn = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const absl::MutexLock lock(&mutex);
      while (turn != i) changed.WaitWithTimeout(&mutex, absl::Milliseconds(50));
      ++turn;
      changed.SignalAll();
    });
  }
  {
    const absl::MutexLock lock(&mutex);
    while (turn != kThreads) changed.Wait(&mutex);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TsanAbseilTest, SeesThatANotificationOrders) {
  int value = 0;
  absl::Notification written;
  std::thread writer([&] {
    value = 1;
    written.Notify();
  });
  written.WaitForNotification();
  EXPECT_EQ(value, 1);
  writer.join();
}

TEST(TsanAbseilTest, LetsThreadsShareAStatus) {
  absl::Status shared = absl::InternalError("shared by all threads, freed by the last");
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([mine = shared] {
      for (int round = 0; round < kRounds; ++round) {
        const absl::Status copy = mine;
        EXPECT_EQ(copy.code(), absl::StatusCode::kInternal);
      }
    });
  }
  shared = absl::OkStatus();
  for (std::thread& thread : threads) thread.join();
}

#ifdef __SANITIZE_THREAD__
TEST(TsanAbseilDeathTest, StillReportsARace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto race = [] {
    absl::Mutex mutex;
    int count = 0;
    std::thread other([&] {
      const absl::MutexLock lock(&mutex);
      ++count;
    });
    ++count;
    other.join();
    std::exit(0);
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(66), "data race");
}
#endif

}  // namespace
