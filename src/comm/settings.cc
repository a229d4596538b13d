#include "src/comm/settings.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/env.h"

namespace lockstep::comm {
namespace {

absl::StatusOr<std::string> ReadSecret(const std::string& given) {
  if (!given.empty()) return given;
  if (std::string secret = env::Text("LOCKSTEP_SECRET"); !secret.empty()) return secret;
  const std::string path = env::Text("LOCKSTEP_SECRET_FILE");
  if (path.empty()) return std::string();
  std::ifstream file(path);
  std::string secret((std::istreambuf_iterator<char>(file)), {});
  absl::StripTrailingAsciiWhitespace(&secret);
  if (!file.good() && secret.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("LOCKSTEP_SECRET_FILE=", path, " cannot be read or is empty"));
  return secret;
}

absl::Status Fill(std::chrono::nanoseconds given, const char* variable, std::chrono::nanoseconds* setting) {
  *setting = given;
  if (given.count() > 0) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(*setting, env::Duration(variable));
  if (setting->count() == 0)
    return absl::InvalidArgumentError(absl::StrCat(variable, " must be longer than 0"));
  return absl::OkStatus();
}

absl::Status CheckLaunch(const bootstrap::LaunchEnvironment& launch) {
  if (launch.world_size < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("the world size is ", launch.world_size, ", at least 1 is needed"));
  if (launch.rank < 0 || launch.rank >= launch.world_size)
    return absl::InvalidArgumentError(absl::StrCat("rank ", launch.rank, " is not in a world of ",
                                                   launch.world_size, " (ranks count from 0)"));
  return absl::OkStatus();
}

// The socket that the launcher bound for the store, if this process still has it: a second communicator of
// the process finds it gone, or the number reused, and binds the port itself.
absl::StatusOr<int> InheritedStoreSocket(uint16_t port) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t fd, env::Number("LOCKSTEP_STORE_SOCKET"));
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  const bool bound = getsockname(static_cast<int>(fd), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                     address.sin_family == AF_INET && ntohs(address.sin_port) == port;
  size = sizeof address;
  const bool connected = getpeername(static_cast<int>(fd), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return bound && !connected ? static_cast<int>(fd) : -1;
}

absl::StatusOr<bootstrap::LaunchEnvironment> ReadLaunch(const CommunicatorOptions& options) {
  bootstrap::LaunchEnvironment launch;
  // A program that says who it is does not need a launcher, nor its variables to make sense.
  if (!options.rank || !options.world_size) {
    LOCKSTEP_ASSIGN_OR_RETURN(launch, bootstrap::ReadLaunchEnvironment());
  } else {
    launch.launcher = "options";
  }
  launch.rank = options.rank.value_or(launch.rank);
  launch.world_size = options.world_size.value_or(launch.world_size);
  launch.local_rank = options.local_rank.value_or(launch.local_rank);
  if (!options.master_address.empty()) launch.master_address = options.master_address;
  launch.master_port = options.master_port.value_or(launch.master_port);
  LOCKSTEP_RETURN_IF_ERROR(CheckLaunch(launch));
  if (launch.world_size > 1 && launch.master_port == 0 && (launch.rank != 0 || options.store_socket < 0))
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", launch.rank, " of ", launch.world_size,
        " does not know where the ranks meet (no MASTER_PORT); start the program with `lockstep run -n ",
        launch.world_size, "`, or set MASTER_ADDR and MASTER_PORT"));
  return launch;
}

}  // namespace

std::string Settings::MustAgree() const {
  return absl::StrCat("world_size=", launch.world_size, ";backend=", backend, ";algorithm=", Name(algorithm),
                      ";determinism=", determinism == Determinism::kStrict ? "strict" : "fast",
                      ";buffer_bytes=", buffer_bytes);
}

absl::StatusOr<Settings> ReadSettings(const CommunicatorOptions& options) {
  env::WarnOfUnknownVariables();
  Settings settings;
  LOCKSTEP_ASSIGN_OR_RETURN(settings.launch, ReadLaunch(options));
  settings.store_socket = options.store_socket;
  if (settings.store_socket < 0 && settings.launch.rank == 0 && settings.launch.world_size > 1) {
    LOCKSTEP_ASSIGN_OR_RETURN(settings.store_socket, InheritedStoreSocket(settings.launch.master_port));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(settings.secret, ReadSecret(options.secret));
  LOCKSTEP_RETURN_IF_ERROR(Fill(options.timeout, "LOCKSTEP_TIMEOUT", &settings.timeout));
  LOCKSTEP_RETURN_IF_ERROR(
      Fill(options.creation_timeout, "LOCKSTEP_CREATION_TIMEOUT", &settings.creation_timeout));
  LOCKSTEP_RETURN_IF_ERROR(
      Fill(options.heartbeat_timeout, "LOCKSTEP_HEARTBEAT_TIMEOUT", &settings.heartbeat_timeout));
  settings.determinism = options.determinism;
  settings.backend = options.backend.empty() ? env::Text("LOCKSTEP_BACKEND") : options.backend;
  LOCKSTEP_ASSIGN_OR_RETURN(settings.algorithm, ParseAlgorithm(env::Text("LOCKSTEP_ALGORITHM")));
  settings.buffer_bytes = options.buffer_bytes;
  if (settings.buffer_bytes == 0) {
    LOCKSTEP_ASSIGN_OR_RETURN(settings.buffer_bytes, env::Bytes("LOCKSTEP_BUFFER_BYTES"));
  }
  constexpr int64_t kSmallest = 256 << 10;
  if (settings.buffer_bytes < kSmallest)
    return absl::InvalidArgumentError(absl::StrCat("staging memory of ", settings.buffer_bytes,
                                                   " bytes is too small (at least ", kSmallest,
                                                   " are needed)"));
  settings.name = options.name;
  settings.interface_filter = env::Text("LOCKSTEP_SOCKET_IFNAME");
  const std::string congestion = env::Text("LOCKSTEP_TCP_CONGESTION");
  settings.tcp_congestion = congestion == "kernel" ? "" : congestion;
  LOCKSTEP_ASSIGN_OR_RETURN(settings.spin, env::Duration("LOCKSTEP_SPIN"));
  LOCKSTEP_ASSIGN_OR_RETURN(settings.suspend_deadlines, env::Flag("LOCKSTEP_SUSPEND_DEADLINES"));
  return settings;
}

}  // namespace lockstep::comm
