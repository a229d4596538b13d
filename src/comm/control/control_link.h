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

// One control connection: whole frames both ways, on the control thread only. A frame without a payload CRC
// or with a wrong one closes it. Keeps itself alive while the connection is open.
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
  // A peer that does not read what waits for it (16 MiB) loses the link.
  void Send(net::FrameKind kind, const std::string& payload);
  // Closes when what was sent has gone out and the peer has closed, too: a connection that is closed earlier,
  // with bytes unread, may take with it what the peer has not received yet. Frames are ignored from now on.
  void Finish();
  // At once. No handler is called any more.
  void Close();

 private:
  explicit ControlLink(boost::asio::io_context& io) : socket_(io) {}
  void ReadHeader();
  void ReadPayload();
  void TakeFrame();
  void WriteNext();
  void ShutDownWhenWritten();
  void Fail();

  boost::asio::ip::tcp::socket socket_;
  FrameHandler on_frame_;
  ClosedHandler on_closed_;
  net::FrameHeaderBytes header_bytes_ = {};
  net::FrameHeader header_;
  std::string payload_;
  std::deque<std::string> out_;
  size_t out_bytes_ = 0;
  bool finishing_ = false;
};

}  // namespace lockstep::comm
