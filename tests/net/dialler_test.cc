#include "src/net/dialler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "src/net/socket.h"
#include "tests/net/node.h"

namespace lockstep::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// A port of this host on which nobody listens.
Address DeadAddress() {
  const UniqueFd fd = Listen({"127.0.0.1", 0}).value();
  return LocalAddress(fd.get());
}

// An address whose host does not answer: a listener with a full queue, where the kernel drops what comes.
class BlackHole {
 public:
  BlackHole() : fd_(Listen({"127.0.0.1", 0}).value()) {
    EXPECT_EQ(::listen(fd_.get(), 0), 0);
    for (int i = 0; i < 3; ++i) queued_.push_back(BeginConnect(address()).value());
  }
  Address address() const { return LocalAddress(fd_.get()); }

 private:
  UniqueFd fd_;
  std::vector<UniqueFd> queued_;
};

std::vector<Address> Before(std::vector<Address> first, const std::vector<Address>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

TEST(DiallerTest, DoesNotWaitForADeadAddress) {
  Node a(Rank(0)), b(Rank(1));
  const BlackHole hole;
  // Far less than the kernel's patience with the first address, or the dialler's with a connect.
  EXPECT_TRUE(b.Dial(Before({hole.address(), DeadAddress()}, a->addresses()), 0, seconds(4)).ok());
  EXPECT_EQ(a.WaitForAccepted().peer.rank, 1);
}

TEST(DiallerTest, ARefusalIsNotHeldUpByAnAddressThatDoesNotAnswer) {
  Node b(Rank(1));
  const BlackHole hole;
  const absl::Status status = b.Dial({DeadAddress(), hole.address()}, 0, seconds(4)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("connection refused"), HasSubstr("no answer")));
}

TEST(DiallerTest, NoAnswerAloneIsNoProofOfDeath) {
  Node b(Rank(1));
  const BlackHole hole;
  EXPECT_EQ(b.Dial({hole.address()}, 0, milliseconds(700)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(DiallerTest, TheBestAddressDecidesWhatAFailureIs) {
  Switchboard::Options other_job = Rank(0);
  other_job.secret = "another job's";
  Node stranger(other_job), b(Rank(1));
  // The peer's own address refuses; that another job answers at this host's loopback says nothing.
  EXPECT_EQ(b.Dial(Before({DeadAddress()}, stranger->addresses()), 0, seconds(4)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(b.Dial(Before(stranger->addresses(), {DeadAddress()}), 0, seconds(4)).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(DiallerTest, AStrangersPortAmongTheAddressesDoesNoHarm) {
  Switchboard::Options other_job = Rank(0);
  other_job.secret = "another job's";
  Node stranger(other_job), a(Rank(0)), b(Rank(1));
  EXPECT_TRUE(b.Dial(Before(stranger->addresses(), a->addresses()), 0, seconds(4)).ok());
}

TEST(DiallerTest, TriesAgainWhenThePeerHangsUp) {
  const UniqueFd listener = Listen({"127.0.0.1", 0}).value();
  Node b(Rank(1));
  auto dial = std::async(std::launch::async,
                         [&] { return b.Dial({LocalAddress(listener.get())}, 0, milliseconds(500)); });
  int hung_up = 0;
  while (dial.wait_for(milliseconds(1)) == std::future_status::timeout)
    if (const UniqueFd accepted(AcceptOne(listener.get())); accepted) ++hung_up;
  EXPECT_GT(hung_up, 1);
  EXPECT_THAT(Message(dial.get().status()), HasSubstr("127.0.0.1"));
}

TEST(DiallerTest, NeedsAnAddressAndTime) {
  Node a(Rank(0)), b(Rank(1));
  EXPECT_EQ(b.Dial(std::vector<Address>(), 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(b.Dial({DeadAddress()}, 0, milliseconds(0), true).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(b.Dial(a->addresses(), 0, std::chrono::nanoseconds::max()).ok());
}

}  // namespace
}  // namespace lockstep::net
