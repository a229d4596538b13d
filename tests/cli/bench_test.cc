#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace lockstep::cli {
namespace {

using ::testing::HasSubstr;

class BenchTest : public testing::TestWithParam<std::string> {};

TEST_P(BenchTest, ChecksEveryElementOfEveryOperation) {
  Program bench({"bench", GetParam(), "-n", "3", "-b", "4", "-e", "64K", "-f", "16", "--check", "--json",
                 "--iterations", "3", "--root", "1"});
  ASSERT_EQ(bench.Wait(), 0) << bench.err();
  const nlohmann::json report = nlohmann::json::parse(bench.out());
  EXPECT_EQ(report["op"], GetParam());
  EXPECT_EQ(report["ranks"], 3);
  EXPECT_EQ(report["dtype"], "f32");
  EXPECT_EQ(report["rows"].size(), GetParam() == "barrier" ? 1u : 4u);
  for (const auto& row : report["rows"]) {
    EXPECT_EQ(row["wrong"], 0) << row;
    EXPECT_GT(row["us_median"], 0) << row;
    EXPECT_GE(row["us_p95"], row["us_median"]) << row;
    for (const char* field : {"bytes", "count", "algorithm", "algbw_gbs", "busbw_gbs"})
      EXPECT_TRUE(row.contains(field)) << field;
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, BenchTest,
                         testing::Values("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce",
                                         "gather", "scatter", "alltoall", "sendrecv", "barrier"),
                         [](const auto& info) { return info.param; });

TEST(BenchFlagsTest, NamesTheNearestOperation) {
  Program slip({"bench", "alreduce"});
  EXPECT_EQ(slip.Wait(), 2);
  EXPECT_THAT(slip.err(), HasSubstr("did you mean allreduce?"));
}

TEST(BenchFlagsTest, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"bench"},
                                                    {"bench", "allreduce", "-f", "1"},
                                                    {"bench", "allreduce", "-b", "8", "-e", "4"},
                                                    {"bench", "allreduce", "--dtype", "f33"},
                                                    {"bench", "allreduce", "--device", "cuda"},
                                                    {"bench", "allreduce", "-n", "0"}}) {
    Program bench(arguments);
    EXPECT_EQ(bench.Wait(), 2) << testing::PrintToString(arguments);
  }
}

}  // namespace
}  // namespace lockstep::cli
