#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lockstep/version.h"
#include "src/bootstrap/store.h"
#include "src/bootstrap/store_connection.h"
#include "src/bootstrap/store_protocol.h"
#include "src/bootstrap/store_table.h"
#include "src/net/acceptor.h"
#include "src/net/socket.h"

namespace lockstep::bootstrap {
namespace {

namespace asio = boost::asio;

// Takes over a socket that a launcher bound, whether or not it listens already.
absl::StatusOr<std::vector<net::UniqueFd>> Adopt(int socket, bool secret) {
  net::UniqueFd fd(socket);
  if (::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(socket, F_SETFL, O_NONBLOCK) != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("the store's socket ", socket, " is unusable (", net::ErrorText(errno), ")"));
  const net::Address address = net::LocalAddress(socket);
  if (!secret && !net::IsLoopback(address.host))
    return absl::InvalidArgumentError(absl::StrCat("the store's socket is bound to ", net::ToString(address),
                                                   ", where anyone may reach it, and there is no secret (set "
                                                   "LOCKSTEP_SECRET, or bind it to 127.0.0.1)"));
  if (::listen(socket, SOMAXCONN) != 0)
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on the store's socket, ",
                                                   net::ToString(address), " (", net::ErrorText(errno), ")"));
  std::vector<net::UniqueFd> listeners;
  listeners.push_back(std::move(fd));
  return listeners;
}

absl::StatusOr<std::vector<net::UniqueFd>> Bind(const StoreServer::Options& options) {
  if (options.socket >= 0) return Adopt(options.socket, !options.secret.empty());
  absl::StatusOr<std::vector<net::UniqueFd>> listeners =
      net::ListenOnBothFamilies(options.loopback_only || options.secret.empty(), options.port);
  if (listeners.ok()) return listeners;
  return absl::UnavailableError(absl::StrCat(
      "rank ", options.identity.rank, " cannot serve the store: ", std::string(listeners.status().message()),
      "; end what holds the port (ss -ltnp shows it) or give the job another one (MASTER_PORT, or "
      "LOCKSTEP_STORE_PORT beside a launcher's own store)"));
}

class ServerImpl final : public StoreServer {
 public:
  ServerImpl(net::Switchboard& switchboard, uint16_t port)
      : switchboard_(switchboard),
        port_(port),
        timer_(switchboard.io()),
        table_([this](StoreTable::Client client, const Response& response) { Send(client, response); }) {}

  ~ServerImpl() override {
    switchboard_.RunSync([this] {
      *alive_ = false;
      acceptor_.reset();
      for (const auto& [client, connection] : connections_) connection->Close();
      timer_.cancel();
    });
  }

  uint16_t port() const override { return port_; }

  void Begin(std::vector<net::UniqueFd> listeners, const Options& options) {
    net::Hello identity = options.identity;
    if (identity.library_version.empty()) identity.library_version = Version();
    net::Acceptor::Options acceptor;
    acceptor.listeners = std::move(listeners);
    acceptor.secret = options.secret;
    acceptor.identity = [identity] { return identity; };
    acceptor.admit = [identity](const net::Hello& peer) {
      if (peer.role != net::Role::kStore)
        return absl::NotFoundError("this is the store's port, not a rank's");
      return net::CompareHellos(identity, peer);
    };
    acceptor.deliver = [this](const net::Hello&, net::UniqueFd fd) { Serve(std::move(fd)); };
    acceptor.log = [this](const std::string& line) { switchboard_.Log(absl::StrCat("store: ", line)); };
    acceptor_ = net::Acceptor::Start(switchboard_.io(), std::move(acceptor));
  }

 private:
  void Serve(net::UniqueFd fd) {
    const StoreTable::Client client = next_client_++;
    connections_[client] =
        StoreConnection::Start(switchboard_.io(), std::move(fd),
                               {.body = [this, client](const std::string& body) { Take(client, body); },
                                .closed = [this, client](const absl::Status&) { Drop(client); }});
  }

  void Take(StoreTable::Client client, const std::string& body) {
    absl::StatusOr<Request> request = DecodeRequest(body);
    if (!request.ok()) {
      switchboard_.Log(absl::StrCat("store: closed a connection: ", std::string(request.status().message())));
      return Drop(client);
    }
    table_.Handle(client, *request, StoreTable::Clock::now());
    AwaitDeadline();
  }

  void Drop(StoreTable::Client client) {
    const auto found = connections_.find(client);
    if (found == connections_.end()) return;
    found->second->Close();
    connections_.erase(found);
    table_.Forget(client);
  }

  void Send(StoreTable::Client client, const Response& response) {
    const auto found = connections_.find(client);
    if (found != connections_.end()) found->second->Send(EncodeResponse(response));
  }

  void AwaitDeadline() {
    const std::optional<StoreTable::Clock::time_point> deadline = table_.next_deadline();
    if (deadline == awaited_) return;
    awaited_ = deadline;
    if (!deadline) {
      timer_.cancel();
      return;
    }
    timer_.expires_at(*deadline);
    timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
      if (error || !*alive) return;
      awaited_.reset();
      table_.Expire(StoreTable::Clock::now());
      AwaitDeadline();
    });
  }

  net::Switchboard& switchboard_;
  const uint16_t port_;
  // Of the control thread.
  asio::steady_timer timer_;
  std::optional<StoreTable::Clock::time_point> awaited_;
  StoreTable table_;
  std::map<StoreTable::Client, std::shared_ptr<StoreConnection>> connections_;
  StoreTable::Client next_client_ = 1;
  std::unique_ptr<net::Acceptor> acceptor_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

absl::StatusOr<std::unique_ptr<StoreServer>> StoreServer::Start(net::Switchboard& switchboard,
                                                                Options options) {
  absl::StatusOr<std::vector<net::UniqueFd>> listeners = Bind(options);
  if (!listeners.ok()) return listeners.status();
  auto server = std::make_unique<ServerImpl>(switchboard, net::LocalAddress(listeners->front().get()).port);
  switchboard.RunSync([&] { server->Begin(*std::move(listeners), options); });
  return server;
}

}  // namespace lockstep::bootstrap
