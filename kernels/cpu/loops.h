#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"

namespace lockstep::kernels {

// The arithmetic of KernelTable without its streams, built once for each instruction set.
struct Loops {
  const char* name;
  void (*reduce)(DType dtype, ReduceOp op, void* destination, absl::Span<const void* const> sources,
                 int64_t count, double divisor);
  void (*fold_first)(DType dtype, void* accumulator, const void* source, int64_t count);
  void (*fold)(DType dtype, ReduceOp op, void* accumulator, const void* source, int64_t count);
  void (*fold_finish)(DType dtype, void* destination, const void* accumulator, int64_t count, double divisor);
};

extern const Loops kBaselineLoops;
#if defined(__x86_64__)
extern const Loops kAvx2Loops;
extern const Loops kAvx512Loops;
#endif

// The best that this processor runs, fastest last: for tests that compare them all.
absl::Span<const Loops* const> UsableLoops();

}  // namespace lockstep::kernels
