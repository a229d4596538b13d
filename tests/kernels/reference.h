#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"

namespace lockstep::kernels {

// A plain, slow reference for the kernels, one element at a time, that shares no code with them: what a
// narrow float means comes from its definition, and rounding is a search among all numbers of the format.

// A binary floating point format of at most 16 bits.
class NarrowFloat {
 public:
  // f16, bf16, f8e4m3 or f8e5m2.
  static const NarrowFloat& Of(DType dtype);

  // The number that `bits` stands for; a NaN is some NaN.
  float Decode(uint32_t bits) const;
  // The nearest number's bits, ties to the even pattern; the canonical NaN for a NaN, and where the format
  // has no infinity for what is too large.
  uint32_t Encode(float value) const;

  int total_bits() const { return 1 + exponent_bits_ + mantissa_bits_; }
  // The positive finite numbers by their bits, from 0 up, and what would come next if there were one more.
  const std::vector<double>& magnitudes() const { return magnitudes_; }

 private:
  NarrowFloat(int exponent_bits, int mantissa_bits, bool has_infinity);

  int exponent_bits_, mantissa_bits_;
  bool has_infinity_;
  uint32_t nan_;
  std::vector<double> magnitudes_;
};

// destination[i] = round((s0[i] op s1[i] op ...) / divisor), as KernelTable::reduce promises. Sources may
// have any alignment.
std::vector<char> ReferenceReduce(DType dtype, ReduceOp op, const std::vector<const void*>& sources,
                                  int64_t count, double divisor);

}  // namespace lockstep::kernels
