#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "src/net/handshake.h"
#include "src/net/unique_fd.h"

namespace boost::asio {
class io_context;
}

namespace lockstep::net {

// Drives one handshake over one connected, non-blocking socket, within a time limit. Lives on the thread that
// runs the io_context; every call is made there.
class HandshakeSession : public std::enable_shared_from_this<HandshakeSession> {
 public:
  // Called once, when the dialler's side is proven or the acceptor's is done, or when either has failed: then
  // with the reason (Unavailable when the other side hung up, DeadlineExceeded after the limit). Not called
  // after Close().
  using Settled = std::function<void(const absl::Status&)>;

  static std::shared_ptr<HandshakeSession> Start(boost::asio::io_context& io, UniqueFd fd,
                                                 Handshake handshake, std::chrono::nanoseconds limit,
                                                 Settled settled);
  virtual ~HandshakeSession() = default;

  virtual const Hello& peer() const = 0;
  // The socket, when settled with OK; confirms first on the dialler's side.
  virtual absl::StatusOr<UniqueFd> Take() = 0;
  virtual void Close() = 0;
};

}  // namespace lockstep::net
