#include "src/bootstrap/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace lockstep::bootstrap {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<LaunchEnvironment> Read(const Variables& variables) {
  return ReadLaunchEnvironment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string ErrorOf(const Variables& variables) {
  const absl::Status status = Read(variables).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

Variables Plus(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "n01"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "none"}};
const Variables kSrun = {{"SLURM_PROCID", "3"},         {"SLURM_NTASKS", "6"},
                         {"SLURM_LOCALID", "1"},        {"SLURM_JOB_NODELIST", "n[01-04,07],m2"},
                         {"SLURM_JOB_ID", "4711"},      {"SLURM_STEP_ID", "0"},
                         {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"},
                         {"SLURM_NODEID", "1"}};
const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                           {"PMIX_NAMESPACE", "2936012801"}};

TEST(LaunchEnvironmentTest, IsAWorldOfOneWithoutALauncher) {
  const LaunchEnvironment launch = Read({}).value();
  EXPECT_EQ(launch.launcher, "none");
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.world_size, 1);
  EXPECT_EQ(launch.local_world_size, 1);
  EXPECT_EQ(launch.master_address, "127.0.0.1");
  EXPECT_EQ(launch.master_port, 0);
  EXPECT_EQ(Read({{"WORLD_SIZE", "1"}, {"RANK", ""}}).value().launcher, "none");
}

TEST(LaunchEnvironmentTest, ReadsTorchrun) {
  const LaunchEnvironment launch = Read(kTorchrun).value();
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.world_size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_world_size, 4);
  EXPECT_EQ(launch.master_address, "n01");
  EXPECT_EQ(launch.master_port, 29500);
}

TEST(LaunchEnvironmentTest, LeavesTorchrunsOwnStoreItsPort) {
  const Variables agent = Plus(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(Read(agent).value().master_port, 29501);
  EXPECT_EQ(Read(Plus(agent, {{"LOCKSTEP_STORE_PORT", "4000"}})).value().master_port, 4000);
  EXPECT_THAT(ErrorOf(Plus(agent, {{"MASTER_PORT", "65535"}})), HasSubstr("LOCKSTEP_STORE_PORT"));
}

TEST(LaunchEnvironmentTest, ReadsTheLauncherAndPlainVariables) {
  Variables plain = kTorchrun;
  plain.erase("TORCHELASTIC_RUN_ID");
  EXPECT_EQ(Read(plain).value().launcher, "environment");
  EXPECT_EQ(Read(Plus(plain, {{"LOCKSTEP_RESTART_COUNT", "0"}})).value().launcher, "lockstep");
}

TEST(LaunchEnvironmentTest, ReadsSrun) {
  const LaunchEnvironment launch = Read(kSrun).value();
  EXPECT_EQ(launch.launcher, "slurm");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.world_size, 6);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_world_size, 2);
  EXPECT_EQ(launch.master_address, "n01");
  EXPECT_GE(launch.master_port, 20000);
  EXPECT_LT(launch.master_port, 32000);
}

TEST(LaunchEnvironmentTest, MakesOnePortPerSlurmStep) {
  const uint16_t port = Read(kSrun).value().master_port;
  EXPECT_EQ(Read(Plus(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_NODEID", "0"}, {"SLURM_LOCALID", "0"}}))
                .value()
                .master_port,
            port);
  EXPECT_NE(Read(Plus(kSrun, {{"SLURM_STEP_ID", "1"}})).value().master_port, port);
  EXPECT_NE(Read(Plus(kSrun, {{"SLURM_JOB_ID", "4712"}})).value().master_port, port);
  EXPECT_EQ(Read(Plus(kSrun, {{"MASTER_PORT", "1234"}})).value().master_port, 1234);
}

TEST(LaunchEnvironmentTest, ReadsTheBareSlurmVariables) {
  const LaunchEnvironment launch =
      Read({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}, {"SLURM_NODELIST", "m2"}})
          .value();
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.world_size, 4);
  EXPECT_EQ(launch.master_address, "m2");
}

