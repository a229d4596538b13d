// What strangers can do to a switchboard: nothing.

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/net/handshake.h"
#include "src/net/socket.h"
#include "tests/net/log_lines.h"
#include "tests/net/node.h"

namespace lockstep::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Sanitizers keep freed memory for a while.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

bool WaitFor(int fd, short events) {
  pollfd poll_fd = {fd, events, 0};
  return ::poll(&poll_fd, 1, 10'000) == 1;
}

// A connection that is there; nothing sent yet.
UniqueFd Connect(const Address& address) {
  absl::StatusOr<UniqueFd> fd = BeginConnect(address);
  if (!fd.ok() || !WaitFor(fd->get(), POLLOUT) || ConnectError(fd->get()) != 0) return UniqueFd();
  return *std::move(fd);
}

// Speaks the handshake to its end, with the wrong secret.
void SpeakWithAnotherSecret(int fd) {
  Handshake handshake(Handshake::Side::kDialler, "a guess", Hello());
  while (handshake.state() == Handshake::State::kRunning) {
    const std::string output = handshake.TakeOutput();
    if (SendSome(fd, output.data(), output.size()) < 0 || !WaitFor(fd, POLLIN)) return;
    std::vector<std::byte> input(handshake.wanted());
    const long received = ReceiveSome(fd, input.data(), input.size());
    if (received <= 0) return;
    handshake.Feed(absl::MakeConstSpan(input.data(), static_cast<size_t>(received)));
  }
}

class FloodTest : public ::testing::Test {
 protected:
  // One stranger of each kind in turn: silent, one that opens rightly and then says nothing, garbage, a guess
  // at the secret.
  void Stranger(int i) {
    UniqueFd fd = Connect(target_->addresses().front());
    if (!fd) return;
    std::string bytes;
    if (i % 4 == 1) bytes = Handshake(Handshake::Side::kDialler, "", Hello()).TakeOutput();
    if (i % 4 == 2)
      for (int k = 0; k < 2000; ++k) bytes += static_cast<char>(random_());
    if (!bytes.empty()) SendSome(fd.get(), bytes.data(), bytes.size());
    if (i % 4 == 3) SpeakWithAnotherSecret(fd.get());
    if (i % 4 < 2) held_.push_back(std::move(fd));
    if (held_.size() > kHeld) held_.pop_front();
  }

  static constexpr size_t kHeld = 600;  // more than the acceptor lets wait
  LogLines log_;
  Node target_{Rank(0, &log_)};
  Node peer_{Rank(1)};
  std::mt19937 random_{1};
  std::deque<UniqueFd> held_;
};

TEST_F(FloodTest, TenThousandStrangersCostNothingAndHoldUpNobody) {
  constexpr int kFirst = 2000, kStrangers = 12'000;
  for (int i = 0; i < kFirst; ++i) Stranger(i);
  const size_t bytes = ResidentBytes();
  const size_t descriptors = OpenDescriptors();
  std::atomic<bool> over = false;
  std::atomic<int> dials = 0, failures = 0;
  std::thread peer([&] {
    while (!over) {
      if (!peer_.Dial(target_->addresses(), 0, seconds(5)).ok()) ++failures;
      target_.WaitForAccepted();
      ++dials;
    }
  });
  for (int i = kFirst; i < kStrangers; ++i) Stranger(i);
  over = true;
  peer.join();
  EXPECT_EQ(failures, 0);
  EXPECT_GT(dials, 0);
  RecordProperty("dials", dials);
  EXPECT_EQ(target_.accepted_count(), 0u);
  EXPECT_LE(OpenDescriptors(), descriptors + 20);
  if (!kSanitized) {
    EXPECT_LT(ResidentBytes(), bytes + (size_t{4} << 20));
  }
  // One line for all of them.
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(FloodTest, ManyHalfOpenConnectionsDoNotKeepAPeerOut) {
  for (int i = 0; i < 500; ++i) held_.push_back(Connect(target_->addresses().front()));
  EXPECT_TRUE(peer_.Dial(target_->addresses(), 0, seconds(2)).ok());
  EXPECT_EQ(target_.WaitForAccepted().peer.rank, 1);
}

TEST_F(FloodTest, RunningOutOfDescriptorsIsSurvivedAndSaidOnce) {
  std::vector<UniqueFd> strangers;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (int i = 0; i < 40; ++i) {
    const SocketAddress address = ToSocketAddress(target_->addresses().front()).value();
    strangers.emplace_back(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  // No number above those in use is to be had; what the acceptor closes it gets again.
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(strangers.back().get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  const SocketAddress address = ToSocketAddress(target_->addresses().front()).value();
  for (const UniqueFd& fd : strangers) EXPECT_EQ(::connect(fd.get(), address.get(), address.bytes), 0);
  EXPECT_THAT(log_.WaitForLine(), HasSubstr("too many open files"));
  std::this_thread::sleep_for(milliseconds(250));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(peer_.Dial(target_->addresses(), 0, seconds(10)).ok());
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

}  // namespace
}  // namespace lockstep::net
