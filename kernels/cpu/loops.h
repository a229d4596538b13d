#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"

namespace lockstep::kernels {

// The arithmetic of KernelTable, which describes it, without its streams: compiled once for each instruction
// set. Thread-safe.
struct Loops {
  const char* name;
  void (*reduce)(DType dtype, ReduceOp op, void* destination, const void* const* sources, int source_count,
                 int64_t count, double divisor);
  void (*fold_first)(DType dtype, void* accumulator, const void* source, int64_t count);
  void (*fold)(DType dtype, ReduceOp op, void* accumulator, const void* source, int64_t count);
  void (*fold_finish)(DType dtype, void* destination, const void* accumulator, int64_t count, double divisor);
};

extern const Loops kBaselineLoops;
#if defined(__x86_64__)
extern const Loops kSse4Loops;
extern const Loops kAvx2Loops;
extern const Loops kAvx512Loops;
#endif

// Those that this processor runs, the best one last. All give the same bits.
absl::Span<const Loops* const> UsableLoops();

}  // namespace lockstep::kernels
