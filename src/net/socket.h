#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/net/address.h"
#include "src/net/unique_fd.h"

namespace lockstep::net {

// TCP sockets as the rest of this floor wants them: non-blocking, close-on-exec. Thread-safe.

// "connection refused" and the like, for messages.
std::string ErrorText(int error);

// A listening socket; port 0: the system picks. An IPv6 socket takes no IPv4. AlreadyExists when the port is
// taken, Unimplemented when the host lacks the family, else the system's reason.
absl::StatusOr<UniqueFd> Listen(const Address& address);
// Listens on all interfaces or on loopback only, IPv4 and IPv6, on one port where both can have it. At least
// one socket; errors as Listen's. Port 0: the system picks.
absl::StatusOr<std::vector<UniqueFd>> ListenOnBothFamilies(bool loopback_only, uint16_t port);

// Begins to connect: the socket is writable when it is decided, ConnectError says how.
absl::StatusOr<UniqueFd> BeginConnect(const Address& address);
int ConnectError(int fd);  // errno's value, 0: connected
// A connect to an ephemeral port of this host may meet itself.
bool IsConnectedToItself(int fd);

// TCP_NODELAY, and keep-alive at intervals of seconds.
void ConfigureConnection(int fd);
Address LocalAddress(int fd);
Address PeerAddress(int fd);

// One accept, one send, one receive. What is below 0 is errno's value, negated: -EAGAIN and so on.
// Never raises SIGPIPE.
int AcceptOne(int listener);  // a descriptor
long SendSome(int fd, const void* data, size_t bytes);
long ReceiveSome(int fd, void* data, size_t bytes);  // 0: the other side closed

}  // namespace lockstep::net
