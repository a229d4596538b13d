#include "src/net/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Hello SomeHello() {
  Hello hello;
  hello.role = Role::kControl;
  hello.rank = 3;
  hello.peer_rank = 1;
  hello.incarnation = 0x123456789abcdef0;
  hello.library_version = "0.1.0";
  hello.settings = "timeout=600;determinism=fast";
  hello.communicator = 99;
  hello.lane = 1;
  hello.stripe = 2;
  return hello;
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(HelloTest, RoundTrips) {
  EXPECT_EQ(DecodeHello(EncodeHello(SomeHello())).value(), SomeHello());
  EXPECT_EQ(DecodeHello(EncodeHello(Hello())).value(), Hello());
}

TEST(HelloTest, CutsStringsToTheirMaximum) {
  Hello hello = SomeHello();
  hello.settings.assign(100000, 'x');
  hello.library_version.assign(1000, '1');
  const std::string bytes = EncodeHello(hello);
  EXPECT_LE(bytes.size(), kMaxHelloBytes);
  EXPECT_EQ(DecodeHello(bytes).value().settings.size(), kMaxSettingsBytes);
}

TEST(HelloTest, RejectsEveryTruncationAndExtension) {
  const std::string good = EncodeHello(SomeHello());
  for (size_t bytes = 0; bytes < good.size(); ++bytes)
    EXPECT_FALSE(DecodeHello(good.substr(0, bytes)).ok()) << bytes;
  EXPECT_FALSE(DecodeHello(good + "x").ok());
  EXPECT_FALSE(DecodeHello(std::string(1 << 20, '\0')).ok());
}

TEST(HelloTest, RejectsUnknownRoles) {
  std::string bytes = EncodeHello(SomeHello());
  for (char role : {'\0', '\4', '\xff'}) {
    bytes[0] = role;
    EXPECT_EQ(DecodeHello(bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(CompareHellosTest, AcceptsTheSameAndAnUnknownIncarnation) {
  Hello mine = SomeHello(), theirs = SomeHello();
  mine.peer_rank = theirs.rank;
  theirs.peer_rank = -1;
  EXPECT_TRUE(CompareHellos(mine, theirs).ok());
  theirs.incarnation = 0;
  EXPECT_TRUE(CompareHellos(mine, theirs).ok());
  theirs.settings = "determinism=fast;timeout=600";  // the order says nothing
  EXPECT_TRUE(CompareHellos(mine, theirs).ok());
}

TEST(CompareHellosTest, NamesEachSettingThatDiffersWithBothValues) {
  Hello mine = SomeHello(), theirs = SomeHello();
  mine.rank = 0;
  mine.peer_rank = theirs.peer_rank = -1;
  theirs.settings = "timeout=300;determinism=fast;wire=bf16";
  theirs.library_version = "0.2.0";
  theirs.protocol_version = 2;
  const absl::Status status = CompareHellos(mine, theirs);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("setting timeout: rank 0 has 600, rank 3 has 300"),
                                     HasSubstr("setting wire: rank 0 has none, rank 3 has bf16"),
                                     HasSubstr("library version: rank 0 has 0.1.0, rank 3 has 0.2.0"),
                                     HasSubstr("protocol version: rank 0 has 1, rank 3 has 2"),
                                     Not(HasSubstr("determinism"))));
}

TEST(CompareHellosTest, RefusesAnotherIncarnation) {
  Hello mine = SomeHello(), theirs = SomeHello();
  mine.peer_rank = theirs.peer_rank = -1;
  theirs.incarnation = 5;
  const absl::Status status = CompareHellos(mine, theirs);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("incarnation"));
}

TEST(CompareHellosTest, RefusesTheWrongRankOnBothSides) {
  Hello mine = SomeHello(), theirs = SomeHello();
  theirs.rank = 2;  // mine means rank 1
  theirs.peer_rank = -1;
  EXPECT_EQ(CompareHellos(mine, theirs).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CompareHellos(theirs, mine).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CompareHellos(theirs, mine).message(), CompareHellos(mine, theirs).message());
}

TEST(CompareHellosTest, KeepsControlCharactersOffTheTerminal) {
  Hello mine = SomeHello(), theirs = SomeHello();
  mine.peer_rank = theirs.peer_rank = -1;
  theirs.settings = "timeout=\x1b[2J";
  EXPECT_THAT(Message(CompareHellos(mine, theirs)), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace lockstep::net
