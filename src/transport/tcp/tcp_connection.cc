#include "src/transport/tcp/tcp_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/lost_ranks.h"

namespace lockstep::transport::tcp {
namespace {

// Bytes of one send or receive call: enough to amortise the call, few enough that a driver looks around
// often.
constexpr size_t kMaxTransferBytes = 1u << 20;

std::string Describe(uint64_t sequence, uint64_t descriptor, uint16_t algorithm, uint64_t bytes) {
  return absl::StrFormat("#%d, %d bytes, algorithm %d, call %016x", sequence, bytes, algorithm, descriptor);
}

}  // namespace

void TcpConnection::Break(const absl::Status& reason) {
  if (!broken_.ok()) return;
  broken_ = reason;
  socket_ = net::UniqueFd();
  sends_.FailAll(reason);
  receives_.FailAll(reason);
}

void TcpConnection::PostSend(Operation* operation) {
  if (!broken_.ok()) return operation->Fail(broken_);
  sends_.Push(operation);
}

void TcpConnection::PostReceive(Operation* operation) {
  if (!broken_.ok()) return operation->Fail(broken_);
  receives_.Push(operation);
}

bool TcpConnection::Progress(Transport::Counters* counters) {
  if (!socket_) return false;
  bool moved = false;
  // A sender and a receiver that fill each other's buffers must both get their turn.
  for (bool again = true; again && socket_;) {
    again = false;
    if (!sends_.empty()) again |= ProgressSend(counters);
    if (socket_ && !receives_.empty()) again |= ProgressReceive(counters);
    moved |= again;
  }
  return moved;
}

short TcpConnection::wanted_events() const {
  if (!socket_) return 0;
  return static_cast<short>((sends_.empty() ? 0 : POLLOUT) | (receives_.empty() ? 0 : POLLIN));
}

void TcpConnection::BeginFrame(Operation* operation) {
  const int64_t payload =
      std::min<int64_t>(operation->bytes() - operation->transferred(), net::kMaxFramePayload);
  net::FrameHeader header;
  header.payload_bytes = static_cast<uint32_t>(payload);
  header.epoch = identity_.epoch;
  header.communicator = identity_.communicator;
  header.sequence = operation->tag().sequence;
  header.descriptor = operation->tag().descriptor;
  header.message_bytes = static_cast<uint64_t>(operation->bytes());
  header.algorithm = operation->tag().algorithm;
  if (identity_.payload_crc) {
    header.flags = net::kPayloadCrc;
    header.payload_crc =
        net::Crc32c({operation->data() + operation->transferred(), static_cast<size_t>(payload)});
  }
  send_header_ = net::EncodeFrameHeader(header);
  send_header_done_ = 0;
  send_frame_end_ = operation->transferred() + payload;
}

bool TcpConnection::ProgressSend(Transport::Counters* counters) {
  Operation* operation = sends_.front();
  if (send_frame_end_ < 0) BeginFrame(operation);
  iovec parts[2];
  int part_count = 0;
  if (send_header_done_ < net::kFrameHeaderBytes)
    parts[part_count++] = {send_header_.data() + send_header_done_,
                           net::kFrameHeaderBytes - send_header_done_};
  const size_t payload = static_cast<size_t>(send_frame_end_ - operation->transferred());
  if (payload > 0)
    parts[part_count++] = {operation->data() + operation->transferred(),
                           std::min(payload, kMaxTransferBytes)};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(part_count);
  const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR)
      Break(LostRanksError({identity_.peer}, absl::StrCat("the connection to rank ", identity_.peer,
                                                          " broke while sending (", strerror(errno), ")")));
    return false;
  }
  const size_t header_part = std::min(static_cast<size_t>(sent), net::kFrameHeaderBytes - send_header_done_);
  send_header_done_ += header_part;
  operation->Advance(sent - static_cast<ssize_t>(header_part));
  counters->bytes_sent += sent - static_cast<ssize_t>(header_part);
  if (send_header_done_ == net::kFrameHeaderBytes && operation->transferred() == send_frame_end_) {
    send_frame_end_ = -1;
    if (operation->transferred() == operation->bytes()) {
      sends_.Pop();
      ++counters->messages_sent;
      operation->Complete();
    }
  }
  return sent > 0;
}

