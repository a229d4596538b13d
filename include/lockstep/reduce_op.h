#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "lockstep/export.h"

namespace lockstep::inline v0 {

// How elements are combined. The numbers are part of the wire format.
//
// f16, bf16 and f8 are combined in f32 and rounded once a hop. A NaN result is always the canonical quiet
// NaN; kMin and kMax return NaN if any rank holds one. kAvg divides by the number of ranks once, after the
// sum (f64 in f64, everything else in f32) and is InvalidArgument on integers. Integer sums and products
// wrap.
enum class ReduceOp : uint8_t { kSum = 0, kAvg = 1, kMin = 2, kMax = 3, kProd = 4 };
inline constexpr int kReduceOpCount = 5;

// "sum", "avg", ...
LOCKSTEP_EXPORT const char* Name(ReduceOp op);
LOCKSTEP_EXPORT absl::StatusOr<ReduceOp> ParseReduceOp(std::string_view name);

// kFast: every rank ends with the same bits, and the same inputs, world size and algorithm give them again.
// kStrict: every element is the left fold over ranks 0..P-1 in f32 (f64 in f64), rounded once at the end: the
// same bits whatever the algorithm, transport, message size or bucket layout. Costs more messages.
enum class Determinism : uint8_t { kFast = 0, kStrict = 1 };

}  // namespace lockstep::inline v0
