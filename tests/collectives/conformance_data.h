#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"

namespace lockstep::conformance {

// What the ranks' inputs are made for.
enum class Pattern : uint8_t {
  kRaw,      // any bits: to be moved, not calculated with
  kExact,    // every partial sum (or product) is exact in the type, whatever the order
  kSpecial,  // NaN with odd bits, infinities and signed zeros among values as in kExact
  kRounded,  // sums that round: results depend on the order
};

// The inputs of all ranks and their reduction, by rank and position, never one repeated value. Element i of a
// rank depends on nothing but the rank, i and what is given here, so the first n elements serve calls of n.
class Data {
 public:
  Data(DType dtype, ReduceOp op, Pattern pattern, int world_size, int64_t count, uint64_t seed);

  DType dtype() const { return dtype_; }
  ReduceOp op() const { return op_; }
  Pattern pattern() const { return pattern_; }
  int64_t count() const { return count_; }
  const std::byte* input(int rank) const { return inputs_[static_cast<size_t>(rank)].data(); }
  // The left fold over the ranks in f64 (floating point) or modulo 2^64 (integers), rounded once at the end:
  // what Determinism::kStrict promises for types whose f32 sums are exact, and every result for kExact.
  const std::byte* reduced() const { return reduced_.data(); }
  // Units in the last place that a result may be off.
  uint64_t tolerance() const { return op_ == ReduceOp::kAvg ? 2 : 0; }

 private:
  uint64_t Value(int rank, int64_t index) const;
  uint64_t IntegerValue(int rank, int64_t index, uint64_t hash) const;
  double FloatValue(int rank, int64_t index, uint64_t hash) const;
  void Reduce();

  const DType dtype_;
  const ReduceOp op_;
  const Pattern pattern_;
  const int world_size_;
  const int64_t count_;
  const uint64_t seed_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::byte> reduced_;
};

// A well mixed function of three numbers.
uint64_t Mix(uint64_t a, uint64_t b, uint64_t c);

}  // namespace lockstep::conformance
