#include "src/bootstrap/launch_environment.h"

#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lockstep/status.h"
#include "src/bootstrap/slurm_lists.h"

namespace lockstep::bootstrap {
namespace {

// Ports made from job ids stay clear of well-known ones and of those that systems hand out (from 32768).
constexpr uint32_t kFirstMadePort = 20000, kMadePorts = 12000;

// The variables of one launcher.
struct Names {
  const char* launcher;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_world_size;
};
constexpr Names kPlain = {"environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi = {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kSlurmStep = {"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
constexpr Names kSlurm = {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""};
constexpr Names kPmi = {"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

uint32_t Fnv1a(const std::string& text) {
  uint32_t hash = 2166136261;
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * 16777619;
  return hash;
}

class Environment {
 public:
  explicit Environment(const Getenv& getenv) : getenv_(getenv) {}

  absl::StatusOr<LaunchEnvironment> Read() const {
    LOCKSTEP_ASSIGN_OR_RETURN(const Names names, FindLauncher());
    LaunchEnvironment launch;
    bool one_host = true;
    if (names.rank != nullptr) {
      LOCKSTEP_ASSIGN_OR_RETURN(launch, ReadRanks(names, &one_host));
    }
    LOCKSTEP_RETURN_IF_ERROR(CheckAgainstOpenMpi(launch));
    LOCKSTEP_ASSIGN_OR_RETURN(launch.master_port, ReadPort(launch));
    LOCKSTEP_ASSIGN_OR_RETURN(launch.master_address, ReadAddress(launch, one_host));
    return launch;
  }

 private:
  std::optional<std::string> Text(const char* name) const {
    std::optional<std::string> value = getenv_(name);
    return value && !value->empty() ? value : std::nullopt;
  }
  bool Has(const char* name) const { return Text(name).has_value(); }
  std::optional<std::string> FirstOf(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (std::optional<std::string> value = Text(name)) return value;
    return std::nullopt;
  }

  absl::StatusOr<int> Number(const char* name, int low, int high) const {
    const std::string text = Text(name).value_or("");
    int value = 0;
    if (!absl::SimpleAtoi(text, &value) || value < low || value > high)
      return absl::InvalidArgumentError(
          absl::StrCat(name, "=", text, " is not understood (a whole number from ", low,
                       high < kMost ? absl::StrCat(" to ", high) : " on", " is expected)"));
    return value;
  }
  absl::StatusOr<int> NumberOr(const char* name, int low, int high, int otherwise) const {
    if (*name == '\0' || !Has(name)) return otherwise;
    return Number(name, low, high);
  }

  // Without a name for the rank: there is none.
  absl::StatusOr<Names> FindLauncher() const {
    if (Has("RANK")) {
      Names names = kPlain;
      if (Has("LOCKSTEP_RESTART_COUNT")) names.launcher = "lockstep";
      if (Has("TORCHELASTIC_RUN_ID")) names.launcher = "torchrun";
      return names;
    }
    if (Has(kOpenMpi.rank)) return kOpenMpi;
    const std::optional<Names> slurm = FindSlurm();
    // Hydra starts its proxies with srun: the step's tasks are those then, and PMI knows the ranks.
    const bool pmi = Has(kPmi.rank);
    if (slurm &&
        (!pmi || (Text(kPmi.rank) == Text(slurm->rank) && Text(kPmi.world_size) == Text(slurm->world_size))))
      return *slurm;
    if (pmi) return kPmi;
    if (Has("WORLD_SIZE") && Text("WORLD_SIZE") != "1")
      return absl::InvalidArgumentError(
          absl::StrCat("WORLD_SIZE=", *Text("WORLD_SIZE"), " is set, but RANK is not; set both or none"));
    return Names{};
  }

  std::optional<Names> FindSlurm() const {
    if (!Has(kSlurm.rank)) return std::nullopt;
    const bool in_step = Has("SLURM_STEP_ID");
    if (!in_step && Text("ENVIRONMENT") == "BATCH") return std::nullopt;
    return in_step && Has(kSlurmStep.world_size) ? kSlurmStep : kSlurm;
  }

  absl::StatusOr<LaunchEnvironment> ReadRanks(const Names& names, bool* one_host) const {
    LaunchEnvironment launch;
    launch.launcher = names.launcher;
    if (!Has(names.world_size))
      return absl::InvalidArgumentError(
          absl::StrCat(names.rank, " is set, but ", names.world_size, " is not; set both or none"));
    LOCKSTEP_ASSIGN_OR_RETURN(launch.world_size, Number(names.world_size, 1, kMost));
    LOCKSTEP_ASSIGN_OR_RETURN(launch.rank, Number(names.rank, 0, kMost));
    if (launch.rank >= launch.world_size)
      return absl::InvalidArgumentError(absl::StrCat(names.rank, "=", launch.rank, " is not below ",
                                                     names.world_size, "=", launch.world_size,
                                                     " (ranks count from 0)"));
    LOCKSTEP_ASSIGN_OR_RETURN(launch.local_rank, NumberOr(names.local_rank, 0, kMost, 0));
    LOCKSTEP_ASSIGN_OR_RETURN(const int local_size, LocalWorldSize(names, launch));
    if (local_size > launch.world_size || (local_size > 0 && launch.local_rank >= local_size))
      return absl::InvalidArgumentError(absl::StrCat(names.local_rank, "=", launch.local_rank, " and ",
                                                     names.local_world_size, "=", local_size, " contradict ",
                                                     names.world_size, "=", launch.world_size));
    launch.local_world_size = local_size > 0 ? local_size : launch.local_rank + 1;
    *one_host = launch.world_size == 1 || local_size == launch.world_size;
    return launch;
  }

  // 0: the launcher does not say.
  absl::StatusOr<int> LocalWorldSize(const Names& names, const LaunchEnvironment& launch) const {
    if (*names.local_world_size != '\0') return NumberOr(names.local_world_size, 1, kMost, 0);
    const std::optional<std::string> tasks = FirstOf({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
    if (!tasks) return 0;
    LOCKSTEP_ASSIGN_OR_RETURN(const int node, NumberOr("SLURM_NODEID", 0, kMost, 0));
    // A hint: a list that an enclosing allocation left behind is no reason to fail.
    const int local = SlurmTasksOnNode(*tasks, node).value_or(0);
    const bool fits = local <= launch.world_size && launch.local_rank < local;
    return fits ? local : 0;
  }

  // RANK given by hand to every process alike is a mistake that would hang.
  absl::Status CheckAgainstOpenMpi(const LaunchEnvironment& launch) const {
    if (launch.launcher != kPlain.launcher || !Has(kOpenMpi.rank)) return absl::OkStatus();
    LOCKSTEP_ASSIGN_OR_RETURN(const int rank, Number(kOpenMpi.rank, 0, kMost));
    LOCKSTEP_ASSIGN_OR_RETURN(const int world_size,
                              NumberOr(kOpenMpi.world_size, 1, kMost, launch.world_size));
    if (world_size != launch.world_size || rank == launch.rank) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("RANK=", launch.rank, " contradicts ", kOpenMpi.rank, "=",
                                                   rank, "; unset RANK and WORLD_SIZE under mpirun"));
  }

  absl::StatusOr<uint16_t> ReadPort(const LaunchEnvironment& launch) const {
    LOCKSTEP_ASSIGN_OR_RETURN(const int store_port, NumberOr("LOCKSTEP_STORE_PORT", 0, 65535, 0));
    LOCKSTEP_ASSIGN_OR_RETURN(int port, NumberOr("MASTER_PORT", 0, 65535, 0));
    if (store_port != 0) return static_cast<uint16_t>(store_port);
    if (port != 0 && Text("TORCHELASTIC_USE_AGENT_STORE") == "True") ++port;
    if (port > 65535)
      return absl::InvalidArgumentError(
          "MASTER_PORT=65535 leaves no port beside torchrun's own store; set LOCKSTEP_STORE_PORT");
    if (port == 0 && launch.world_size > 1) port = PortOfJob(launch);
    return static_cast<uint16_t>(port);
  }

  int PortOfJob(const LaunchEnvironment& launch) const {
    const std::optional<std::string> job =
        launch.launcher == kOpenMpi.launcher ? Text("PMIX_NAMESPACE") : Text("SLURM_JOB_ID");
    if (!job || launch.launcher == kPlain.launcher) return 0;
    const std::string step = launch.launcher == kOpenMpi.launcher ? "" : Text("SLURM_STEP_ID").value_or("");
    return static_cast<int>(kFirstMadePort + Fnv1a(absl::StrCat(*job, ".", step)) % kMadePorts);
  }

  absl::StatusOr<std::string> ReadAddress(const LaunchEnvironment& launch, bool one_host) const {
    if (std::optional<std::string> address = Text("MASTER_ADDR")) return *address;
    if (one_host) return LaunchEnvironment().master_address;
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})
      if (const std::optional<std::string> nodes = Text(name)) {
        absl::StatusOr<std::string> host = FirstSlurmHost(*nodes);
        if (!host.ok())
          return absl::InvalidArgumentError(absl::StrCat(name, ": ", std::string(host.status().message())));
        return host;
      }
    return absl::InvalidArgumentError(absl::StrCat(
        "MASTER_ADDR is not set, and the launcher (", launch.launcher, ") does not say where rank 0 of ",
        launch.world_size, " runs; set MASTER_ADDR to its host (127.0.0.1 where all ranks share one)"));
  }

  static constexpr int kMost = std::numeric_limits<int>::max();
  const Getenv& getenv_;
};

}  // namespace

absl::StatusOr<LaunchEnvironment> ReadLaunchEnvironment(const Getenv& getenv) {
  return Environment(getenv).Read();
}

absl::StatusOr<LaunchEnvironment> ReadLaunchEnvironment() {
  return ReadLaunchEnvironment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace lockstep::bootstrap
