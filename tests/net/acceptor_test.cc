#include "src/net/acceptor.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "src/net/socket.h"

namespace lockstep::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// An acceptor whose thread is the test's: it runs when told to.
class AcceptorTest : public ::testing::Test {
 protected:
  void Start(size_t max_unproven, std::chrono::nanoseconds limit) {
    std::vector<UniqueFd> listeners = ListenOnBothFamilies(/*loopback_only=*/true, 0).value();
    address_ = LocalAddress(listeners.front().get());
    acceptor_ = Acceptor::Start(io_, {.listeners = std::move(listeners),
                                      .secret = "secret",
                                      .identity = [] { return Hello(); },
                                      .admit = nullptr,
                                      .deliver = [this](const Hello&, UniqueFd) { ++delivered_; },
                                      .log = [](const std::string&) {},
                                      .max_unproven = max_unproven,
                                      .handshake_limit = limit});
  }

  UniqueFd Connect() {
    UniqueFd fd = BeginConnect(address_).value();
    pollfd writable = {fd.get(), POLLOUT, 0};
    EXPECT_EQ(::poll(&writable, 1, 10'000), 1);
    return fd;
  }
  static bool Closed(const UniqueFd& fd) {
    char byte;
    return ReceiveSome(fd.get(), &byte, 1) == 0;
  }
  template <typename Condition>
  void RunUntil(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < deadline) io_.run_for(milliseconds(5));
    EXPECT_TRUE(condition());
  }

  boost::asio::io_context io_;
  Address address_;
  std::unique_ptr<Acceptor> acceptor_;
  int delivered_ = 0;
};

TEST_F(AcceptorTest, ClosesWhatStaysHalfOpen) {
  Start(10, milliseconds(50));
  const UniqueFd silent = Connect();
  RunUntil([&] { return acceptor_->unproven() == 1; });
  RunUntil([&] { return Closed(silent); });
  EXPECT_EQ(acceptor_->unproven(), 0u);
  EXPECT_EQ(delivered_, 0);
}

TEST_F(AcceptorTest, TheOldestMakesRoom) {
  constexpr size_t kMost = 4;
  Start(kMost, seconds(60));
  std::vector<UniqueFd> strangers;
  for (size_t i = 0; i < 3 * kMost; ++i) {
    strangers.push_back(Connect());
    const size_t expected = std::min(i + 1, kMost);
    RunUntil([&] { return acceptor_->unproven() == expected; });
    if (i >= kMost) RunUntil([&] { return Closed(strangers[i - kMost]); });
  }
  EXPECT_FALSE(Closed(strangers.back()));
}

TEST_F(AcceptorTest, ClosesEverythingWhenDestroyed) {
  Start(10, seconds(60));
  const UniqueFd silent = Connect();
  RunUntil([&] { return acceptor_->unproven() == 1; });
  acceptor_.reset();
  io_.run();  // nothing is left that would keep it
  EXPECT_TRUE(Closed(silent));
  if (const absl::StatusOr<UniqueFd> late = BeginConnect(address_); late.ok()) {
    pollfd decided = {late->get(), POLLOUT, 0};
    EXPECT_EQ(::poll(&decided, 1, 10'000), 1);
    EXPECT_EQ(ConnectError(late->get()), ECONNREFUSED);
  }
}

}  // namespace
}  // namespace lockstep::net
