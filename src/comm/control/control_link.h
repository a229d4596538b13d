#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "src/net/frame.h"
#include "src/net/unique_fd.h"

namespace lockstep::comm {

// One control connection: whole frames both ways, on the control thread only.
class ControlLink : public std::enable_shared_from_this<ControlLink> {
 public:
  // Called with each frame; an error closes the link.
  using FrameHandler = std::function<absl::Status(net::FrameKind kind, const std::string& payload)>;
  // Called once when the connection is gone, unless Close() was called.
  using ClosedHandler = std::function<void()>;

  // Null when the socket cannot be taken over.
  static std::shared_ptr<ControlLink> Make(boost::asio::io_context& io, net::UniqueFd socket,
                                           FrameHandler on_frame, ClosedHandler on_closed);
  void Start() { ReadHeader(); }
  void Send(net::FrameKind kind, const std::string& payload);
  // Sends a goodbye, if nothing is still being sent, and closes.
  void SayGoodbye();
  void Close();
  // Something has not been taken by the socket yet.
  bool sending() const { return !out_.empty(); }

 private:
  explicit ControlLink(boost::asio::io_context& io) : socket_(io) {}
  void ReadHeader();
  void ReadPayload();
  void TakeFrame();
  void WriteNext();
  void Fail();

  boost::asio::ip::tcp::socket socket_;
  FrameHandler on_frame_;
  ClosedHandler on_closed_;
  net::FrameHeaderBytes header_bytes_ = {};
  net::FrameHeader header_;
  std::string payload_;
  std::deque<std::string> out_;
  size_t out_bytes_ = 0;
};

}  // namespace lockstep::comm
