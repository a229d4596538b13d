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
// short and must not wait. Signals are not taken on it; what a handler throws is logged and dropped.
//
// Thread-safe. Handlers run on the control thread. Nothing a stranger sends gets past the handshake: its
// connection is closed, bounded in bytes and in time (5 s), and the number of unproven connections is bounded
// too (256).
class Switchboard {
 public:
  struct Options {
    std::string secret;            // empty: listens on loopback only, and the handshake proves nothing
    std::string interface_filter;  // LOCKSTEP_SOCKET_IFNAME
    bool loopback_only = false;    // also with a secret
    // Rank, settings and incarnation of this rank. An empty library_version means that of this library. Role,
    // peer_rank, communicator, lane and stripe are set per connection.
    Hello identity;
    // A line about what concerns no call: a refused peer, no descriptors left. A warning in the log when
    // empty.
    std::function<void(const std::string&)> log;
  };
  using AcceptHandler = std::function<void(const Hello& peer, UniqueFd fd)>;
  using DialHandler = std::function<void(absl::StatusOr<UniqueFd>)>;

  // Unavailable when the interface filter leaves nothing, ResourceExhausted when descriptors or threads ran
  // out.
  static absl::StatusOr<std::unique_ptr<Switchboard>> Start(Options options);
  // Stops the thread and closes what is half-open, within 1 s; no handler runs afterwards, and those of
  // pending dials are dropped. May be called on the control thread: then the handler that does so is the
  // last.
  ~Switchboard();

  // Where peers can reach this rank, best first, with the port.
  const std::vector<Address>& addresses() const;
  // Ranks with another incarnation are refused from now on, and dials say this one.
  void SetIncarnation(uint64_t incarnation);
  // What connections of this rank say, incarnation included.
  Hello identity() const;
  const std::string& secret() const;

  // Where proven connections of a role go. The fd is non-blocking, close-on-exec, TCP_NODELAY. Connections of
  // a role without a handler are refused in a way that makes the dialler try again. Set before peers can know
  // the address. An empty handler takes the present one away: it isn't running and will not run again when
  // the call returns, unless it is the caller.
  void OnAccept(Role role, AcceptHandler handler);
  // Connects to one of `addresses` (all tried, 100 ms apart, the first that answers and proves the secret
  // wins). Of `hello` role, peer_rank (set it: the wrong rank is refused), communicator, lane and stripe are
  // taken; the rest is this rank's identity. The handler runs exactly once, on the control thread:
  // DeadlineExceeded after `timeout`; Unavailable "connection refused" when the addresses refuse (the process
  // is gone), retried within the timeout only when `retry_refused`; PermissionDenied for another secret,
  // FailedPrecondition for a version, a setting or an incarnation that differs. Anything that may pass is
  // tried again until the timeout (see Dialler).
  void Dial(std::vector<Address> addresses, Hello hello, std::chrono::nanoseconds timeout, bool retry_refused,
            DialHandler handler);

  boost::asio::io_context& io();
  // Runs `work` on the control thread.
  void Post(std::function<void()> work);
  // The same, and waits until it has run; at once when called there.
  void RunSync(const std::function<void()>& work);
  bool OnControlThread() const;
  // Writes a line where Options::log says. Any thread.
  void Log(const std::string& line) const;

  class Impl;

 private:
  explicit Switchboard(std::shared_ptr<Impl> impl);
  // Shared with the control thread alone, which may outlive this object by the handler that destroyed it.
  std::shared_ptr<Impl> impl_;
};

}  // namespace lockstep::net
