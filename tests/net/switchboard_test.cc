#include "src/net/switchboard.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "src/net/socket.h"
#include "tests/net/log_lines.h"
#include "tests/net/node.h"

namespace lockstep::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::string ReadAll(int fd, size_t bytes) {
  std::string text(bytes, '\0');
  size_t done = 0;
  while (done < bytes) {
    const long got = ReceiveSome(fd, text.data() + done, bytes - done);
    if (got == -EAGAIN) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

// A port on which nobody listens.
Address DeadAddress() {
  const UniqueFd fd = Listen({"127.0.0.1", 0}).value();
  return LocalAddress(fd.get());
}

TEST(SwitchboardTest, ConnectsTwoRanksAndCarriesBytesBothWays) {
  Node a(Rank(0)), b(Rank(1));
  UniqueFd dialled = b.Dial(a, 0).value();
  Accepted accepted = a.WaitForAccepted();
  EXPECT_EQ(accepted.peer.rank, 1);
  EXPECT_EQ(accepted.peer.communicator, 17u);
  EXPECT_EQ(accepted.peer.lane, 1);
  ASSERT_EQ(SendSome(dialled.get(), "ping", 4), 4);
  EXPECT_EQ(ReadAll(accepted.fd.get(), 4), "ping");
  ASSERT_EQ(SendSome(accepted.fd.get(), "pong", 4), 4);
  EXPECT_EQ(ReadAll(dialled.get(), 4), "pong");
}

TEST(SwitchboardTest, LeavesBytesRightBehindTheHandshakeToTheReceiver) {
  Node a(Rank(0)), b(Rank(1));
  for (int i = 0; i < 50; ++i) {
    UniqueFd dialled = b.Dial(a, 0).value();
    ASSERT_EQ(SendSome(dialled.get(), "first bytes", 11), 11);
    EXPECT_EQ(ReadAll(a.WaitForAccepted().fd.get(), 11), "first bytes");
  }
}

TEST(SwitchboardTest, HandsOverSocketsReadyForUse) {
  Node a(Rank(0)), b(Rank(1));
  UniqueFd dialled = b.Dial(a, 0).value();
  Accepted accepted = a.WaitForAccepted();
  for (int fd : {dialled.get(), accepted.fd.get()}) {
    EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    for (auto [level, option] :
         {std::pair<int, int>(IPPROTO_TCP, TCP_NODELAY), std::pair<int, int>(SOL_SOCKET, SO_KEEPALIVE)}) {
      int value = 0;
      socklen_t bytes = sizeof value;
      ASSERT_EQ(getsockopt(fd, level, option, &value, &bytes), 0);
      EXPECT_EQ(value, 1);
    }
  }
}

TEST(SwitchboardTest, ConnectsWithoutASecretOnLoopbackOnly) {
  Switchboard::Options one = Rank(0), other = Rank(1);
  one.secret = other.secret = "";
  one.loopback_only = other.loopback_only = false;
  Node a(one), b(other);
  for (const Address& address : a->addresses()) EXPECT_TRUE(IsLoopback(address.host)) << ToString(address);
  EXPECT_TRUE(b.Dial(a, 0).ok());
}

TEST(SwitchboardTest, ReachesEveryPublishedAddress) {
  Switchboard::Options options = Rank(0);
  options.loopback_only = false;
  Node a(options), b(Rank(1));
  ASSERT_FALSE(a->addresses().empty());
  for (const Address& address : a->addresses()) EXPECT_TRUE(b.Dial({address}, 0).ok()) << ToString(address);
}

TEST(SwitchboardTest, ConnectsOverIPv6) {
  Node a(Rank(0)), b(Rank(1));
  std::vector<Address> v6;
  for (const Address& address : a->addresses())
    if (address.host == "::1") v6.push_back(address);
  if (v6.empty()) GTEST_SKIP() << "this host has no IPv6 loopback";
  EXPECT_TRUE(b.Dial(v6, 0).ok());
}

TEST(SwitchboardTest, RefusesAnotherSecretOnBothSides) {
  LogLines log;
  Switchboard::Options stranger = Rank(1);
  stranger.secret = "another";
  Node a(Rank(0, &log)), b(stranger);
  EXPECT_EQ(b.Dial(a, 0).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(a.accepted_count(), 0u);
  EXPECT_THAT(log.WaitForLine(), HasSubstr("another secret"));
}

TEST(SwitchboardTest, PrintsASettingThatDiffersOnBothSides) {
  LogLines log;
  Switchboard::Options other = Rank(1);
  other.identity.settings = "timeout=300";
  Node a(Rank(0, &log)), b(other);
  const absl::Status status = b.Dial(a, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  const std::string difference = "setting timeout: rank 0 has 600, rank 1 has 300";
  EXPECT_THAT(Message(status), HasSubstr(difference));
  EXPECT_THAT(log.WaitForLine(), HasSubstr(difference));
}

TEST(SwitchboardTest, RefusesAnotherVersionAndAnotherIncarnation) {
  LogLines log;
  Switchboard::Options older = Rank(1);
  older.identity.library_version = "0.0.9";
  Node a(Rank(0, &log)), b(older), c(Rank(2));
  EXPECT_THAT(Message(b.Dial(a, 0).status()), HasSubstr("library version"));
  EXPECT_TRUE(c.Dial(a, 0).ok());
  a->SetIncarnation(1);
  EXPECT_TRUE(c.Dial(a, 0).ok());  // does not know its own yet
  c->SetIncarnation(2);
  const absl::Status status = c.Dial(a, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("incarnation"));
}

TEST(SwitchboardTest, DoesNotTakeAnotherRankForThePeer) {
  Node a(Rank(0)), b(Rank(1));
  const absl::Status status = b.Dial(a->addresses(), 5, milliseconds(200)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("meant to reach rank 5, but rank 0 is at this address"));
  EXPECT_EQ(a.accepted_count(), 0u);
}

TEST(SwitchboardTest, FindsThePeerBehindANeighbour) {
  Node neighbour(Rank(2)), a(Rank(0)), b(Rank(1));
  std::vector<Address> addresses = neighbour->addresses();
  addresses.insert(addresses.end(), a->addresses().begin(), a->addresses().end());
  EXPECT_TRUE(b.Dial(addresses, 0).ok());
  EXPECT_EQ(a.WaitForAccepted().peer.rank, 1);
}

TEST(SwitchboardTest, TriesTheNextAddressWhenTheFirstIsDead) {
  Node a(Rank(0)), b(Rank(1));
  std::vector<Address> addresses = {DeadAddress(), {"not an address", 1}};
  addresses.insert(addresses.end(), a->addresses().begin(), a->addresses().end());
  EXPECT_TRUE(b.Dial(addresses, 0).ok());
}

TEST(SwitchboardTest, TriesTheNextAddressWhenTheFirstIsSilent) {
  // Accepts in the kernel and never answers.
  const UniqueFd silent = Listen({"127.0.0.1", 0}).value();
  Node a(Rank(0)), b(Rank(1));
  std::vector<Address> addresses = {LocalAddress(silent.get())};
  addresses.insert(addresses.end(), a->addresses().begin(), a->addresses().end());
  EXPECT_TRUE(b.Dial(addresses, 0, seconds(4)).ok());
}

TEST(SwitchboardTest, HandsOverOneConnectionPerDial) {
  Node a(Rank(0)), b(Rank(1));
  std::vector<Address> addresses;
  for (int i = 0; i < 8; ++i) addresses.insert(addresses.end(), a->addresses().begin(), a->addresses().end());
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(b.Dial(addresses, 0).ok());
  for (int i = 1; i <= 20; ++i) a.WaitForAccepted();
  // A last one comes after whatever the others left behind.
  ASSERT_TRUE(b.Dial(a, 0).ok());
  a.WaitForAccepted();
  EXPECT_EQ(a.accepted_count(), 0u);
}

TEST(SwitchboardTest, SaysThatAProcessIsGone) {
  Node b(Rank(1));
  const absl::Status status = b.Dial({DeadAddress(), DeadAddress()}, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("rank 1"), HasSubstr("rank 0"), HasSubstr("connection refused")));
}

TEST(SwitchboardTest, RetriesRefusalsUntilTheTimeoutWhenAsked) {
  Node b(Rank(1));
  const absl::Status status = b.Dial({DeadAddress()}, 0, milliseconds(150), /*retry_refused=*/true).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("connection refused"));
}

TEST(SwitchboardTest, NamesThePeerThatDoesNotAnswer) {
  const UniqueFd silent = Listen({"127.0.0.1", 0}).value();
  Node b(Rank(1));
  const absl::Status status = b.Dial({LocalAddress(silent.get())}, 3, milliseconds(100)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("rank 3"), HasSubstr("127.0.0.1"), HasSubstr("0.1 s")));
}

TEST(SwitchboardTest, RetriesWhileThePeerHasNoHandlerForTheRole) {
  Node a(Rank(0)), b(Rank(1));
  EXPECT_EQ(b.Dial(a->addresses(), 0, milliseconds(100), false, Role::kControl).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  std::future<absl::StatusOr<UniqueFd>> dial = std::async(
      std::launch::async, [&] { return b.Dial(a->addresses(), 0, seconds(10), false, Role::kControl); });
  absl::Notification accepted;
  a->OnAccept(Role::kControl, [&](const Hello&, UniqueFd) { accepted.Notify(); });
  EXPECT_TRUE(dial.get().ok());
  accepted.WaitForNotification();
  a->OnAccept(Role::kControl, nullptr);
}

TEST(SwitchboardTest, DestructionDropsPendingDialsAndRunsNoHandlerAfterwards) {
  const UniqueFd silent = Listen({"127.0.0.1", 0}).value();
  auto witness = std::make_shared<int>(0);
  {
    Node b(Rank(1));
    Hello hello;
    for (int i = 0; i < 20; ++i)
      b->Dial({LocalAddress(silent.get())}, hello, seconds(60), true,
              [witness](absl::StatusOr<UniqueFd>) { ++*witness; });
    b->RunSync([] {});
  }
  EXPECT_EQ(*witness, 0);
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(SwitchboardTest, MayBeDestroyedOnItsOwnThread) {
  absl::Notification done;
  std::shared_ptr<Switchboard> switchboard = Switchboard::Start(Rank(0)).value();
  Switchboard* raw = switchboard.get();
  raw->Post([switchboard = std::move(switchboard), &done]() mutable {
    switchboard.reset();
    done.Notify();
  });
  done.WaitForNotification();
}

TEST(SwitchboardTest, SurvivesAHandlerThatThrows) {
  LogLines log;
  Node a(Rank(0, &log));
  a->Post([] { throw std::runtime_error("a bug in a handler"); });
  EXPECT_THAT(log.WaitForLine(), HasSubstr("a bug in a handler"));
  a->RunSync([] {});
}

TEST(SwitchboardTest, RunsWorkOnTheControlThread) {
  Node a(Rank(0));
  EXPECT_FALSE(a->OnControlThread());
  char name[16] = "";
  a->RunSync([&] {
    EXPECT_TRUE(a->OnControlThread());
    a->RunSync([&] { pthread_getname_np(pthread_self(), name, sizeof name); });
  });
  EXPECT_STREQ(name, "lockstep-ctl");
}

TEST(SwitchboardTest, UnknownInterfacesAreAnError) {
  Switchboard::Options options = Rank(0);
  options.loopback_only = false;
  options.interface_filter = "=nosuch0";
  const absl::Status status = Switchboard::Start(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("LOCKSTEP_SOCKET_IFNAME=\"=nosuch0\""));
}

}  // namespace
}  // namespace lockstep::net
