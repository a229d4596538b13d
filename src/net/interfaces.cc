#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/net/address.h"

namespace lockstep::net {
namespace {

class InterfaceFilter {
 public:
  explicit InterfaceFilter(std::string text) {
    if (absl::StartsWith(text, "^")) {
      exclude_ = true;
      text.erase(0, 1);
    }
    if (absl::StartsWith(text, "=")) {
      exact_ = true;
      text.erase(0, 1);
    }
    names_ = absl::StrSplit(text, ',', absl::SkipWhitespace());
  }

  bool Admits(const std::string& name) const {
    if (names_.empty()) return true;
    const bool named = std::any_of(names_.begin(), names_.end(), [&](const std::string& wanted) {
      return exact_ ? name == wanted : absl::StartsWith(name, wanted);
    });
    return named != exclude_;
  }

 private:
  bool exclude_ = false;
  bool exact_ = false;
  std::vector<std::string> names_;
};

bool IsVirtual(const std::string& name) {
  for (const char* prefix : {"docker", "virbr", "br-", "veth", "lxcbr", "lxdbr", "cni", "flannel", "cali"})
    if (absl::StartsWith(name, prefix)) return true;
  return false;
}

bool IsLinkLocal(const std::string& host) {
  return absl::StartsWith(host, "fe80:") || absl::StartsWith(host, "169.254.");
}

int Rank(const Interface& interface) {
  if (interface.loopback) return 3;
  if (!interface.up) return 2;
  return IsVirtual(interface.name) ? 1 : 0;
}

}  // namespace

absl::StatusOr<std::vector<Interface>> ListInterfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    return absl::UnavailableError(
        absl::StrCat("this host's network interfaces cannot be listed (", std::strerror(errno), ")"));
  std::vector<Interface> interfaces;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    interfaces.push_back({.name = entry->ifa_name,
                          .host = FromSocketAddress(entry->ifa_addr, bytes).host,
                          .up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0,
                          .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  return interfaces;
}

absl::StatusOr<std::vector<std::string>> ChooseHosts(std::vector<Interface> interfaces,
                                                     const std::string& filter) {
  std::vector<std::string> names;
  for (const Interface& interface : interfaces)
    if (std::find(names.begin(), names.end(), interface.name) == names.end()) names.push_back(interface.name);
  const InterfaceFilter admitted(filter);
  std::erase_if(interfaces, [&](const Interface& interface) { return !admitted.Admits(interface.name); });
  const bool routed = std::any_of(interfaces.begin(), interfaces.end(), [](const Interface& interface) {
    return !interface.loopback && !IsLinkLocal(interface.host);
  });
  if (routed)
    std::erase_if(interfaces, [](const Interface& interface) { return IsLinkLocal(interface.host); });
  std::stable_sort(interfaces.begin(), interfaces.end(),
                   [](const Interface& one, const Interface& other) { return Rank(one) < Rank(other); });
  std::vector<std::string> hosts;
  for (const Interface& interface : interfaces) hosts.push_back(interface.host);
  if (hosts.empty())
    return absl::UnavailableError(absl::StrCat("no network interface is left (LOCKSTEP_SOCKET_IFNAME=\"",
                                               filter, "\"; this host has ", absl::StrJoin(names, ", "),
                                               ")"));
  return hosts;
}

absl::StatusOr<std::vector<std::string>> UsableHosts(const std::string& filter) {
  absl::StatusOr<std::vector<Interface>> interfaces = ListInterfaces();
  if (!interfaces.ok()) return interfaces.status();
  return ChooseHosts(*std::move(interfaces), filter);
}

}  // namespace lockstep::net
