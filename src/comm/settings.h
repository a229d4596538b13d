#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lockstep/communicator.h"
#include "src/bootstrap/launch_environment.h"

namespace lockstep::comm {

// CommunicatorOptions with every gap filled from the launch environment and LOCKSTEP_* variables.
struct Settings {
  bootstrap::LaunchEnvironment launch;
  int store_socket = -1;
  std::string secret;
  std::chrono::nanoseconds timeout{0}, creation_timeout{0}, heartbeat_timeout{0};
  Determinism determinism = Determinism::kFast;
  std::string backend;
  Algorithm algorithm = Algorithm::kAuto;
  int64_t buffer_bytes = 0;
  std::string name;
  std::string interface_filter;
  std::string tcp_congestion;
  std::chrono::nanoseconds spin{0};  // how long a waiting thread polls before it sleeps
  bool suspend_deadlines = false;

  // What must be the same on every rank, "name=value;...", compared in the handshake.
  std::string MustAgree() const;
};

// InvalidArgument names the option or variable that is malformed.
absl::StatusOr<Settings> ReadSettings(const CommunicatorOptions& options);

}  // namespace lockstep::comm
