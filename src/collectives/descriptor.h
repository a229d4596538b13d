#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lockstep/algorithm.h"
#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"

namespace lockstep::collectives {

enum class OpKind : uint8_t {
  kAllReduce,
  kAllGather,
  kAllGatherV,
  kReduceScatter,
  kReduceScatterV,
  kBroadcast,
  kReduce,
  kGather,
  kGatherV,
  kScatter,
  kScatterV,
  kAllToAll,
  kAllToAllV,
  kSend,
  kRecv,
  kBarrier,
};
inline constexpr int kOpKindCount = 16;
const char* Name(OpKind op);
// Whether it combines elements of several ranks.
inline bool Reduces(OpKind op) {
  return op == OpKind::kAllReduce || op == OpKind::kReduce || op == OpKind::kReduceScatter ||
         op == OpKind::kReduceScatterV;
}
inline bool IsPointToPoint(OpKind op) { return op == OpKind::kSend || op == OpKind::kRecv; }

// What every rank must agree on about one collective. Fields that an operation does not have are at their
// defaults; fields that may differ between ranks (the counts of gatherv, scatterv and all-to-all-v) are left
// out.
struct Descriptor {
  OpKind op = OpKind::kBarrier;
  DType dtype = DType::kF32;
  ReduceOp reduce_op = ReduceOp::kSum;
  Determinism determinism = Determinism::kFast;
  Algorithm algorithm = Algorithm::kAuto;  // as asked for, not as chosen
  int32_t root = -1;
  int64_t count = 0;         // elements a rank; of allgatherv and reduce-scatter-v: of all ranks
  uint64_t counts_hash = 0;  // of the counts of allgatherv and reduce-scatter-v
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
  friend auto operator<=>(const Descriptor&, const Descriptor&) = default;

  uint64_t Hash() const;
  // "allreduce f32 x 1000 sum", "broadcast bf16 x 7 root 3".
  std::string ToString() const;
};

// The wire form, for the control plane.
std::string EncodeDescriptor(const Descriptor& descriptor);
absl::StatusOr<Descriptor> DecodeDescriptor(const std::string& bytes);

}  // namespace lockstep::collectives
