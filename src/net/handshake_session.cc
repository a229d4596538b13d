#include "src/net/handshake_session.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/net/socket.h"

namespace lockstep::net {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

class Session final : public HandshakeSession {
 public:
  Session(asio::io_context& io, UniqueFd fd, Handshake handshake, Settled settled)
      : descriptor_(io, fd.release()),
        timer_(io),
        handshake_(std::move(handshake)),
        settled_(std::move(settled)) {}

  void Begin(std::chrono::nanoseconds limit) {
    if (!settled_) return;
    timer_.expires_after(limit);
    timer_.async_wait([self = shared_from_this(), this, limit](const boost::system::error_code& error) {
      if (error || !settled_) return;
      Settle(absl::DeadlineExceededError(absl::StrCat("connected, but no handshake within ",
                                                      std::chrono::duration<double>(limit).count(), " s")));
    });
    Pump();
  }

  const Hello& peer() const override { return handshake_.peer(); }

  absl::StatusOr<UniqueFd> Take() override {
    handshake_.Confirm();
    output_ += handshake_.TakeOutput();
    if (absl::Status status = Flush(); !status.ok()) return status;
    // The confirmation is small and the first thing that this socket's buffer holds; it always fits.
    if (!output_.empty() || handshake_.state() != Handshake::State::kDone)
      return absl::UnavailableError("the handshake could not be confirmed");
    timer_.cancel();
    return UniqueFd(descriptor_.release());
  }

  void Close() override {
    settled_ = nullptr;
    timer_.cancel();
    boost::system::error_code ignored;
    descriptor_.close(ignored);
  }

 private:
  // Sends and receives what can be now, then waits for the socket or settles.
  void Pump() {
    if (absl::Status status = Exchange(); !status.ok()) return Settle(status);
    switch (handshake_.state()) {
      case Handshake::State::kRunning:
        return AwaitSocket();
      case Handshake::State::kProven:
      case Handshake::State::kDone:
        return Settle(absl::OkStatus());
      case Handshake::State::kFailed:
        return Settle(handshake_.status());
    }
  }

  absl::Status Exchange() {
    while (true) {
      output_ += handshake_.TakeOutput();
      if (absl::Status status = Flush(); !status.ok()) return status;
      if (!output_.empty() || handshake_.wanted() == 0) return absl::OkStatus();
      std::array<std::byte, 1024> buffer;
      const long received = ReceiveSome(descriptor_.native_handle(), buffer.data(),
                                        std::min(buffer.size(), handshake_.wanted()));
      if (received == -EAGAIN) return absl::OkStatus();
      if (received == -EINTR) continue;
      if (received == 0) return absl::UnavailableError("the other side hung up during the handshake");
      if (received < 0)
        return absl::UnavailableError(
            absl::StrCat("the handshake broke off (", ErrorText(static_cast<int>(-received)), ")"));
      handshake_.Feed(absl::MakeConstSpan(buffer.data(), static_cast<size_t>(received)));
    }
  }

  absl::Status Flush() {
    while (!output_.empty()) {
      const long sent = SendSome(descriptor_.native_handle(), output_.data(), output_.size());
      if (sent == -EAGAIN) break;
      if (sent == -EINTR) continue;
      if (sent < 0)
        return absl::UnavailableError(
            absl::StrCat("the handshake broke off (", ErrorText(static_cast<int>(-sent)), ")"));
      output_.erase(0, static_cast<size_t>(sent));
    }
    return absl::OkStatus();
  }

  void AwaitSocket() {
    descriptor_.async_wait(output_.empty() ? Descriptor::wait_read : Descriptor::wait_write,
                           [self = shared_from_this(), this](const boost::system::error_code& error) {
                             if (!error && settled_) Pump();
                           });
  }

  void Settle(const absl::Status& status) {
    timer_.cancel();
    // Once: the handler may close or take this session, or drop the last reference to it but ours.
    if (const Settled settled = std::exchange(settled_, nullptr)) settled(status);
  }

  Descriptor descriptor_;
  asio::steady_timer timer_;
  Handshake handshake_;
  std::string output_;
  Settled settled_;
};

}  // namespace

std::shared_ptr<HandshakeSession> HandshakeSession::Start(asio::io_context& io, UniqueFd fd,
                                                          Handshake handshake, std::chrono::nanoseconds limit,
                                                          Settled settled) {
  auto session = std::make_shared<Session>(io, std::move(fd), std::move(handshake), std::move(settled));
  // Not before the caller has the session in hand: it may settle at once.
  asio::post(io, [session, limit] { session->Begin(limit); });
  return session;
}

}  // namespace lockstep::net
