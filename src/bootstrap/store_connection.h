#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "src/net/unique_fd.h"

namespace boost::asio {
class io_context;
}

namespace lockstep::bootstrap {

// Bodies of the store's protocol both ways over a proven socket. Lives on the thread that runs the
// io_context; every call is made there.
class StoreConnection : public std::enable_shared_from_this<StoreConnection> {
 public:
  // While more than this waits to be sent nothing more is read: a peer that asks and does not listen holds
  // this much of the memory here, and one message.
  static constexpr size_t kMaxUnsentBytes = size_t{4} << 20;

  struct Handlers {
    std::function<void(const std::string& body)> body;
    // Once: the peer closed or broke the connection, or sent what is no message. Not after Close().
    std::function<void(const absl::Status& reason)> closed;
  };
  static std::shared_ptr<StoreConnection> Start(boost::asio::io_context& io, net::UniqueFd fd,
                                                Handlers handlers);
  virtual ~StoreConnection() = default;

  virtual void Send(const std::string& body) = 0;
  // What was sent still reaches the peer. No handler is called any more.
  virtual void Close() = 0;
};

}  // namespace lockstep::bootstrap
