#include "tests/support/world.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

namespace lockstep::testing {
namespace {

constexpr char kResultMark[] = "\x01result:";
int announcement_fd = -1;  // in a forked rank

CommunicatorOptions RankOptions(int rank, int world_size, const BoundSocket& store, const OptionsHook& hook) {
  CommunicatorOptions options;
  options.rank = rank;
  options.world_size = world_size;
  options.local_rank = rank;
  options.master_address = "127.0.0.1";
  options.master_port = store.port;
  if (rank == 0) options.store_socket = store.fd;
  options.secret = "a secret of this test";
  options.timeout = std::chrono::seconds(60);
  options.creation_timeout = std::chrono::seconds(60);
  options.buffer_bytes = 16 << 20;
  if (hook) hook(rank, options);
  return options;
}

void WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

}  // namespace

BoundSocket BindLoopback() {
  BoundSocket bound;
  bound.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(bound.fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(bound.fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    ADD_FAILURE() << "no free loopback port";
  bound.port = ntohs(address.sin_port);
  return bound;
}

void RunRanks(int world_size, const std::function<void(Communicator&)>& body, const OptionsHook& hook) {
  const BoundSocket store = BindLoopback();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      absl::StatusOr<std::unique_ptr<Communicator>> comm =
          Communicator::Create(RankOptions(rank, world_size, store, hook));
      ASSERT_TRUE(comm.ok()) << "rank " << rank << ": " << comm.status();
      body(**comm);
    });
  for (std::thread& thread : threads) thread.join();
}

ProcessWorld::ProcessWorld(int world_size, const Body& body, const OptionsHook& hook) {
  const BoundSocket store = BindLoopback();
  for (int rank = 0; rank < world_size; ++rank) {
    int ends[2];
    if (pipe(ends) != 0) {
      ADD_FAILURE() << "no pipe";
      break;
    }
    const pid_t pid = fork();
    if (pid == 0) {
      for (const Rank& other : ranks_) close(other.out);
      close(ends[0]);
      if (rank != 0) close(store.fd);
      announcement_fd = ends[1];
      std::string result;
      {
        absl::StatusOr<std::unique_ptr<Communicator>> comm =
            Communicator::Create(RankOptions(rank, world_size, store, hook));
        result = comm.ok() ? body(**comm) : "not created: " + comm.status().ToString();
      }
      WriteAll(ends[1], kResultMark + result);
      _exit(0);
    }
    close(ends[1]);
    ranks_.push_back({pid, ends[0], {}, false});
  }
  close(store.fd);
}

ProcessWorld::~ProcessWorld() {
  for (Rank& rank : ranks_) {
    if (!rank.ended) {
      kill(rank.pid, SIGKILL);
      waitpid(rank.pid, nullptr, 0);
    }
    close(rank.out);
  }
}

void ProcessWorld::Announce(const std::string& line) { WriteAll(announcement_fd, line + "\n"); }

bool ProcessWorld::ReadMore(Rank& rank) {
  char buffer[4096];
  ssize_t n;
  do {
    n = read(rank.out, buffer, sizeof buffer);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  rank.pending.append(buffer, static_cast<size_t>(n));
  return true;
}

void ProcessWorld::AwaitAnnouncement(int index, const std::string& line) {
  Rank& rank = ranks_[static_cast<size_t>(index)];
  for (;;) {
    const size_t at = rank.pending.find(line + "\n");
    if (at != std::string::npos) {
      rank.pending.erase(at, line.size() + 1);
      return;
    }
    if (!ReadMore(rank)) {
      ADD_FAILURE() << "rank " << index << " ended before it announced \"" << line << "\": " << rank.pending;
      return;
    }
  }
}

std::string ProcessWorld::Result(int index) {
  Rank& rank = ranks_[static_cast<size_t>(index)];
  while (ReadMore(rank)) {
  }
  if (!rank.ended) waitpid(rank.pid, nullptr, 0);
  rank.ended = true;
  const size_t at = rank.pending.find(kResultMark);
  return at == std::string::npos ? "" : rank.pending.substr(at + sizeof kResultMark - 1);
}

}  // namespace lockstep::testing
