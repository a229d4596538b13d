#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lockstep/communicator.h"
#include "src/collectives/collective.h"

namespace lockstep::comm {

// A call as the user made it. Fields that the operation does not have stay empty.
struct Call {
  collectives::OpKind op = collectives::OpKind::kBarrier;
  ConstTensorView input;
  TensorView output;
  bool has_input = true;   // false: the operation has none (on this rank)
  bool has_output = true;  // likewise
  ReduceOp reduce_op = ReduceOp::kSum;
  int root = -1;  // of rooted operations; the peer of Send and Recv
  absl::Span<const int64_t> counts;
  absl::Span<const int64_t> recv_counts;
};

// Checks a call against the rules of communicator.h as far as one rank can see them, and brings it into the
// form that the collectives take. InvalidArgument says which argument is wrong and what it should be.
absl::StatusOr<collectives::Arguments> CheckCall(const Call& call, int rank, int world_size,
                                                 Determinism determinism, Algorithm algorithm);

}  // namespace lockstep::comm
