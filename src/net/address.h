#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::net {

// A numeric IPv4 or IPv6 address (with scope for link-local) and a port.
struct Address {
  std::string host;  // numeric, without brackets
  uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
std::string ToString(const Address& address);  // "127.0.0.1:4711", "[::1]:4711"
absl::StatusOr<Address> ParseAddress(const std::string& text);

// The addresses under which this host can be reached, best first: up interfaces before down ones, docker and
// virtual bridges last, loopback at the very end (ranks on the same host use it). `filter` is
// LOCKSTEP_SOCKET_IFNAME: a comma list of interface name prefixes; a leading '^' excludes, '=' asks for exact
// names. Unavailable when the filter leaves none.
absl::StatusOr<std::vector<std::string>> UsableHosts(const std::string& filter);

}  // namespace lockstep::net
