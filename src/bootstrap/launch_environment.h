#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep::bootstrap {

// Who this rank is, as its launcher says it.
struct LaunchEnvironment {
  std::string launcher;  // "lockstep", "torchrun", "slurm", "openmpi", "pmi", "environment", "none"
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 0;  // 0: none was given
};

// Looks a variable up; std::nullopt when it is unset.
using Getenv = std::function<std::optional<std::string>(const char*)>;

// Reads RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT (lockstep run, torchrun, plain), else SLURM_*,
// OMPI_*, PMI_*; with none of them the world size is 1. InvalidArgument names the variable that is malformed,
// contradictory (rank not below the world size) or missing (a world of several ranks without MASTER_ADDR).
// Under torchrun's agent store, whose port is taken, the store's port is MASTER_PORT + 1, unless
// LOCKSTEP_STORE_PORT says otherwise.
absl::StatusOr<LaunchEnvironment> ReadLaunchEnvironment(const Getenv& getenv);
absl::StatusOr<LaunchEnvironment> ReadLaunchEnvironment();

}  // namespace lockstep::bootstrap
