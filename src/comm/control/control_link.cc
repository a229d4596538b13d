#include "src/comm/control/control_link.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace lockstep::comm {
namespace {

namespace asio = boost::asio;

// What waits for a peer that does not read; beyond it the link is given up (the heartbeat tells the rest).
constexpr size_t kMostOutBytes = 16 << 20;

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string EncodeControlFrame(net::FrameKind kind, const std::string& payload) {
  net::FrameHeader header;
  header.kind = kind;
  header.flags = net::kPayloadCrc;
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.message_bytes = payload.size();
  header.payload_crc = net::Crc32c(Bytes(payload));
  const net::FrameHeaderBytes bytes = net::EncodeFrameHeader(header);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + payload;
}

}  // namespace

std::shared_ptr<ControlLink> ControlLink::Make(asio::io_context& io, net::UniqueFd socket,
                                               FrameHandler on_frame, ClosedHandler on_closed) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return nullptr;
  std::shared_ptr<ControlLink> link(new ControlLink(io));
  boost::system::error_code error;
  link->socket_.assign(address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                       socket.get(), error);
  if (error) return nullptr;
  socket.release();
  link->on_frame_ = std::move(on_frame);
  link->on_closed_ = std::move(on_closed);
  return link;
}

void ControlLink::ReadHeader() {
  asio::async_read(socket_, asio::buffer(header_bytes_),
                   [self = shared_from_this()](const boost::system::error_code& error, size_t) {
                     if (error) return self->Fail();
                     const absl::StatusOr<net::FrameHeader> header =
                         net::DecodeFrameHeader(self->header_bytes_);
                     if (!header.ok() || header->kind == net::FrameKind::kData) return self->Fail();
                     self->header_ = *header;
                     self->ReadPayload();
                   });
}

void ControlLink::ReadPayload() {
  payload_.resize(header_.payload_bytes);
  asio::async_read(socket_, asio::buffer(payload_),
                   [self = shared_from_this()](const boost::system::error_code& error, size_t) {
                     if (error) return self->Fail();
                     self->TakeFrame();
                   });
}

void ControlLink::TakeFrame() {
  const bool whole =
      (header_.flags & net::kPayloadCrc) != 0 && net::Crc32c(Bytes(payload_)) == header_.payload_crc;
  if (!whole) return Fail();
  if (!finishing_ && !on_frame_(header_.kind, payload_).ok()) return Fail();
  if (socket_.is_open()) ReadHeader();
}

void ControlLink::Send(net::FrameKind kind, const std::string& payload) {
  if (!socket_.is_open() || finishing_) return;
  if (out_bytes_ > kMostOutBytes) return Fail();
  out_.push_back(EncodeControlFrame(kind, payload));
  out_bytes_ += out_.back().size();
  if (out_.size() == 1) WriteNext();
}

void ControlLink::WriteNext() {
  asio::async_write(socket_, asio::buffer(out_.front()),
                    [self = shared_from_this()](const boost::system::error_code& error, size_t) {
                      if (error) return self->Fail();
                      self->out_bytes_ -= self->out_.front().size();
                      self->out_.pop_front();
                      if (!self->out_.empty()) return self->WriteNext();
                      self->ShutDownWhenWritten();
                    });
}

void ControlLink::Finish() {
  finishing_ = true;
  ShutDownWhenWritten();
}

void ControlLink::ShutDownWhenWritten() {
  if (!finishing_ || !out_.empty()) return;
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void ControlLink::Close() {
  finishing_ = true;
  on_closed_ = nullptr;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void ControlLink::Fail() {
  const ClosedHandler closed = std::exchange(on_closed_, nullptr);
  Close();
  if (closed) closed();
}

}  // namespace lockstep::comm
