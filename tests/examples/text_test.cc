#include "examples/gpt/text.h"

#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep::gpt {
namespace {

using testing::HasSubstr;

std::string WriteFile(const std::string& name, int64_t bytes) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "_" + name;
  std::ofstream file(path, std::ios::binary);
  for (int64_t i = 0; i < bytes; ++i) file.put(static_cast<char>(i * 7 % 251));
  return path;
}

int32_t ByteAt(int64_t i) { return static_cast<int32_t>(i * 7 % 251); }

TEST(TextTest, ValidationWindowsTileTheLastTwentieth) {
  const absl::StatusOr<Text> text = Text::Load(WriteFile("tile.txt", 2010), 8);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->validation_bytes(), 100);
  ASSERT_EQ(text->ValidationWindows(8), 13);
  std::vector<int32_t> tokens(8), targets(8), seen;
  for (int64_t w = 0; w < 13; ++w) {
    text->ValidationWindow(w, absl::MakeSpan(tokens), absl::MakeSpan(targets));
    for (size_t i = 0; i < 8; ++i) {
      if (targets[i] < 0) continue;
      EXPECT_EQ(tokens[i], ByteAt(1910 + static_cast<int64_t>(seen.size()) - 1));
      seen.push_back(targets[i]);
    }
  }
  ASSERT_EQ(seen.size(), 100u);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(seen[i], ByteAt(1910 + i));
}

TEST(TextTest, AWindowBehindTheEndHasNoTargets) {
  const absl::StatusOr<Text> text = Text::Load(WriteFile("behind.txt", 2010), 8);
  ASSERT_TRUE(text.ok()) << text.status();
  std::vector<int32_t> tokens(8), targets(8);
  text->ValidationWindow(13, absl::MakeSpan(tokens), absl::MakeSpan(targets));
  EXPECT_THAT(targets, testing::Each(-1));
}

TEST(TextTest, TargetsOfATrainingWindowAreTheNextBytes) {
  const absl::StatusOr<Text> text = Text::Load(WriteFile("next.txt", 1000), 4);
  ASSERT_TRUE(text.ok()) << text.status();
  std::vector<int32_t> tokens(4), targets(4);
  text->TrainingWindow(20, absl::MakeSpan(tokens), absl::MakeSpan(targets));
  EXPECT_THAT(tokens, testing::ElementsAre(ByteAt(20), ByteAt(21), ByteAt(22), ByteAt(23)));
  EXPECT_THAT(targets, testing::ElementsAre(ByteAt(21), ByteAt(22), ByteAt(23), ByteAt(24)));
}

TEST(TextTest, SaysWhatIsWrongWithAFile) {
  const absl::Status missing = Text::Load("/no/such/book.txt", 8).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/no/such/book.txt"));
  const absl::Status small = Text::Load(WriteFile("small.txt", 50), 128).status();
  EXPECT_EQ(small.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(small.message()), HasSubstr("--context"));
}

TEST(WindowOrderTest, AnEpochVisitsEachWindowOnce) {
  constexpr int64_t kBytes = 1000, kContext = 16;
  WindowOrder order(kBytes, kContext, 9);
  std::set<int64_t> starts;
  for (int i = 0; i < 61; ++i) {
    const int64_t start = order.Next();
    EXPECT_LT(start + kContext, kBytes);
    EXPECT_TRUE(starts.insert(start).second);
  }
  EXPECT_EQ(*starts.rbegin() - *starts.begin(), 60 * kContext);
}

TEST(WindowOrderTest, TheSeedDecides) {
  WindowOrder a(100000, 16, 1), b(100000, 16, 1), c(100000, 16, 2);
  bool differs = false;
  for (int i = 0; i < 20000; ++i) {  // several epochs
    const int64_t start = a.Next();
    ASSERT_EQ(start, b.Next());
    differs |= start != c.Next();
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace lockstep::gpt
