#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"
#include "lockstep/stream.h"

namespace lockstep::kernels {

// The arithmetic of one device. Algorithms call through the table and never ask which device they are on.
//
// Every function is enqueued on `stream` and returns; the work is complete when an Event recorded behind it
// is (on the inline host stream: on return). Pointers may have any alignment; counts are in elements and may
// be 0 or beyond 2^31. Functions are thread-safe, and allocate only where the work has to be queued.
//
// The same inputs give the same bits on every device and instruction set. Subnormal numbers are kept and
// rounding is to nearest, ties to even, while the calling thread's floating point modes are those that a
// process starts with (a program linked with -ffast-math may start otherwise). A result too large for its
// type becomes infinity; f8e4m3, which has none, gives NaN for it, without saturation (OCP's non-saturating
// conversion, as ml_dtypes and PyTorch do it).
struct KernelTable {
  // destination[i] = round((s0[i] op s1[i] op ... ) / divisor): the left fold over `sources` (at least one),
  // in f32 for f16, bf16, f8 and f32, in f64 for f64, wrapping for integers; divided by `divisor` when that
  // is not 1 (floating point only) and rounded once. kSum and kAvg both add; the caller passes the divisor at
  // the last hop of kAvg. kMin and kMax give NaN if any source has one, and take -0 for smaller than +0;
  // every NaN written is the canonical quiet NaN of the type (positive, no payload). destination may be one
  // of the sources; no other overlap. The order of summation is that of `sources`.
  void (*reduce)(Stream& stream, DType dtype, ReduceOp op, void* destination,
                 absl::Span<const void* const> sources, int64_t count, double divisor);
  // accumulator (f32; f64 when dtype is f64; dtype itself for integers) [i] = source[i], or accumulator[i] op
  // source[i]. For left folds whose sources arrive one after another and must not be rounded in between. A
  // NaN in an accumulator may be any; fold_finish makes it canonical. accumulator and source do not overlap.
  void (*fold_first)(Stream& stream, DType dtype, void* accumulator, const void* source, int64_t count);
  void (*fold)(Stream& stream, DType dtype, ReduceOp op, void* accumulator, const void* source,
               int64_t count);
  // destination[i] = round(accumulator[i] / divisor), NaN canonical; divisor as in reduce. destination may be
  // the accumulator where both have elements of one size; no other overlap.
  void (*fold_finish)(Stream& stream, DType dtype, void* destination, const void* accumulator, int64_t count,
                      double divisor);
  // Bytes of one accumulator element of `dtype`.
  int64_t (*accumulator_size)(DType dtype);
  // Copies bytes; no overlap.
  void (*copy)(Stream& stream, void* destination, const void* source, int64_t bytes);
};

// For host memory, and for the fake device's. Runs in the calling thread when a host stream has nothing
// queued, else when the stream does. Picks SSE4, AVX2 or AVX-512 at first use; aarch64 always has NEON.
const KernelTable& HostKernels();

}  // namespace lockstep::kernels
