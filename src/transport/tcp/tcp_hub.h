#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "src/net/switchboard.h"
#include "src/transport/transport.h"

namespace lockstep::transport::tcp {

// Brings the two ends of data connections together: one a rank, shared by all its communicators.
//
// Of two ranks the higher one dials and the lower one accepts, so that a pair never makes two. An accepted
// connection waits here until its communicator asks for it: a faster rank may connect for a communicator that
// this rank has not made yet. What waits is bounded; the oldest goes first.
//
// Thread-safe.
class TcpHub {
 public:
  // How data sockets are set up.
  struct SocketOptions {
    std::string
        congestion;  // TCP_CONGESTION name; empty: the kernel's. Where it is not allowed, the kernel's stays.
    int buffer_bytes = 0;  // SO_SNDBUF and SO_RCVBUF; 0: the kernel sizes them
  };

  // `addresses` are those of all ranks of the job; `identity` is this rank's.
  TcpHub(std::shared_ptr<net::Switchboard> switchboard, std::vector<std::vector<net::Address>> addresses,
         net::Hello identity, SocketOptions options);
  ~TcpHub();

  // `wake` is called on the control thread when TakeMail() has something new for the communicator.
  void Register(uint64_t communicator, std::function<void()> wake);
  // No `wake` of this communicator runs once it returns; its waiting connections are closed.
  void Unregister(uint64_t communicator);

  // Asks for the connection to a job rank: dials when this rank is the higher one, else the peer will.
  void Connect(uint64_t communicator, int peer, Lane lane, std::chrono::nanoseconds timeout);

  struct Mail {
    int peer = 0;  // in the job
    Lane lane = Lane::kCollective;
    absl::StatusOr<net::UniqueFd> connection;
  };
  // The connections of the communicator that came since the last call.
  std::vector<Mail> TakeMail(uint64_t communicator);

 private:
  struct Box {
    std::function<void()> wake;  // empty: not registered yet
    std::vector<Mail> mail;
  };
  void Deliver(uint64_t communicator, Mail mail);
  void PrepareSocket(int fd) const;

  const std::shared_ptr<net::Switchboard> switchboard_;
  const std::vector<std::vector<net::Address>> addresses_;
  const net::Hello identity_;
  const SocketOptions options_;
  absl::Mutex mu_;
  std::map<uint64_t, Box> boxes_ ABSL_GUARDED_BY(mu_);
  size_t unclaimed_ ABSL_GUARDED_BY(mu_) = 0;
  // The switchboard's handlers may outlive this object; they look here first.
  struct Alive {
    absl::Mutex mu;
    TcpHub* hub ABSL_GUARDED_BY(mu) = nullptr;
  };
  const std::shared_ptr<Alive> alive_;
};

}  // namespace lockstep::transport::tcp
