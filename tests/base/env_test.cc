#include "src/base/env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/base/scoped_variable.h"

namespace lockstep::env {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;  // NOLINT: literals

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(EnvTest, IsSortedAndItsDefaultsAreUnderstood) {
  std::string last;
  for (const Variable& variable : Variables()) {
    EXPECT_LT(last, variable.name);
    last = variable.name;
    EXPECT_THAT(last, testing::StartsWith("LOCKSTEP_"));
    ScopedVariable unset(variable.name, nullptr);
    EXPECT_TRUE(Check(variable).ok()) << Check(variable);
    EXPECT_EQ(Text(variable.name), variable.default_value);
    EXPECT_EQ(std::string(variable.help).find('|'), std::string::npos) << "would break the table of the docs";
  }
}

TEST(EnvTest, ReadsDurationsWithTheirUnits) {
  EXPECT_EQ(*ParseDuration("600s"), 600s);
  EXPECT_EQ(*ParseDuration("10min"), 10min);
  EXPECT_EQ(*ParseDuration("1.5h"), 90min);
  EXPECT_EQ(*ParseDuration("200ms"), 200ms);
  EXPECT_EQ(*ParseDuration("50us"), 50us);
  EXPECT_EQ(*ParseDuration("7ns"), 7ns);
  EXPECT_EQ(*ParseDuration("30"), 30s);
  EXPECT_EQ(*ParseDuration("2e3ms"), 2s);
  for (const char* bad : {"", "s", "ten", "5 parsecs", "-3s", "1e400", "nan", "inf", "10minutes", "1e30h"})
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
}

TEST(EnvTest, ReadsSizesAsPowersOf1024) {
  EXPECT_EQ(*ParseBytes("4"), 4);
  EXPECT_EQ(*ParseBytes("64K"), 65536);
  EXPECT_EQ(*ParseBytes("1M"), 1048576);
  EXPECT_EQ(*ParseBytes("1MiB"), 1048576);
  EXPECT_EQ(*ParseBytes("2g"), int64_t{2} << 30);
  EXPECT_EQ(*ParseBytes("1.5KiB"), 1536);
  for (const char* bad : {"", "K", "-1", "1Q", "99999999999G", "4 4"})
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
}

TEST(EnvTest, NamesTheVariableItsValueAndWhatIsAccepted) {
  ScopedVariable timeout("LOCKSTEP_TIMEOUT", "soon");
  EXPECT_THAT(Message(Duration("LOCKSTEP_TIMEOUT").status()),
              AllOf(HasSubstr("LOCKSTEP_TIMEOUT=soon"), HasSubstr("30s")));
  ScopedVariable bytes("LOCKSTEP_BUFFER_BYTES", "much");
  EXPECT_THAT(Message(Bytes("LOCKSTEP_BUFFER_BYTES").status()),
              AllOf(HasSubstr("LOCKSTEP_BUFFER_BYTES=much"), HasSubstr("64K")));
  ScopedVariable flag("LOCKSTEP_SUSPEND_DEADLINES", "maybe");
  EXPECT_THAT(Message(Flag("LOCKSTEP_SUSPEND_DEADLINES").status()), HasSubstr("0 or 1"));
  ScopedVariable number("LOCKSTEP_STORE_PORT", "http");
  EXPECT_THAT(Message(Number("LOCKSTEP_STORE_PORT").status()), HasSubstr("whole number"));
  for (const Variable& variable : Variables()) {
    ScopedVariable choice("LOCKSTEP_ALGORITHM", "rings");
    if (variable.name == std::string("LOCKSTEP_ALGORITHM")) {
      EXPECT_THAT(Message(Check(variable)),
                  AllOf(HasSubstr("LOCKSTEP_ALGORITHM=rings"), HasSubstr("ring, ")));
    }
  }
}

TEST(EnvTest, LooksAtEveryCallAndTakesEmptyForUnset) {
  ScopedVariable first("LOCKSTEP_TIMEOUT", "3s");
  EXPECT_EQ(*Duration("LOCKSTEP_TIMEOUT"), 3s);
  {
    ScopedVariable second("LOCKSTEP_TIMEOUT", "4s");
    EXPECT_EQ(*Duration("LOCKSTEP_TIMEOUT"), 4s);
  }
  ScopedVariable empty("LOCKSTEP_TIMEOUT", "");
  EXPECT_EQ(*Duration("LOCKSTEP_TIMEOUT"), 10min);
}

TEST(EnvTest, WarnsOfAnUnknownVariableWithTheNearestName) {
  ScopedVariable slip("LOCKSTEP_TIMOUT", "3s"), other("LOCKSTEP_ZZZZZZZZZZZZ", "1"),
      known("LOCKSTEP_TIMEOUT", "3s");
  EXPECT_THAT(UnknownVariables(),
              Contains(HasSubstr("LOCKSTEP_TIMOUT is not known (did you mean LOCKSTEP_TIMEOUT?)")));
  EXPECT_THAT(UnknownVariables(), Contains(AllOf(HasSubstr("LOCKSTEP_ZZZZZZZZZZZZ is not known"),
                                                 Not(HasSubstr("did you mean")))));
  EXPECT_THAT(UnknownVariables(), Not(Contains(HasSubstr("LOCKSTEP_TIMEOUT is not known"))));
}

TEST(EnvTest, FindsTheNearestNameOnlyIfItIsNear) {
  const std::vector<std::string> known = {"allreduce", "allgather", "barrier"};
  EXPECT_EQ(Nearest("alreduce", known), "allreduce");
  EXPECT_EQ(Nearest("barier", known), "barrier");
  EXPECT_EQ(Nearest("transpose", known), std::nullopt);
  EXPECT_EQ(Nearest("x", {}), std::nullopt);
}

TEST(EnvDeathTest, EndsTheProgramThatReadsAnUndeclaredVariable) {
  EXPECT_DEATH(Text("LOCKSTEP_UNDECLARED"), "LOCKSTEP_UNDECLARED is not in the table");
}

}  // namespace
}  // namespace lockstep::env
