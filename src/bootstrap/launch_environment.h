#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep::bootstrap {

// Who this rank is, as its launcher says it.
struct LaunchEnvironment {
  std::string launcher = "none";  // "lockstep", "torchrun", "slurm", "openmpi", "pmi", "environment", "none"
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;  // ranks on this host, as far as the launcher says
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 0;  // where the store is; 0: none was given
};

// Looks a variable up; std::nullopt when it is unset. Empty counts as unset.
using Getenv = std::function<std::optional<std::string>(const char*)>;

// The first of these that the environment speaks of:
//
//   plain    RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE (lockstep run, torchrun, by hand)
//   openmpi  OMPI_COMM_WORLD_RANK _SIZE _LOCAL_RANK _LOCAL_SIZE
//   slurm    SLURM_PROCID SLURM_NTASKS SLURM_LOCALID, in a step of srun's
//   pmi      PMI_RANK PMI_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS (MPICH, Intel MPI), also in a Slurm allocation
//
// With none of them the world size is 1. A batch script's own process is in no step: it is a world of 1.
//
// Where the ranks meet: MASTER_ADDR and MASTER_PORT go before what a launcher implies. Without MASTER_ADDR it
// is the first host of SLURM_STEP_NODELIST, SLURM_JOB_NODELIST or SLURM_NODELIST, or this host when it has
// all the ranks. Without MASTER_PORT a port from 20000 to 31999 is made from the job's id (SLURM_JOB_ID and
// SLURM_STEP_ID, PMIX_NAMESPACE of mpirun), where there is one. Under torchrun's agent store, whose port is
// taken, the store's port is MASTER_PORT + 1. LOCKSTEP_STORE_PORT goes before all of that.
//
// InvalidArgument names the variables that are malformed, contradictory (a rank not below the world size;
// RANK set by hand beside an OMPI_COMM_WORLD_RANK that says otherwise) or missing (WORLD_SIZE beside RANK,
// several hosts without MASTER_ADDR).
absl::StatusOr<LaunchEnvironment> ReadLaunchEnvironment(const Getenv& getenv);
absl::StatusOr<LaunchEnvironment> ReadLaunchEnvironment();

}  // namespace lockstep::bootstrap