bool TcpConnection::ProgressReceive(Transport::Counters* counters) {
  Operation* operation = receives_.front();
  iovec parts[2];
  int part_count = 0;
  int64_t payload = 0;
  if (receive_header_done_ < net::kFrameHeaderBytes) {
    parts[part_count++] = {receive_header_.data() + receive_header_done_,
                           net::kFrameHeaderBytes - receive_header_done_};
    // The payload that belongs here if the header turns out to be the expected one is read along with it: one
    // system call for a small message. Never more than that, so a frame that is not the expected one leaves
    // only a failed operation behind.
    payload = std::min<int64_t>(operation->bytes() - operation->transferred(), net::kMaxFramePayload);
  } else {
    payload = static_cast<int64_t>(receive_frame_.payload_bytes) - receive_frame_done_;
  }
  if (payload > 0)
    parts[part_count++] = {operation->data() + operation->transferred(),
                           std::min(static_cast<size_t>(payload), kMaxTransferBytes)};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(part_count);
  const ssize_t received = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  if (received == 0) {
    Break(LostRanksError({identity_.peer}, absl::StrCat("rank ", identity_.peer, " closed its connection")));
    return false;
  }
  if (received < 0) {
    if (errno != EAGAIN && errno != EINTR)
      Break(LostRanksError({identity_.peer}, absl::StrCat("the connection to rank ", identity_.peer,
                                                          " broke while receiving (", strerror(errno), ")")));
    return false;
  }
  return TakeReceived(static_cast<size_t>(received), counters);
}

bool TcpConnection::TakeReceived(size_t bytes, Transport::Counters* counters) {
  Operation* operation = receives_.front();
  if (receive_header_done_ < net::kFrameHeaderBytes) {
    const size_t header_part = std::min(bytes, net::kFrameHeaderBytes - receive_header_done_);
    receive_header_done_ += header_part;
    bytes -= header_part;
    if (receive_header_done_ < net::kFrameHeaderBytes) return true;
    if (absl::Status status = CheckHeader(*operation); !status.ok()) {
      Break(status);
      return false;
    }
  }
  operation->Advance(static_cast<int64_t>(bytes));
  receive_frame_done_ += static_cast<int64_t>(bytes);
  counters->bytes_received += static_cast<int64_t>(bytes);
  if (receive_frame_done_ < receive_frame_.payload_bytes) return true;
  if (absl::Status status = FinishFrame(operation); !status.ok()) {
    Break(status);
    return false;
  }
  receive_header_done_ = 0;
  if (operation->transferred() == operation->bytes()) {
    receives_.Pop();
    ++counters->messages_received;
    operation->Complete();
  }
  return true;
}

absl::Status TcpConnection::CheckHeader(const Operation& operation) {
  absl::StatusOr<net::FrameHeader> header = net::DecodeFrameHeader(receive_header_);
  if (!header.ok())
    return absl::UnavailableError(
        absl::StrCat("the connection to rank ", identity_.peer, " is closed: a frame header ",
                     "that does not decode arrived (", std::string(header.status().message()),
                     "); something between the hosts damages or injects data"));
  receive_frame_ = *header;
  receive_frame_done_ = 0;
  const Tag& mine = operation.tag();
  const int64_t expected =
      std::min<int64_t>(operation.bytes() - operation.transferred(), net::kMaxFramePayload);
  if (header->kind == net::FrameKind::kData && header->communicator == identity_.communicator &&
      header->epoch == identity_.epoch &&
      Tag{header->sequence, header->descriptor, header->algorithm} == mine &&
      header->message_bytes == static_cast<uint64_t>(operation.bytes()) &&
      header->payload_bytes == static_cast<uint64_t>(expected))
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "a message from rank ", identity_.peer,
      " does not fit the call (ranks must make the same calls in the same ", "order): expected ",
      Describe(mine.sequence, mine.descriptor, mine.algorithm, static_cast<uint64_t>(operation.bytes())),
      "; got ", Describe(header->sequence, header->descriptor, header->algorithm, header->message_bytes)));
}

absl::Status TcpConnection::FinishFrame(Operation* operation) {
  if ((receive_frame_.flags & net::kPayloadCrc) == 0) return absl::OkStatus();
  const std::byte* begin = operation->data() + operation->transferred() - receive_frame_.payload_bytes;
  if (net::Crc32c({begin, receive_frame_.payload_bytes}) == receive_frame_.payload_crc)
    return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("payload from rank ", identity_.peer,
                                          " arrived damaged (CRC-32C differs in #", operation->tag().sequence,
                                          ", frame of ", receive_frame_.payload_bytes,
                                          " bytes); check the network hardware between the two hosts"));
}

}  // namespace lockstep::transport::tcp
