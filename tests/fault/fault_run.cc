#include "tests/fault/fault_run.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lockstep/communicator.h"
#include "tests/support/world.h"

namespace lockstep::testing {
namespace {

volatile sig_atomic_t fault_now = 0;

double MonotonicMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// What a survivor must end with.
struct Expectation {
  absl::StatusCode code;
  bool names_victim;   // in LostRanks()
  const char* phrase;  // in the message
  double bound_ms;
};

Expectation Expect(FaultKind kind) {
  switch (kind) {
    case FaultKind::kKill:
      return {absl::StatusCode::kUnavailable, true, "process is gone", 2000};
    case FaultKind::kStop:
      return {absl::StatusCode::kUnavailable, true, "silent", kCampaignHeartbeatSeconds * 1000.0 + 1000};
    case FaultKind::kLeave:
      return {absl::StatusCode::kUnavailable, true, "finished and left", 2000};
    case FaultKind::kMismatch:
      return {absl::StatusCode::kFailedPrecondition, false, "called", 2000};
    case FaultKind::kAbort:
      return {absl::StatusCode::kAborted, false, "on purpose", 2000};
  }
  std::abort();
}

// Allreduces until something fails; every sum is checked. "code|lost|milliseconds|message".
std::string Body(Communicator& comm, const FaultPlan& plan) {
  struct sigaction action = {};
  action.sa_handler = [](int) { fault_now = 1; };
  sigaction(SIGUSR1, &action, nullptr);
  const auto count = static_cast<size_t>(plan.elements);
  std::vector<float> values(count);
  ProcessWorld::Announce("ready");
  for (int round = 0;; ++round) {
    for (size_t i = 0; i < count; i += 1024) values[i] = static_cast<float>(comm.rank() + round % 7);
    if (fault_now && plan.kind == FaultKind::kLeave) return "left";
    if (fault_now && plan.kind == FaultKind::kAbort) comm.Abort("on purpose");
    const int64_t n = fault_now && plan.kind == FaultKind::kMismatch ? plan.elements / 2 : plan.elements;
    const absl::Status status = comm.AllReduce(TensorView(values.data(), DType::kF32, n)).Wait();
    if (!status.ok())
      return absl::StrCat(status.code(), "|", absl::StrJoin(LostRanks(status), ","), "|",
                          static_cast<int64_t>(MonotonicMs() * 1000), "|", std::string(status.message()));
    const int p = comm.world_size();
    for (size_t i = 0; i < count; i += 1024)
      if (values[i] != static_cast<float>(p * (p - 1) / 2 + p * (round % 7)))
        return "wrong data with an OK status";
  }
}

void Inflict(const FaultPlan& plan, pid_t pid) {
  kill(pid, plan.kind == FaultKind::kKill ? SIGKILL : plan.kind == FaultKind::kStop ? SIGSTOP : SIGUSR1);
}

}  // namespace

const char* Name(FaultKind kind) {
  constexpr const char* kNames[] = {"kill", "stop", "leave", "mismatch", "abort"};
  static_assert(std::size(kNames) == kFaultKindCount);
  return kNames[static_cast<int>(kind)];
}

std::string FaultPlan::ToString() const {
  return absl::StrCat(Name(kind), " of rank ", victim, " of ", world_size, " after ", delay_ms,
                      " ms in allreduce f32 x ", elements);
}

FaultPlan MakePlan(uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15 + 1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  FaultPlan plan;
  plan.kind = static_cast<FaultKind>(below(kFaultKindCount));
  plan.world_size = 2 + below(4);
  plan.victim = below(plan.world_size);
  plan.elements = static_cast<int64_t>(std::exp2(1 + below(22))) + below(7);
  plan.delay_ms = below(100);
  return plan;
}

FaultVerdict RunFault(const FaultPlan& plan) {
  ProcessWorld world(
      plan.world_size, [&](Communicator& comm) { return Body(comm, plan); },
      [](int, CommunicatorOptions& options) {
        options.heartbeat_timeout = std::chrono::seconds(kCampaignHeartbeatSeconds);
        options.timeout = std::chrono::seconds(30);
      });
  for (int rank = 0; rank < plan.world_size; ++rank) world.AwaitAnnouncement(rank, "ready");
  usleep(static_cast<useconds_t>(plan.delay_ms) * 1000);
  const double fault_ms = MonotonicMs();
  Inflict(plan, world.pid(plan.victim));

  FaultVerdict verdict;
  const Expectation expected = Expect(plan.kind);
  const auto wrong = [&](int rank, const std::string& what) {
    if (verdict.right) verdict.what = absl::StrCat("rank ", rank, ": ", what);
    verdict.right = false;
  };
  for (int rank = 0; rank < plan.world_size; ++rank) {
    if (rank == plan.victim) continue;
    const std::string result = world.Result(rank);
    const std::vector<std::string> parts = absl::StrSplit(result, absl::MaxSplits('|', 3));
    int64_t microseconds = 0;
    if (parts.size() != 4 || !absl::SimpleAtoi(parts[2], &microseconds)) {
      wrong(rank, result.empty() ? "ended without a status" : result);
      continue;
    }
    const double latency_ms = static_cast<double>(microseconds) / 1000 - fault_ms;
    verdict.latency_ms.push_back(latency_ms);
    if (parts[0] != absl::StrCat(expected.code)) wrong(rank, "status " + result);
    if (expected.names_victim && parts[1] != absl::StrCat(plan.victim))
      wrong(rank, "does not name the rank: " + result);
    if (parts[3].find(expected.phrase) == std::string::npos) wrong(rank, "does not say why: " + result);
    if (latency_ms > expected.bound_ms) wrong(rank, absl::StrCat("took ", latency_ms, " ms: ", result));
  }
  return verdict;
}

}  // namespace lockstep::testing
