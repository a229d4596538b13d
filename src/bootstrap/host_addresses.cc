#include "src/bootstrap/host_addresses.h"

#include <netdb.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::bootstrap {
namespace {

using Clock = std::chrono::steady_clock;
using Found = absl::StatusOr<std::vector<net::Address>>;

constexpr std::chrono::milliseconds kPause{250};

Found ResolveSync(const std::string& host, uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list); error != 0)
    return absl::UnavailableError(gai_strerror(error));
  std::vector<net::Address> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const net::Address address = net::FromSocketAddress(entry->ai_addr, entry->ai_addrlen);
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  freeaddrinfo(list);
  return addresses;
}

// std::nullopt: not by `deadline`.
std::optional<Found> ResolveUntil(const std::string& host, uint16_t port, Clock::time_point deadline) {
  struct Answer {
    std::mutex mu;
    std::condition_variable there;
    std::optional<Found> found;
  };
  auto answer = std::make_shared<Answer>();  // shared: the resolver's thread may outlive the wait
  try {
    std::thread([answer, host, port] {
      pthread_setname_np(pthread_self(), "lockstep-dns");
      Found found = ResolveSync(host, port);
      const std::lock_guard<std::mutex> lock(answer->mu);
      answer->found = std::move(found);
      answer->there.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    return Found(absl::ResourceExhaustedError(error.what()));
  }
  std::unique_lock<std::mutex> lock(answer->mu);
  answer->there.wait_until(lock, deadline, [&] { return answer->found.has_value(); });
  return answer->found;
}

void AddLoopbackWhereLocal(uint16_t port, std::vector<net::Address>* addresses) {
  const absl::StatusOr<std::vector<net::Interface>> interfaces = net::ListInterfaces();
  const auto local = [&](const net::Address& address) {
    return net::IsLoopback(address.host) ||
           (interfaces.ok() && std::any_of(interfaces->begin(), interfaces->end(),
                                           [&](const net::Interface& i) { return i.host == address.host; }));
  };
  if (!std::any_of(addresses->begin(), addresses->end(), local)) return;
  for (const char* host : {"127.0.0.1", "::1"}) {
    const net::Address loopback{host, port};
    if (std::find(addresses->begin(), addresses->end(), loopback) == addresses->end())
      addresses->push_back(loopback);
  }
}

}  // namespace

absl::StatusOr<std::vector<net::Address>> HostAddresses(const std::string& host, uint16_t port,
                                                        std::chrono::nanoseconds timeout) {
  const Clock::time_point deadline =
      Clock::now() + std::min<std::chrono::nanoseconds>(timeout, std::chrono::hours(24));
  std::vector<net::Address> addresses;
  if (net::ToSocketAddress({host, port}).ok()) addresses.push_back({host, port});
  while (addresses.empty()) {
    std::optional<Found> found = ResolveUntil(host, port, deadline);
    if (found && found->ok()) {
      addresses = **std::move(found);
      break;
    }
    if (!found || Clock::now() + kPause >= deadline)
      return absl::DeadlineExceededError(absl::StrCat(
          "the name ", host, " could not be resolved within ", std::chrono::duration<double>(timeout).count(),
          " s (", found ? std::string(found->status().message()) : "no answer from the resolver",
          "); is MASTER_ADDR right?"));
    std::this_thread::sleep_for(kPause);
  }
  AddLoopbackWhereLocal(port, &addresses);
  return addresses;
}

}  // namespace lockstep::bootstrap
