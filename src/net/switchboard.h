#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/net/address.h"
#include "src/net/hello.h"
#include "src/net/unique_fd.h"

namespace boost::asio {
class io_context;
}

namespace lockstep::net {

// All connections of one rank, made and taken in one place: a listening socket on a port that the system
// picks, a dialler that tries a peer's addresses side by side, and the handshake that proves the job's secret
// on both. Owns the control thread ("lockstep-ctl") and its io_context; everything that runs there must be
// short.
//
// Thread-safe. Handlers run on the control thread. Nothing a stranger sends gets past the handshake: its
// connection is closed, bounded in bytes and in time (5 s), and the number of unproven connections is bounded
// too.
class Switchboard {
 public:
  struct Options {
    std::string secret;            // empty: listens on loopback only, and the handshake proves nothing
    std::string interface_filter;  // LOCKSTEP_SOCKET_IFNAME
    bool loopback_only = false;    // also with a secret
    Hello identity;  // rank, versions and settings of this rank; role and lane are set per connection
  };
  using AcceptHandler = std::function<void(const Hello& peer, UniqueFd fd)>;
  using DialHandler = std::function<void(absl::StatusOr<UniqueFd>)>;

  static absl::StatusOr<std::unique_ptr<Switchboard>> Start(Options options);
  // Stops the thread and closes what is half-open, within 1 s; no handler runs afterwards.
  ~Switchboard();

  // Where peers can reach this rank, best first, with the port.
  const std::vector<Address>& addresses() const;
  // Ranks with another incarnation are refused from now on.
  void SetIncarnation(uint64_t incarnation);

  // Where proven connections of a role go. The fd is non-blocking, close-on-exec, TCP_NODELAY. Connections of
  // a role without a handler are closed. Set before peers can know the address.
  void OnAccept(Role role, AcceptHandler handler);
  // Connects to one of `addresses` (all tried, 100 ms apart, the first that answers and proves the secret
  // wins) and says hello as `role`. The handler runs exactly once: DeadlineExceeded after `timeout`;
  // Unavailable "connection refused" when every address refused (the process is gone), retried within the
  // timeout only when `retry_refused`; PermissionDenied for another secret, FailedPrecondition for a version
  // or setting that differs.
  void Dial(std::vector<Address> addresses, Hello hello, std::chrono::nanoseconds timeout, bool retry_refused,
            DialHandler handler);

  boost::asio::io_context& io();
  // Runs `work` on the control thread.
  void Post(std::function<void()> work);

  class Impl;

 private:
  explicit Switchboard(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::net
