#include "src/transport/tcp/tcp_hub.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::transport::tcp {
namespace {

// Connections for communicators that this rank has not made yet. A rank that lags behind by one Split gets at
// most two lanes from each peer.
constexpr size_t kMaxUnclaimed = 4096;

}  // namespace

TcpHub::TcpHub(std::shared_ptr<net::Switchboard> switchboard,
               std::vector<std::vector<net::Address>> addresses, net::Hello identity, SocketOptions options)
    : switchboard_(std::move(switchboard)),
      addresses_(std::move(addresses)),
      identity_(std::move(identity)),
      options_(std::move(options)),
      alive_(std::make_shared<Alive>()) {
  {
    absl::MutexLock lock(&alive_->mu);
    alive_->hub = this;
  }
  switchboard_->OnAccept(net::Role::kData, [alive = alive_](const net::Hello& peer, net::UniqueFd fd) {
    absl::MutexLock lock(&alive->mu);
    if (alive->hub == nullptr || peer.lane >= kLaneCount) return;
    if (peer.rank < 0 || static_cast<size_t>(peer.rank) >= alive->hub->addresses_.size()) return;
    alive->hub->Deliver(peer.communicator, {peer.rank, static_cast<Lane>(peer.lane), std::move(fd)});
  });
}

TcpHub::~TcpHub() {
  absl::MutexLock lock(&alive_->mu);
  alive_->hub = nullptr;
}

void TcpHub::Register(uint64_t communicator, std::function<void()> wake) {
  absl::MutexLock lock(&mu_);
  Box& box = boxes_[communicator];
  unclaimed_ -= box.mail.size();
  box.wake = std::move(wake);
}

void TcpHub::Unregister(uint64_t communicator) {
  Box closing;
  absl::MutexLock lock(&mu_);
  auto box = boxes_.find(communicator);
  if (box == boxes_.end()) return;
  closing = std::move(box->second);
  boxes_.erase(box);
}

void TcpHub::Connect(uint64_t communicator, int peer, Lane lane, std::chrono::nanoseconds timeout) {
  if (peer > identity_.rank) return;
  net::Hello hello = identity_;
  hello.role = net::Role::kData;
  hello.peer_rank = peer;
  hello.communicator = communicator;
  hello.lane = static_cast<uint8_t>(lane);
  switchboard_->Dial(addresses_[static_cast<size_t>(peer)], std::move(hello), timeout,
                     /*retry_refused=*/false,
                     [alive = alive_, communicator, peer, lane](absl::StatusOr<net::UniqueFd> connection) {
                       absl::MutexLock lock(&alive->mu);
                       if (alive->hub != nullptr)
                         alive->hub->Deliver(communicator, {peer, lane, std::move(connection)});
                     });
}

void TcpHub::Deliver(uint64_t communicator, Mail mail) {
  if (mail.connection.ok()) PrepareSocket(mail.connection->get());
  absl::MutexLock lock(&mu_);
  Box& box = boxes_[communicator];
  if (!box.wake) {
    if (unclaimed_ >= kMaxUnclaimed) return;
    ++unclaimed_;
  }
  box.mail.push_back(std::move(mail));
  if (box.wake) box.wake();
}

std::vector<TcpHub::Mail> TcpHub::TakeMail(uint64_t communicator) {
  absl::MutexLock lock(&mu_);
  auto box = boxes_.find(communicator);
  if (box == boxes_.end()) return {};
  return std::exchange(box->second.mail, {});
}

void TcpHub::PrepareSocket(int fd) const {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // Not allowed everywhere (a child network namespace, an unprivileged user): the kernel's choice stays then.
  if (!options_.congestion.empty())
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options_.congestion.data(),
               static_cast<socklen_t>(options_.congestion.size()));
  if (options_.buffer_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &options_.buffer_bytes, sizeof options_.buffer_bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &options_.buffer_bytes, sizeof options_.buffer_bytes);
  }
}

}  // namespace lockstep::transport::tcp
