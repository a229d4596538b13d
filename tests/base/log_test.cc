#include "src/base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/scoped_variable.h"

namespace lockstep::log {
namespace {

std::string Written(Level level, const std::string& message) {
  testing::internal::CaptureStderr();
  Write(level, message);
  return testing::internal::GetCapturedStderr();
}

class LogTest : public testing::Test {
  ScopedVariable rank_{"RANK", nullptr}, slurm_{"SLURM_PROCID", nullptr},
      open_mpi_{"OMPI_COMM_WORLD_RANK", nullptr}, pmi_{"PMI_RANK", nullptr},
      restarts_{"LOCKSTEP_RESTART_COUNT", nullptr}, level_{"LOCKSTEP_LOG_LEVEL", nullptr};
};

TEST_F(LogTest, WritesErrorsAndWarningsUnlessAskedForMore) {
  EXPECT_EQ(Written(Level::kError, "a"), "lockstep error: a\n");
  EXPECT_EQ(Written(Level::kWarning, "b"), "lockstep warning: b\n");
  EXPECT_EQ(Written(Level::kInfo, "c"), "");
  ScopedVariable level("LOCKSTEP_LOG_LEVEL", "debug");
  EXPECT_EQ(Written(Level::kDebug, "d"), "lockstep debug: d\n");
}

TEST_F(LogTest, WritesErrorsOnlyWhenAskedTo) {
  ScopedVariable level("LOCKSTEP_LOG_LEVEL", "error");
  EXPECT_TRUE(Enabled(Level::kError));
  EXPECT_FALSE(Enabled(Level::kWarning));
  EXPECT_EQ(Written(Level::kWarning, "b"), "");
}

TEST_F(LogTest, NamesTheRankWhereTheLauncherDoes) {
  ScopedVariable rank("RANK", "3");
  EXPECT_EQ(Written(Level::kWarning, "b"), "lockstep [rank 3] warning: b\n");
  ScopedVariable marked_already("LOCKSTEP_RESTART_COUNT", "0");
  EXPECT_EQ(Written(Level::kWarning, "b"), "lockstep warning: b\n");
}

TEST_F(LogTest, MakesOneLineOfEveryRecord) {
  EXPECT_EQ(Written(Level::kError, "two\nlines"), "lockstep error: two lines\n");
}

TEST_F(LogTest, NeverMixesLinesOfThreads) {
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (char letter : {'a', 'b', 'c', 'd'})
    threads.emplace_back([letter] {
      for (int i = 0; i < 200; ++i) Write(Level::kError, std::string(1000, letter));
    });
  for (std::thread& thread : threads) thread.join();
  const std::string text = testing::internal::GetCapturedStderr();
  const std::string head = "lockstep error: ";
  ASSERT_EQ(text.size(), 800 * (head.size() + 1001));
  for (size_t at = 0; at < text.size(); at += head.size() + 1001) {
    const std::string line = text.substr(at, head.size() + 1001);
    ASSERT_EQ(line, head + std::string(1000, line[head.size()]) + "\n");
  }
}

}  // namespace
}  // namespace lockstep::log
