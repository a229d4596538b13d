#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::testing {

enum class FaultKind { kKill, kStop, kLeave, kMismatch, kAbort };
inline constexpr int kFaultKindCount = 5;
const char* Name(FaultKind kind);

// One run: ranks as processes allreduce in a loop until one of them is put through a fault.
struct FaultPlan {
  FaultKind kind = FaultKind::kKill;
  int world_size = 4;
  int victim = 0;
  int64_t elements = 1;  // f32 an allreduce
  int delay_ms = 0;      // from the moment that all ranks run until the fault
  std::string ToString() const;
};
FaultPlan MakePlan(uint64_t seed);

struct FaultVerdict {
  bool right = true;
  std::string what;                // the first thing that was wrong
  std::vector<double> latency_ms;  // of each survivor: from the fault to its status
};
// Silent ranks are lost after this in every run.
inline constexpr int kCampaignHeartbeatSeconds = 2;

FaultVerdict RunFault(const FaultPlan& plan);

}  // namespace lockstep::testing
