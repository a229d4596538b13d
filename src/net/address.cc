#include "src/net/address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lockstep::net {

std::string ToString(const Address& address) {
  const bool v6 = absl::StrContains(address.host, ':');
  return absl::StrCat(v6 ? "[" : "", address.host, v6 ? "]" : "", ":", address.port);
}

absl::StatusOr<Address> ParseAddress(const std::string& text) {
  const auto malformed = [&text] {
    return absl::InvalidArgumentError(
        absl::StrCat("malformed address (\"", text, "\"); write 192.0.2.1:4711 or [2001:db8::1]:4711"));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return malformed();
  Address address{.host = text.substr(0, colon)};
  uint32_t port;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) return malformed();
  address.port = static_cast<uint16_t>(port);
  const bool bracketed = address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
  if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
  if (bracketed != absl::StrContains(address.host, ':') || !ToSocketAddress(address).ok()) return malformed();
  return address;
}

absl::StatusOr<SocketAddress> ToSocketAddress(const Address& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0)
    return absl::InvalidArgumentError(absl::StrCat("not a numeric address (", address.host, ")"));
  SocketAddress result;
  result.bytes = found->ai_addrlen;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return result;
}

Address FromSocketAddress(const sockaddr* address, socklen_t bytes) {
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "0";
  getnameinfo(address, bytes, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  uint32_t number = 0;
  if (!absl::SimpleAtoi(port, &number)) number = 0;
  return {host, static_cast<uint16_t>(number)};
}

bool IsLoopback(const std::string& numeric_host) {
  return absl::StartsWith(numeric_host, "127.") || numeric_host == "::1";
}

}  // namespace lockstep::net
