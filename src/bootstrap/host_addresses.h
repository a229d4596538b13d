#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/net/address.h"

namespace lockstep::bootstrap {

// Every address that a host name or numeric address stands for, in the resolver's order. Where one of them is
// this host's own, its loopback addresses come last: a name that stands for 127.0.1.1 in the host's own
// /etc/hosts reaches a server on any of its interfaces. Tries again while the name is unknown (it may be
// about to appear); DeadlineExceeded after `timeout` says so. Thread-safe; a resolver that hangs is left
// behind on a thread of its own ("lockstep-dns").
absl::StatusOr<std::vector<net::Address>> HostAddresses(const std::string& host, uint16_t port,
                                                        std::chrono::nanoseconds timeout);

}  // namespace lockstep::bootstrap
