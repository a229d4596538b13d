#include "src/net/acceptor.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/net/handshake_session.h"
#include "src/net/socket.h"

namespace lockstep::net {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

// Per turn of the event loop: a flood on the listener must not hold up the handshakes in progress.
constexpr int kAcceptsPerTurn = 4;
constexpr std::chrono::milliseconds kDescriptorPause{100};

bool RanOut(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

class AcceptorImpl final : public Acceptor {
 public:
  AcceptorImpl(asio::io_context& io, Options options) : io_(io), options_(std::move(options)) {
    for (UniqueFd& fd : options_.listeners)
      listeners_.push_back(std::make_unique<Listener>(io, fd.release()));
    for (const auto& listener : listeners_) Await(listener.get());
  }

  ~AcceptorImpl() override {
    *alive_ = false;
    for (const auto& session : unproven_) session->Close();
  }

  size_t unproven() const override { return unproven_.size(); }

 private:
  using Sessions = std::list<std::shared_ptr<HandshakeSession>>;
  struct Listener {
    Listener(asio::io_context& io, int fd) : descriptor(io, fd), timer(io) {}
    Descriptor descriptor;
    asio::steady_timer timer;
  };

  void Await(Listener* listener) {
    listener->descriptor.async_wait(Descriptor::wait_read,
                                    [this, alive = alive_, listener](const boost::system::error_code& error) {
                                      if (*alive && !error) Accept(listener);
                                    });
  }

  void Accept(Listener* listener) {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      const int fd = AcceptOne(listener->descriptor.native_handle());
      if (fd >= 0) {
        ran_out_ = false;
        Begin(UniqueFd(fd));
      } else if (RanOut(-fd)) {
        return Pause(listener, -fd);
      } else if (fd == -EAGAIN) {
        break;
      }  // anything else is the fate of that one connection
    }
    Await(listener);
  }

  void Pause(Listener* listener, int error) {
    if (!std::exchange(ran_out_, true))
      options_.log(absl::StrCat("cannot accept connections for now (", ErrorText(error),
                                "); raise the limit of open files (ulimit -n)"));
    DropOldest();
    listener->timer.expires_after(kDescriptorPause);
    listener->timer.async_wait([this, alive = alive_, listener](const boost::system::error_code& wait_error) {
      if (*alive && !wait_error) Accept(listener);
    });
  }

  void Begin(UniqueFd fd) {
    if (unproven_.size() >= options_.max_unproven) DropOldest();
    ConfigureConnection(fd.get());
    const auto place = unproven_.emplace(unproven_.end());
    *place = HandshakeSession::Start(
        io_, std::move(fd),
        Handshake(Handshake::Side::kAcceptor, options_.secret, options_.identity(), options_.admit),
        options_.handshake_limit, [this, place](const absl::Status& status) { Settle(place, status); });
  }

  void Settle(Sessions::iterator place, const absl::Status& status) {
    const std::shared_ptr<HandshakeSession> session = *place;
    unproven_.erase(place);
    if (!status.ok()) {
      session->Close();
      return Report(status);
    }
    absl::StatusOr<UniqueFd> fd = session->Take();
    if (fd.ok()) options_.deliver(session->peer(), *std::move(fd));
  }

  void Report(const absl::Status& status) {
    if (absl::IsFailedPrecondition(status)) {
      options_.log(absl::StrCat("refused a connection: ", std::string(status.message())));
    } else if ((absl::IsPermissionDenied(status) || absl::IsUnimplemented(status)) &&
               !std::exchange(stranger_seen_, true)) {
      options_.log(absl::StrCat("refused a connection: ", std::string(status.message()),
                                " (further ones are not reported)"));
    }
  }

  void DropOldest() {
    if (unproven_.empty()) return;
    unproven_.front()->Close();
    unproven_.pop_front();
  }

  asio::io_context& io_;
  Options options_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  Sessions unproven_;  // oldest first
  bool ran_out_ = false;
  bool stranger_seen_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<Acceptor> Acceptor::Start(asio::io_context& io, Options options) {
  return std::make_unique<AcceptorImpl>(io, std::move(options));
}

}  // namespace lockstep::net
