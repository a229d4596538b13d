#include "src/bootstrap/store_connection.h"

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "src/bootstrap/store_protocol.h"
#include "src/net/socket.h"

namespace lockstep::bootstrap {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

// Per turn of the event loop, so that one busy client does not hold up the others.
constexpr int kReadsPerTurn = 8;
constexpr size_t kReadBytes = size_t{32} << 10;

class ConnectionImpl final : public StoreConnection {
 public:
  ConnectionImpl(asio::io_context& io, net::UniqueFd fd, Handlers handlers)
      : descriptor_(io, fd.release()), handlers_(std::move(handlers)) {}

  void Send(const std::string& body) override {
    if (closed_) return;
    unsent_ += WithLength(body);
    Flush();
  }

  void Close() override {
    if (std::exchange(closed_, true)) return;
    // Without reading on: bytes that nobody reads would turn the close into a reset, which overtakes what
    // was sent.
    ::shutdown(descriptor_.native_handle(), SHUT_WR);
    boost::system::error_code ignored;
    descriptor_.close(ignored);
  }

  void AwaitReadable() {
    if (closed_ || reading_) return;
    reading_ = true;
    descriptor_.async_wait(Descriptor::wait_read,
                           [self = shared_from_this(), this](const boost::system::error_code& error) {
                             reading_ = false;
                             if (!error && !closed_) Read();
                           });
  }

 private:
  void Read() {
    std::string buffer(kReadBytes, '\0');
    for (int i = 0; i < kReadsPerTurn; ++i) {
      const long received = net::ReceiveSome(descriptor_.native_handle(), buffer.data(), buffer.size());
      if (received == -EINTR) continue;
      if (received == -EAGAIN) break;
      if (received == 0) return Fail(absl::UnavailableError("closed by the other side"));
      if (received < 0) return Fail(absl::UnavailableError(net::ErrorText(static_cast<int>(-received))));
      if (absl::Status status = input_.Add(absl::string_view(buffer.data(), static_cast<size_t>(received)));
          !status.ok())
        return Fail(status);
      while (std::optional<std::string> body = input_.Next()) {
        handlers_.body(*body);
        if (closed_) return;
      }
      if (unsent_.size() > kMaxUnsentBytes) return;  // Flush reads on
    }
    AwaitReadable();
  }

  void Flush() {
    size_t done = 0;
    while (done < unsent_.size()) {
      const long sent =
          net::SendSome(descriptor_.native_handle(), unsent_.data() + done, unsent_.size() - done);
      if (sent == -EINTR) continue;
      if (sent == -EAGAIN) break;
      if (sent < 0) {
        // Not from here: Send's caller does not expect to be called back.
        unsent_.clear();
        asio::post(descriptor_.get_executor(), [self = shared_from_this(), this, sent] {
          Fail(absl::UnavailableError(net::ErrorText(static_cast<int>(-sent))));
        });
        return;
      }
      done += static_cast<size_t>(sent);
    }
    unsent_.erase(0, done);
    if (!unsent_.empty()) AwaitWritable();
    if (unsent_.size() <= kMaxUnsentBytes) AwaitReadable();
  }

  void AwaitWritable() {
    if (std::exchange(writing_, true)) return;
    descriptor_.async_wait(Descriptor::wait_write,
                           [self = shared_from_this(), this](const boost::system::error_code& error) {
                             writing_ = false;
                             if (!error && !closed_) Flush();
                           });
  }

  void Fail(const absl::Status& reason) {
    if (closed_) return;
    Close();
    handlers_.closed(reason);
  }

  Descriptor descriptor_;
  const Handlers handlers_;
  BodySplitter input_;
  std::string unsent_;
  bool reading_ = false;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<StoreConnection> StoreConnection::Start(asio::io_context& io, net::UniqueFd fd,
                                                        Handlers handlers) {
  auto connection = std::make_shared<ConnectionImpl>(io, std::move(fd), std::move(handlers));
  connection->AwaitReadable();
  return connection;
}

}  // namespace lockstep::bootstrap
