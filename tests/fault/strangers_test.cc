// Strangers knock on every port of a job while it works: nothing changes for the job.

#include <arpa/inet.h>
#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/communicator.h"
#include "src/net/frame.h"
#include "src/net/switchboard.h"
#include "tests/support/world.h"

namespace lockstep {
namespace {

// Sanitizers keep freed memory for a while: what is resident says nothing then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Listening TCP ports of this process, from the kernel's tables.
std::vector<uint16_t> ListeningPorts() {
  std::set<std::string> inodes;
  DIR* directory = opendir("/proc/self/fd");
  while (dirent* entry = readdir(directory)) {
    char target[64] = {};
    if (readlink((std::string("/proc/self/fd/") + entry->d_name).c_str(), target, sizeof target - 1) <= 0)
      continue;
    unsigned long inode = 0;
    if (std::sscanf(target, "socket:[%lu]", &inode) == 1) inodes.insert(std::to_string(inode));
  }
  closedir(directory);
  std::set<uint16_t> ports;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, skip, inode;
      fields >> number >> local >> remote >> state >> skip >> skip >> skip >> skip >> skip >> inode;
      if (state == "0A" && inodes.count(inode) > 0)
        ports.insert(static_cast<uint16_t>(std::stoul(local.substr(local.rfind(':') + 1), nullptr, 16)));
    }
  }
  return {ports.begin(), ports.end()};
}

int Connect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// `count` connections: random bytes, half-open ones that stay, and frames that look right but prove nothing.
void Storm(const std::vector<uint16_t>& ports, int count) {
  std::mt19937_64 random(7);
  std::vector<int> half_open;
  std::string noise(300, '\0');
  for (int i = 0; i < count; ++i) {
    const int fd = Connect(ports[static_cast<size_t>(i) % ports.size()]);
    if (fd < 0) continue;
    if (i % 3 == 0) {
      for (char& byte : noise) byte = static_cast<char>(random());
      (void)!send(fd, noise.data(), noise.size(), MSG_NOSIGNAL);
    } else if (i % 3 == 1) {
      net::FrameHeader header;
      header.communicator = 1;
      header.sequence = static_cast<uint64_t>(i);
      header.payload_bytes = 1 << 20;
      header.message_bytes = 1 << 20;
      const net::FrameHeaderBytes bytes = net::EncodeFrameHeader(header);
      (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } else {
      half_open.push_back(fd);
      if (half_open.size() > 300) {
        close(half_open.front());
        half_open.erase(half_open.begin());
      }
      continue;
    }
    close(fd);
  }
  for (int fd : half_open) close(fd);
}

// A peer that speaks the protocol but does not know the secret.
void DialWithWrongSecret(const std::vector<uint16_t>& ports) {
  net::Switchboard::Options options;
  options.secret = "not the secret of this job";
  absl::StatusOr<std::unique_ptr<net::Switchboard>> stranger = net::Switchboard::Start(options);
  ASSERT_TRUE(stranger.ok()) << stranger.status();
  for (uint16_t port : ports)
    for (net::Role role : {net::Role::kStore, net::Role::kControl, net::Role::kData}) {
      net::Hello hello;
      hello.role = role;
      hello.rank = 1;
      std::atomic<bool> answered{false};
      (*stranger)->Dial({{"127.0.0.1", port}}, hello, std::chrono::seconds(10), false,
                        [&](absl::StatusOr<net::UniqueFd> connection) {
                          EXPECT_FALSE(connection.ok());
                          answered = true;
                        });
      while (!answered) std::this_thread::yield();
    }
}

TEST(StrangersTest, TenThousandConnectionsChangeNothingForTheJob) {
  std::atomic<bool> storm_over{false};
  std::atomic<int> rounds{0};
  std::thread attacker;
  int64_t before = 0, after = 0;
  testing::RunRanks(2, [&](Communicator& comm) {
    std::vector<float> values(10000);
    for (int round = 0;; ++round) {
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>((i + static_cast<size_t>(round)) % 101);
      ASSERT_TRUE(comm.AllReduce(values).Wait().ok());
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], static_cast<float>(2 * ((i + static_cast<size_t>(round)) % 101)));
      if (comm.rank() == 0 && round == 100) {
        before = ResidentBytes();
        attacker = std::thread([&] {
          const std::vector<uint16_t> ports = ListeningPorts();
          EXPECT_GE(ports.size(), 3u) << "a store and two data ports";
          Storm(ports, 10000);
          DialWithWrongSecret(ports);
          storm_over = true;
        });
      }
      // Both ranks must stop after the same round: the flag travels with the sum.
      std::vector<int32_t> over = {comm.rank() == 0 && storm_over ? 1 : 0};
      ASSERT_TRUE(comm.AllReduce(over).Wait().ok());
      ++rounds;
      if (over[0] != 0) break;
    }
    if (comm.rank() == 0) after = ResidentBytes();
  });
  attacker.join();
  std::printf("%d rounds; resident memory %.1f MiB before, %.1f MiB after\n", rounds.load() / 2,
              static_cast<double>(before) / (1 << 20), static_cast<double>(after) / (1 << 20));
  if (!kSanitized) {
    EXPECT_LT(after - before, 16 << 20);
  }
}

}  // namespace
}  // namespace lockstep
