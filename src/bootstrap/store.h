#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/net/switchboard.h"

namespace lockstep::bootstrap {

// A key-value store that the ranks of a starting job meet at. Values are opaque bytes, up to 1 MiB; keys up
// to 1 KiB. Thread-safe. Every call that may wait has a timeout and gives DeadlineExceeded naming the key
// (and, for Barrier and Wait, what is missing); Unavailable when the store's host is gone.
class Store {
 public:
  virtual ~Store() = default;
  virtual absl::Status Set(const std::string& key, const std::string& value) = 0;
  // Waits until the key is there.
  virtual absl::StatusOr<std::string> Get(const std::string& key, std::chrono::nanoseconds timeout) = 0;
  // Adds to a decimal counter (absent: 0) and returns the sum.
  virtual absl::StatusOr<int64_t> Add(const std::string& key, int64_t delta) = 0;
  virtual absl::Status Wait(const std::vector<std::string>& keys, std::chrono::nanoseconds timeout) = 0;
  // Sets the key to `desired` if it holds `expected` (empty: is absent); returns what it holds afterwards.
  virtual absl::StatusOr<std::string> CompareAndSet(const std::string& key, const std::string& expected,
                                                    const std::string& desired) = 0;
  // False: it was not there.
  virtual absl::StatusOr<bool> Delete(const std::string& key) = 0;
  // Returns once `count` callers have entered the barrier `name`; the same name may be used again. A time-out
  // names the ranks that have not come.
  virtual absl::Status Barrier(const std::string& name, int rank, int count,
                               std::chrono::nanoseconds timeout) = 0;
};

// Serves a store on rank 0. Runs on `switchboard`'s control thread, which must outlive it; memory is bounded:
// 64 MiB of keys and values (beyond: ResourceExhausted), and a few MiB for each connected rank. Clients are
// proven by the handshake, as everywhere. Destruction closes every connection: clients get Unavailable.
class StoreServer {
 public:
  struct Options {
    uint16_t port = 0;           // 0: the system picks
    int socket = -1;             // a bound TCP socket, listening or not, taken over; overrides the port
    std::string secret;          // empty: listens on loopback only
    bool loopback_only = false;  // also with a secret
    net::Hello identity;
  };
  // Listens on every interface, IPv4 and IPv6. Unavailable for a port in use, naming the address and what to
  // do; InvalidArgument for an unusable socket, or one that is open to strangers without a secret.
  static absl::StatusOr<std::unique_ptr<StoreServer>> Start(net::Switchboard& switchboard, Options options);
  virtual ~StoreServer() = default;
  virtual uint16_t port() const = 0;
};

// Where a store is. `host` may be a name: every address it resolves to is tried side by side; one that
// resolves to 127.0.x.x on its own host does no harm.
struct StoreAddress {
  std::string host;
  uint16_t port = 0;
};

// Connects to a store with `switchboard`'s secret and identity, retrying until it is up, within `timeout`
// (DeadlineExceeded). PermissionDenied and FailedPrecondition as Switchboard::Dial says. The switchboard must
// outlive the result, whose calls must not be made on the control thread.
absl::StatusOr<std::unique_ptr<Store>> ConnectStore(net::Switchboard& switchboard,
                                                    const StoreAddress& address,
                                                    std::chrono::nanoseconds timeout);

}  // namespace lockstep::bootstrap
