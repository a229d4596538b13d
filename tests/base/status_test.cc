#include "lockstep/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/base/lost_ranks.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StatusTest, LostRanksTravelWithTheStatus) {
  const absl::Status status = LostRanksError({3, 11}, "ranks 3 and 11 are lost");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(LostRanks(status), ElementsAre(3, 11));
  EXPECT_THAT(LostRanks(absl::UnavailableError("no ranks named")), IsEmpty());
  EXPECT_THAT(LostRanks(absl::OkStatus()), IsEmpty());
}

absl::StatusOr<std::string> Half(int number) {
  if (number % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::to_string(number / 2);
}

absl::Status Quarter(int number, std::string* result) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string half, Half(number));
  LOCKSTEP_ASSIGN_OR_RETURN(*result, Half(std::stoi(half)));
  LOCKSTEP_RETURN_IF_ERROR(absl::OkStatus());
  return absl::OkStatus();
}

TEST(StatusTest, MacrosReturnTheFirstErrorAndElseGoOn) {
  std::string result = "untouched";
  EXPECT_EQ(Quarter(3, &result).message(), "odd");
  EXPECT_EQ(Quarter(2, &result).message(), "odd");
  EXPECT_EQ(result, "untouched");
  EXPECT_TRUE(Quarter(8, &result).ok());
  EXPECT_EQ(result, "2");
}

}  // namespace
}  // namespace lockstep
