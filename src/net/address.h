#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::net {

// A numeric IPv4 or IPv6 address (with scope for link-local: "fe80::1%eth0") and a port.
struct Address {
  std::string host;  // numeric, without brackets
  uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
std::string ToString(const Address& address);  // "127.0.0.1:4711", "[::1]:4711"
// InvalidArgument for what is not a numeric address with a port.
absl::StatusOr<Address> ParseAddress(const std::string& text);

// The same for system calls.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
absl::StatusOr<SocketAddress> ToSocketAddress(const Address& address);
Address FromSocketAddress(const sockaddr* address, socklen_t bytes);

bool IsLoopback(const std::string& numeric_host);  // 127.0.0.0/8 and ::1

// One address of one network interface of this host.
struct Interface {
  std::string name;
  std::string host;
  bool up = true;  // and its link too
  bool loopback = false;
};

// The addresses under which this host can be reached, best first: up interfaces before down ones, docker and
// virtual bridges last, loopback at the very end (ranks on the same host use it). `filter` is
// LOCKSTEP_SOCKET_IFNAME: a comma list of interface name prefixes; a leading '^' excludes, '=' asks for exact
// names ("^=lo0" excludes exactly lo0). Link-local addresses count only where there is nothing but them and
// loopback: their scope means nothing to a peer. Unavailable when the filter leaves none.
absl::StatusOr<std::vector<std::string>> UsableHosts(const std::string& filter);
// The same from a given list.
absl::StatusOr<std::vector<std::string>> ChooseHosts(std::vector<Interface> interfaces,
                                                     const std::string& filter);
absl::StatusOr<std::vector<Interface>> ListInterfaces();

}  // namespace lockstep::net
