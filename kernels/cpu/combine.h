#pragma once

#include <type_traits>

#include "kernels/cpu/lanes.h"
#include "lockstep/reduce_op.h"

namespace lockstep::kernels {
namespace {

// Signed overflow wraps, also where the operands promote to int.
template <ReduceOp kOp, typename T>
inline T CombineIntegers(T a, T b) {
  using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  if constexpr (kOp == ReduceOp::kMin) return b < a ? b : a;
  if constexpr (kOp == ReduceOp::kMax) return a < b ? b : a;
  if constexpr (kOp == ReduceOp::kProd) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
  return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
}

// A NaN wins. Of the two zeros -0 is the smaller one, so that the result does not depend on the order.
template <ReduceOp kOp, typename T>
inline T SelectExtreme(T a, T b) {
  using Bits = typename BitsType<T>::type;
  const Bits a_bits = __builtin_bit_cast(Bits, a), b_bits = __builtin_bit_cast(Bits, b);
  // Numbers that compare equal have the same bits, except for zeros.
  const Bits equal = kOp == ReduceOp::kMin ? a_bits | b_bits : a_bits & b_bits;
  T result = kOp == ReduceOp::kMin ? Select(a < b, a, b) : Select(b < a, a, b);  // b, when it is NaN
  result = Select(a == b, __builtin_bit_cast(T, equal), result);
  return Select(a != a, a, result);
}

// a op b, for one element or a vector of them. kAvg adds, as kSum does.
template <ReduceOp kOp, typename T>
inline T Combine(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return CombineIntegers<kOp>(a, b);
  } else if constexpr (kOp == ReduceOp::kMin || kOp == ReduceOp::kMax) {
    return SelectExtreme<kOp>(a, b);
  } else if constexpr (kOp == ReduceOp::kProd) {
    return a * b;
  } else {
    return a + b;
  }
}

template <ReduceOp kOp>
using OpConstant = std::integral_constant<ReduceOp, kOp>;

// Calls `function` with an OpConstant.
template <typename Function>
inline void WithOp(ReduceOp op, Function&& function) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return function(OpConstant<ReduceOp::kSum>{});
    case ReduceOp::kMin:
      return function(OpConstant<ReduceOp::kMin>{});
    case ReduceOp::kMax:
      return function(OpConstant<ReduceOp::kMax>{});
    case ReduceOp::kProd:
      return function(OpConstant<ReduceOp::kProd>{});
  }
  __builtin_unreachable();
}

}  // namespace
}  // namespace lockstep::kernels
