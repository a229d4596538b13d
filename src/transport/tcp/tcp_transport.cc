#include "src/transport/tcp/tcp_transport.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/lost_ranks.h"

namespace lockstep::transport::tcp {

TcpTransport::TcpTransport(std::shared_ptr<TcpHub> hub, Options options)
    : hub_(std::move(hub)), options_(std::move(options)), connections_(options_.members.size() * kLaneCount) {
  if (hub_ == nullptr) return;
  mail_ = true;  // what came before this rank made the communicator
  hub_->Register(options_.communicator, [this] {
    mail_.store(true, std::memory_order_release);
    if (options_.wake) options_.wake();
  });
}

TcpTransport::~TcpTransport() {
  if (hub_ != nullptr) hub_->Unregister(options_.communicator);
}

TcpConnection& TcpTransport::Reach(Lane lane, int peer) {
  std::unique_ptr<TcpConnection>& connection =
      connections_[static_cast<size_t>(peer * kLaneCount + static_cast<int>(lane))];
  if (connection == nullptr) {
    connection = std::make_unique<TcpConnection>(
        TcpConnection::Identity{options_.communicator, options_.epoch, peer, options_.payload_crc});
    if (!aborted_.ok()) {
      connection->Break(aborted_);
    } else {
      hub_->Connect(options_.communicator, options_.members[static_cast<size_t>(peer)], lane,
                    options_.connect_timeout);
      mail_.store(true, std::memory_order_release);  // the peer may have connected before this rank asked
    }
  }
  if (connection->idle()) active_.push_back(connection.get());
  return *connection;
}

void TcpTransport::PostSend(Lane lane, int peer, const Tag& tag, absl::Span<const std::byte> data,
                            Operation* operation) {
  operation->Post(peer, tag, const_cast<std::byte*>(data.data()), static_cast<int64_t>(data.size()));
  Reach(lane, peer).PostSend(operation);
}

void TcpTransport::PostReceive(Lane lane, int peer, const Tag& tag, absl::Span<std::byte> data,
                               Operation* operation) {
  operation->Post(peer, tag, data.data(), static_cast<int64_t>(data.size()));
  Reach(lane, peer).PostReceive(operation);
}

bool TcpTransport::Progress() {
  if (mail_.load(std::memory_order_acquire)) TakeMail();
  bool moved = false;
  for (size_t i = 0; i < active_.size();) {
    moved |= active_[i]->Progress(&counters_);
    if (active_[i]->idle()) {
      active_[i] = active_.back();
      active_.pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

void TcpTransport::TakeMail() {
  mail_.store(false, std::memory_order_relaxed);
  if (hub_ == nullptr) return;
  for (TcpHub::Mail& mail : hub_->TakeMail(options_.communicator)) {
    auto member = std::find(options_.members.begin(), options_.members.end(), mail.peer);
    if (member == options_.members.end()) continue;
    const int peer = static_cast<int>(member - options_.members.begin());
    const size_t index = static_cast<size_t>(peer * kLaneCount + static_cast<int>(mail.lane));
    std::unique_ptr<TcpConnection>& connection = connections_[index];
    if (connection == nullptr)
      connection = std::make_unique<TcpConnection>(
          TcpConnection::Identity{options_.communicator, options_.epoch, peer, options_.payload_crc});
    if (!mail.connection.ok()) {
      connection->Break(
          LostRanksError({peer}, absl::StrCat("cannot connect to rank ", peer, " (",
                                              std::string(mail.connection.status().message()), ")")));
    } else if (!connection->attached()) {
      connection->Attach(std::move(*mail.connection));
    }
  }
}

void TcpTransport::AppendWaits(std::vector<pollfd>* waits) const {
  for (const TcpConnection* connection : active_)
    if (const short events = connection->wanted_events(); events != 0)
      waits->push_back({connection->fd(), events, 0});
}

void TcpTransport::Abort(const absl::Status& reason) {
  if (!aborted_.ok()) return;
  aborted_ = reason;
  for (std::unique_ptr<TcpConnection>& connection : connections_)
    if (connection != nullptr) connection->Break(reason);
  active_.clear();
}

}  // namespace lockstep::transport::tcp
