#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "src/net/frame.h"
#include "src/net/unique_fd.h"
#include "src/transport/operation_queue.h"
#include "src/transport/transport.h"

namespace lockstep::transport::tcp {

// One lane to one peer: framed messages both ways over a non-blocking socket, straight between the socket and
// the operations' buffers. Operations may be posted before the socket is there. Not thread-safe.
class TcpConnection {
 public:
  struct Identity {
    uint64_t communicator = 0;
    uint32_t epoch = 0;
    int peer = 0;              // for messages
    bool payload_crc = false;  // add a CRC to what is sent; what arrives with one is always checked
  };
  explicit TcpConnection(const Identity& identity) : identity_(identity) {}

  // Takes over a proven socket.
  void Attach(net::UniqueFd socket) { socket_ = std::move(socket); }
  bool attached() const { return static_cast<bool>(socket_); }
  // Fails what is posted and what will be.
  void Break(const absl::Status& reason);

  void PostSend(Operation* operation);
  void PostReceive(Operation* operation);
  // Sends and receives until the socket would block or nothing is posted. True if a byte moved.
  bool Progress(Transport::Counters* counters);
  bool idle() const { return sends_.empty() && receives_.empty(); }
  // What poll(2) should wait for; 0 when nothing is posted or there is no socket yet.
  short wanted_events() const;
  int fd() const { return socket_.get(); }

 private:
  bool ProgressSend(Transport::Counters* counters);
  bool ProgressReceive(Transport::Counters* counters);
  void BeginFrame(Operation* operation);
  // Consumes `bytes` that arrived; false when the connection broke or the front receive failed.
  bool TakeReceived(size_t bytes, Transport::Counters* counters);
  absl::Status CheckHeader(const Operation& operation);
  absl::Status FinishFrame(Operation* operation);

  const Identity identity_;
  net::UniqueFd socket_;
  absl::Status broken_;
  OperationQueue sends_, receives_;

  net::FrameHeaderBytes send_header_ = {};
  size_t send_header_done_ = 0;
  int64_t send_frame_end_ = -1;  // offset in the front send at which its frame ends; -1: no frame begun

  net::FrameHeaderBytes receive_header_ = {};
  size_t receive_header_done_ = 0;
  net::FrameHeader receive_frame_;
  int64_t receive_frame_done_ = 0;
};

}  // namespace lockstep::transport::tcp