TEST(LaunchEnvironmentTest, ABatchScriptItselfIsAWorldOfOne) {
  const LaunchEnvironment launch =
      Read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}, {"ENVIRONMENT", "BATCH"}})
          .value();
  EXPECT_EQ(launch.launcher, "none");
  EXPECT_EQ(launch.world_size, 1);
}

TEST(LaunchEnvironmentTest, ReadsMpirunOnOneHost) {
  const LaunchEnvironment launch = Read(kMpirun).value();
  EXPECT_EQ(launch.launcher, "openmpi");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.local_world_size, 2);
  EXPECT_EQ(launch.master_address, "127.0.0.1");
  EXPECT_GE(launch.master_port, 20000);
}

TEST(LaunchEnvironmentTest, MpirunOnSeveralHostsNeedsAnAddress) {
  const Variables spread =
      Plus(kMpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  EXPECT_THAT(ErrorOf(spread), AllOf(HasSubstr("MASTER_ADDR"), HasSubstr("openmpi")));
  EXPECT_EQ(Read(Plus(spread, {{"SLURM_JOB_NODELIST", "n[3,5]"}})).value().master_address, "n3");
}

TEST(LaunchEnvironmentTest, ReadsPmiAlsoInsideASlurmAllocation) {
  const Variables pmi = {{"PMI_RANK", "3"},
                         {"PMI_SIZE", "4"},
                         {"MPI_LOCALRANKID", "1"},
                         {"MPI_LOCALNRANKS", "2"},
                         {"MASTER_ADDR", "n1"}};
  EXPECT_EQ(Read(pmi).value().launcher, "pmi");
  EXPECT_EQ(Read(pmi).value().local_rank, 1);
  // Hydra's proxies are the step's two tasks.
  const LaunchEnvironment inside =
      Read(Plus(pmi, {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}})).value();
  EXPECT_EQ(inside.launcher, "pmi");
  EXPECT_EQ(inside.rank, 3);
}

TEST(LaunchEnvironmentTest, NamesVariablesThatContradictEachOther) {
  EXPECT_THAT(ErrorOf(Plus(kTorchrun, {{"RANK", "8"}})),
              AllOf(HasSubstr("RANK=8"), HasSubstr("WORLD_SIZE=8")));
  EXPECT_THAT(ErrorOf(Plus(kTorchrun, {{"LOCAL_RANK", "4"}})),
              AllOf(HasSubstr("LOCAL_RANK=4"), HasSubstr("LOCAL_WORLD_SIZE=4")));
  EXPECT_THAT(ErrorOf(Plus(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})), HasSubstr("LOCAL_WORLD_SIZE=9"));
  EXPECT_THAT(ErrorOf(Plus(kMpirun, {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}})),
              AllOf(HasSubstr("RANK=0"), HasSubstr("OMPI_COMM_WORLD_RANK=1")));
}

TEST(LaunchEnvironmentTest, NamesVariablesThatAreMissing) {
  EXPECT_THAT(ErrorOf({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not"));
  EXPECT_THAT(ErrorOf({{"WORLD_SIZE", "2"}}), HasSubstr("RANK is not"));
  EXPECT_THAT(ErrorOf({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_ADDR"));
  EXPECT_THAT(ErrorOf({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}}), HasSubstr("SLURM_NTASKS"));
}

TEST(LaunchEnvironmentTest, NamesVariablesThatAreMalformed) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT"})
    for (const char* value : {"two", "-1", "1.5", "99999999999"})
      EXPECT_THAT(ErrorOf(Plus(kTorchrun, {{name, value}})), HasSubstr(std::string(name) + "=" + value));
  EXPECT_THAT(ErrorOf(Plus(kTorchrun, {{"MASTER_PORT", "65536"}})), HasSubstr("65535"));
  EXPECT_THAT(ErrorOf(Plus(kTorchrun, {{"LOCKSTEP_STORE_PORT", "x"}})), HasSubstr("LOCKSTEP_STORE_PORT=x"));
  EXPECT_THAT(ErrorOf(Plus(kSrun, {{"SLURM_JOB_NODELIST", "n[01"}})), HasSubstr("SLURM_JOB_NODELIST"));
}

}  // namespace
}  // namespace lockstep::bootstrap
