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

// Connects to one peer at one of its addresses. They are tried side by side: the first at once, each further
// one 100 ms after, or as soon as an earlier one has failed. The first that proves the secret and accepts the
// hello wins; the others are closed before their acceptor hands them over.
//
// When all have failed, the first address in order that gave a clear answer decides: a peer that refuses the
// hello (FailedPrecondition) or has another secret (PermissionDenied) ends it; "connection refused" says that
// the process is gone (Unavailable), unless `retry_refused`; an address without an answer by 500 ms after
// that counts as unreachable. Everything else (no route, no answer, a busy peer, another rank at a loopback
// address) is tried again, with pauses growing from 20 to 500 ms, until the time is up (DeadlineExceeded
// with the last reason of each address).
//
// Lives on the thread that runs the io_context: every call is made there.
class Dialler : public std::enable_shared_from_this<Dialler> {
 public:
  struct Options {
    std::vector<Address> addresses;
    std::string secret;
    Hello hello;
    std::chrono::nanoseconds timeout{0};
    bool retry_refused = false;
  };
  // Called once; not after Cancel().
  using Handler = std::function<void(absl::StatusOr<UniqueFd>)>;

  static std::shared_ptr<Dialler> Start(boost::asio::io_context& io, Options options, Handler handler);
  virtual ~Dialler() = default;
  virtual void Cancel() = 0;
};

}  // namespace lockstep::net
