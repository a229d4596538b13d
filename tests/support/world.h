#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lockstep/communicator.h"

namespace lockstep::testing {

// Changes what a rank's communicator is made with.
using OptionsHook = std::function<void(int rank, CommunicatorOptions& options)>;

// Runs `body` on `world_size` ranks, each a thread with a communicator of its own over loopback. Returns when
// all have returned. Fails the test if one cannot be made.
void RunRanks(int world_size, const std::function<void(Communicator&)>& body, const OptionsHook& hook = {});

// The same with each rank a forked process, for what needs a process: signals, crashes, memory of its own.
//
// What `body` returns travels back through a pipe; a process that is killed leaves an empty string. The
// calling process must have no other threads when it forks.
class ProcessWorld {
 public:
  using Body = std::function<std::string(Communicator&)>;
  ProcessWorld(int world_size, const Body& body, const OptionsHook& hook = {});
  // Kills what is still running.
  ~ProcessWorld();

  pid_t pid(int rank) const { return ranks_[static_cast<size_t>(rank)].pid; }
  // Blocks until `rank` has written `line` with Announce().
  void AwaitAnnouncement(int rank, const std::string& line);
  // From a body: tells the parent.
  static void Announce(const std::string& line);
  // Waits for the rank's end; what its body returned.
  std::string Result(int rank);

 private:
  struct Rank {
    pid_t pid = -1;
    int out = -1;  // read end: announcements, then the result
    std::string pending;
    bool ended = false;
  };
  bool ReadMore(Rank& rank);
  std::vector<Rank> ranks_;
};

// A TCP socket bound to a free loopback port: hand it to rank 0 as store_socket.
struct BoundSocket {
  int fd = -1;
  uint16_t port = 0;
};
BoundSocket BindLoopback();

}  // namespace lockstep::testing
