#include "examples/gpt/options.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep::gpt {
namespace {

using testing::HasSubstr;

absl::StatusOr<Options> Parse(std::vector<std::string> arguments) {
  std::vector<char*> pointers = {const_cast<char*>("lockstep-gpt")};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return ParseOptions(pointers);
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  return std::string(Parse(arguments).status().message());
}

TEST(OptionsTest, TakesBothSpellings) {
  const auto options = Parse({"--data", "book.txt", "--layers=6", "--lr", "1e-3", "--prompt=a=b"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->data, "book.txt");
  EXPECT_EQ(options->layers, 6);
  EXPECT_EQ(options->learning_rate, 1e-3);
  EXPECT_EQ(options->prompt, "a=b");
}

TEST(OptionsTest, ErrorsNameTheFlagAndTheRemedy) {
  EXPECT_THAT(ErrorOf({"--data", "b", "--layer", "2"}), HasSubstr("--layer is no flag"));
  EXPECT_THAT(ErrorOf({"--data", "b", "--layers", "two"}), HasSubstr("--layers: \"two\""));
  EXPECT_THAT(ErrorOf({"--data", "b", "--layers", "2.5"}), HasSubstr("a whole number"));
  EXPECT_THAT(ErrorOf({"--data", "b", "--layers", "0"}), HasSubstr("from 1 to"));
  EXPECT_THAT(ErrorOf({"--data", "b", "--lr"}), HasSubstr("--lr has no value"));
  EXPECT_THAT(ErrorOf({"--data", "b", "--width", "100", "--heads", "3"}), HasSubstr("--heads 3"));
  EXPECT_THAT(ErrorOf({"--data", "b", "--prompt="}), HasSubstr("at least one byte"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("--data is missing"));
  EXPECT_THAT(ErrorOf({"book.txt"}), HasSubstr("\"book.txt\" is not a flag"));
}

TEST(OptionsTest, HelpNeedsNothingElseAndListsDefaults) {
  const auto options = Parse({"--help"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->help);
  const std::string help = HelpText();
  for (const char* flag : {"--data", "--layers", "--generate", "--csv", "--seed", "--threads"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
  EXPECT_THAT(help, HasSubstr("(default: " + std::to_string(Options().steps) + ")"));
}

}  // namespace
}  // namespace lockstep::gpt
