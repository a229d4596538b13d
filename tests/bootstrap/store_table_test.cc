#include "src/bootstrap/store_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lockstep::bootstrap {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreTableTest : public ::testing::Test {
 protected:
  // The status and value that came for the request, which must have been answered.
  Response Answer(uint64_t id) {
    for (const auto& [client, response] : sent_)
      if (response.id == id) return response;
    ADD_FAILURE() << "request " << id << " was not answered";
    return {};
  }
  std::string Text(uint64_t id) { return std::string(Answer(id).status.message()); }

  void Set(const std::string& key, const std::string& value, uint64_t id = 1000) {
    table_.Handle(1, {.kind = Request::Kind::kSet, .id = id, .keys = {key}, .value = value}, now_);
  }
  void Get(StoreTable::Client client, uint64_t id, const std::string& key, seconds timeout = seconds(10)) {
    table_.Handle(client,
                  {.kind = Request::Kind::kGet, .id = id, .timeout_ns = Nanoseconds(timeout), .keys = {key}},
                  now_);
  }
  void Barrier(StoreTable::Client client, uint64_t id, int rank, int count, seconds timeout = seconds(10)) {
    table_.Handle(client,
                  {.kind = Request::Kind::kBarrier,
                   .id = id,
                   .rank = rank,
                   .number = count,
                   .timeout_ns = Nanoseconds(timeout),
                   .keys = {"b"}},
                  now_);
  }
  static int64_t Nanoseconds(seconds time) { return std::chrono::nanoseconds(time).count(); }

  StoreTable::Clock::time_point now_{};
  std::vector<std::pair<StoreTable::Client, Response>> sent_;
  StoreTable table_{
      [this](StoreTable::Client client, const Response& response) { sent_.emplace_back(client, response); },
      4096};
};

TEST_F(StoreTableTest, AnswersAWaitWhenItsLastKeyIsSet) {
  table_.Handle(2,
                {.kind = Request::Kind::kWait,
                 .id = 7,
                 .timeout_ns = Nanoseconds(seconds(10)),
                 .keys = {"a", "b", "a"}},
                now_);
  Set("a", "1");
  EXPECT_THAT(sent_, SizeIs(1));  // of the Set
  Set("b", "2");
  EXPECT_TRUE(Answer(7).status.ok());
  EXPECT_EQ(table_.waiting(), 0u);
  EXPECT_EQ(table_.next_deadline(), std::nullopt);
}

TEST_F(StoreTableTest, ExpiresWaitsInTheOrderOfTheirDeadlines) {
  Get(2, 1, "x", seconds(5));
  Get(3, 2, "x", seconds(3));
  EXPECT_EQ(table_.next_deadline(), now_ + seconds(3));
  table_.Expire(now_ + seconds(2));
  EXPECT_THAT(sent_, IsEmpty());
  table_.Expire(now_ + seconds(3));
  EXPECT_EQ(sent_.back().first, 3u);
  EXPECT_EQ(Text(2), "nobody set key \"x\" within 3 s");
  Set("x", "late");
  EXPECT_EQ(Answer(1).value, "late");
}

TEST_F(StoreTableTest, CountsWhatItHolds) {
  Set("key", std::string(1000, 'v'));
  EXPECT_EQ(table_.bytes(), 3 + 1000 + StoreTable::kEntryBytes);
  Set("key", "v");
  EXPECT_EQ(table_.bytes(), 3 + 1 + StoreTable::kEntryBytes);
  Set("other", std::string(5000, 'v'), 9);
  EXPECT_EQ(Answer(9).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(9), AllOf(HasSubstr("\"other\""), HasSubstr("5000 bytes"), HasSubstr("4096")));
  table_.Handle(1, {.kind = Request::Kind::kDelete, .keys = {"key"}}, now_);
  EXPECT_EQ(table_.bytes(), 0u);
}

TEST_F(StoreTableTest, BoundsTheWaitsOfOneClient) {
  for (uint64_t id = 0; id <= StoreTable::kMaxWaiting; ++id) Get(5, id, "never");
  EXPECT_EQ(Answer(StoreTable::kMaxWaiting).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(table_.waiting(), StoreTable::kMaxWaiting);
  table_.Forget(5);
  EXPECT_EQ(table_.waiting(), 0u);
  EXPECT_EQ(table_.next_deadline(), std::nullopt);
}

TEST_F(StoreTableTest, BarrierMayBeUsedAgainUnderTheSameName) {
  for (uint64_t round = 0; round < 3; ++round) {
    Barrier(1, 10 * round + 1, 0, 2);
    EXPECT_EQ(table_.waiting(), 1u);
    Barrier(2, 10 * round + 2, 1, 2);
    EXPECT_TRUE(Answer(10 * round + 1).status.ok());
    EXPECT_TRUE(Answer(10 * round + 2).status.ok());
  }
}

TEST_F(StoreTableTest, BarrierNamesWhoIsMissing) {
  Barrier(1, 1, 2, 4, seconds(1));
  Barrier(2, 2, 0, 4, seconds(2));
  table_.Expire(now_ + seconds(1));
  EXPECT_EQ(Text(1), "barrier \"b\": 2 of 4 ranks came, ranks 1, 3 did not within 1 s");
  table_.Forget(2);
  Barrier(1, 3, 1, 2, seconds(1));
  table_.Expire(now_ + seconds(1));
  EXPECT_EQ(Text(3), "barrier \"b\": 1 of 2 ranks came, rank 0 did not within 1 s");
}

TEST_F(StoreTableTest, BarrierOfALargeWorldNamesSomeAndCountsTheRest) {
  Barrier(1, 1, 0, 1000, seconds(1));
  table_.Expire(now_ + seconds(1));
  EXPECT_THAT(Text(1),
              AllOf(HasSubstr("1 of 1000 ranks came, ranks 1, 2, 3"), HasSubstr("and 983 more did not")));
}

TEST_F(StoreTableTest, BarrierRefusesCallersThatDisagree) {
  Barrier(1, 1, 0, 3);
  Barrier(2, 2, 1, 2);
  EXPECT_EQ(Answer(2).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(2), AllOf(HasSubstr("rank 1 entered for 2"), HasSubstr("rank 0 waits in it for 3")));
  Barrier(2, 3, 0, 3);  // the same rank again
  EXPECT_EQ(Answer(3).status.code(), absl::StatusCode::kFailedPrecondition);
  Barrier(2, 4, 1, 0);
  EXPECT_EQ(Answer(4).status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table_.waiting(), 1u);
}

TEST_F(StoreTableTest, RefusesACounterThatWouldOverflow) {
  Set("n", absl::StrCat(std::numeric_limits<int64_t>::max()));
  table_.Handle(1, {.kind = Request::Kind::kAdd, .id = 5, .number = 1, .keys = {"n"}}, now_);
  EXPECT_EQ(Answer(5).status.code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace lockstep::bootstrap
