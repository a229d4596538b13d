#include "src/net/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace lockstep::net {
namespace {

absl::StatusOr<UniqueFd> MakeSocket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd) return fd;
  if (errno == EAFNOSUPPORT) return absl::UnimplementedError("this host does not speak this address family");
  return absl::ResourceExhaustedError(absl::StrCat("no socket to be had (", ErrorText(errno),
                                                   "); raise the limit of open files (ulimit -n)"));
}

void SetOption(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

absl::Status ListenError(const Address& address, int error) {
  const std::string where = ToString(address);
  if (error == EADDRINUSE)
    return absl::AlreadyExistsError(absl::StrCat("cannot listen on ", where, " (the port is in use)"));
  if (error == EADDRNOTAVAIL)
    return absl::UnimplementedError(
        absl::StrCat("cannot listen on ", where, " (no interface has this address)"));
  return absl::UnavailableError(absl::StrCat("cannot listen on ", where, " (", ErrorText(error), ")"));
}

}  // namespace

std::string ErrorText(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "connection refused";
    case ETIMEDOUT:
      return "no answer";
    case EMFILE:
      return "too many open files";
    default:
      return std::strerror(error);
  }
}

absl::StatusOr<UniqueFd> Listen(const Address& address) {
  absl::StatusOr<SocketAddress> target = ToSocketAddress(address);
  if (!target.ok()) return target.status();
  absl::StatusOr<UniqueFd> fd = MakeSocket(target->storage.ss_family);
  if (!fd.ok()) return fd.status();
  // A restarted job gets its port back although old connections linger in TIME_WAIT.
  SetOption(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (target->storage.ss_family == AF_INET6) SetOption(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(fd->get(), target->get(), target->bytes) != 0 || ::listen(fd->get(), SOMAXCONN) != 0)
    return ListenError(address, errno);
  return fd;
}

absl::StatusOr<std::vector<UniqueFd>> ListenOnBothFamilies(bool loopback_only, uint16_t port) {
  std::vector<UniqueFd> listeners;
  absl::StatusOr<UniqueFd> v4 = Listen({loopback_only ? "127.0.0.1" : "0.0.0.0", port});
  if (!v4.ok() && !absl::IsUnimplemented(v4.status())) return v4.status();
  const uint16_t shared_port = v4.ok() ? LocalAddress(v4->get()).port : port;
  const std::string v6_host = loopback_only ? "::1" : "::";
  absl::StatusOr<UniqueFd> v6 = Listen({v6_host, shared_port});
  // The system picked a port that is free for IPv4 only: another one for IPv6 will do.
  if (absl::IsAlreadyExists(v6.status()) && port == 0) v6 = Listen({v6_host, 0});
  if (!v6.ok() && (!v4.ok() || absl::IsAlreadyExists(v6.status()))) return v6.status();
  if (v4.ok()) listeners.push_back(*std::move(v4));
  if (v6.ok()) listeners.push_back(*std::move(v6));
  return listeners;
}

absl::StatusOr<UniqueFd> BeginConnect(const Address& address) {
  absl::StatusOr<SocketAddress> target = ToSocketAddress(address);
  if (!target.ok()) return target.status();
  absl::StatusOr<UniqueFd> fd = MakeSocket(target->storage.ss_family);
  if (!fd.ok()) return fd.status();
  ConfigureConnection(fd->get());
  if (::connect(fd->get(), target->get(), target->bytes) == 0 || errno == EINPROGRESS) return fd;
  if (errno == ECONNREFUSED) return absl::UnavailableError(ErrorText(errno));
  return absl::NotFoundError(ErrorText(errno));
}

int ConnectError(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

bool IsConnectedToItself(int fd) { return LocalAddress(fd) == PeerAddress(fd); }

void ConfigureConnection(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A host that is gone breaks an idle connection after half a minute. A stopped process does not: its kernel
  // answers.
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

Address LocalAddress(int fd) {
  SocketAddress address;
  address.bytes = sizeof address.storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.bytes) != 0) return {};
  return FromSocketAddress(address.get(), address.bytes);
}

Address PeerAddress(int fd) {
  SocketAddress address;
  address.bytes = sizeof address.storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.bytes) != 0) return {};
  return FromSocketAddress(address.get(), address.bytes);
}

int AcceptOne(int listener) {
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return fd >= 0 ? fd : -errno;
}

long SendSome(int fd, const void* data, size_t bytes) {
  const ssize_t sent = ::send(fd, data, bytes, MSG_NOSIGNAL);
  return sent >= 0 ? sent : -errno;
}

long ReceiveSome(int fd, void* data, size_t bytes) {
  const ssize_t received = ::recv(fd, data, bytes, 0);
  return received >= 0 ? received : -errno;
}

}  // namespace lockstep::net
