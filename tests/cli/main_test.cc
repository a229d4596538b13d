#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "lockstep/version.h"
#include "tests/cli/program.h"

namespace lockstep::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MainTest, NamesTheVerbsAndTheNearestOne) {
  Program help({"--help"});
  EXPECT_EQ(help.Wait(), 0);
  for (const char* verb : {"run", "bench", "env", "version"}) EXPECT_THAT(help.out(), HasSubstr(verb));
  Program slip({"bensh"});
  EXPECT_EQ(slip.Wait(), 2);
  EXPECT_THAT(slip.err(), HasSubstr("did you mean bench?"));
  Program nothing({});
  EXPECT_EQ(nothing.Wait(), 2);
}

TEST(MainTest, PrintsTheVersionOfTheLibrary) {
  Program version({"version"});
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_THAT(version.out(), HasSubstr(Version()));
}

TEST(EnvTest, ShowsValuesAndWhereTheyComeFrom) {
  Program env({"env", "--json"}, {"LOCKSTEP_TIMEOUT=20s", "LOCKSTEP_SECRET=hush"});
  EXPECT_EQ(env.Wait(), 0) << env.err();
  const nlohmann::json rows = nlohmann::json::parse(env.out());
  EXPECT_THAT(env.out(), Not(HasSubstr("hush")));
  int seen = 0;
  for (const auto& row : rows) {
    if (row["name"] == "LOCKSTEP_TIMEOUT") {
      ++seen;
      EXPECT_EQ(row["value"], "20s");
      EXPECT_EQ(row["source"], "environment");
    } else if (row["name"] == "LOCKSTEP_CREATION_TIMEOUT") {
      ++seen;
      EXPECT_EQ(row["value"], "5min");
      EXPECT_EQ(row["source"], "default");
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST(EnvTest, FailsOnWhatItDoesNotUnderstand) {
  Program env({"env"}, {"LOCKSTEP_TIMOUT=20s", "LOCKSTEP_BUFFER_BYTES=many"});
  EXPECT_EQ(env.Wait(), 1);
  EXPECT_THAT(env.err(), AllOf(HasSubstr("did you mean LOCKSTEP_TIMEOUT?"),
                               HasSubstr("LOCKSTEP_BUFFER_BYTES=many is not understood")));
}

}  // namespace
}  // namespace lockstep::cli
