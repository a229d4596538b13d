#include "tests/kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

namespace lockstep::kernels {
namespace {

template <typename T>
T At(const void* run, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(run) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void Put(void* run, int64_t i, T value) {
  std::memcpy(static_cast<char*>(run) + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T>
T CombineFloats(ReduceOp op, T a, T b) {
  if (op == ReduceOp::kProd) return a * b;
  if (op != ReduceOp::kMin && op != ReduceOp::kMax) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  const bool a_is_smaller = a < b || (a == b && std::signbit(a));
  return a_is_smaller == (op == ReduceOp::kMin) ? a : b;
}

template <typename T>
T CombineWrapping(ReduceOp op, T a, T b) {
  if (op == ReduceOp::kMin) return std::min(a, b);
  if (op == ReduceOp::kMax) return std::max(a, b);
  const auto wide_a = static_cast<unsigned __int128>(a), wide_b = static_cast<unsigned __int128>(b);
  return static_cast<T>(op == ReduceOp::kProd ? wide_a * wide_b : wide_a + wide_b);
}

template <typename T>
T Finish(T value, double divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    if (divisor != 1) value /= static_cast<T>(divisor);
    if (std::isnan(value)) return std::numeric_limits<T>::quiet_NaN();
  }
  return value;
}

template <typename T>
std::vector<char> ReducePlain(ReduceOp op, const std::vector<const void*>& sources, int64_t count,
                              double divisor) {
  std::vector<char> result(static_cast<size_t>(count) * sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    T value = At<T>(sources[0], i);
    for (size_t s = 1; s < sources.size(); ++s) {
      if constexpr (std::is_floating_point_v<T>)
        value = CombineFloats(op, value, At<T>(sources[s], i));
      else
        value = CombineWrapping(op, value, At<T>(sources[s], i));
    }
    Put(result.data(), i, Finish(value, divisor));
  }
  return result;
}

template <typename Bits>
std::vector<char> ReduceNarrow(const NarrowFloat& format, ReduceOp op,
                               const std::vector<const void*>& sources, int64_t count, double divisor) {
  std::vector<char> result(static_cast<size_t>(count) * sizeof(Bits));
  for (int64_t i = 0; i < count; ++i) {
    float value = format.Decode(At<Bits>(sources[0], i));
    for (size_t s = 1; s < sources.size(); ++s)
      value = CombineFloats(op, value, format.Decode(At<Bits>(sources[s], i)));
    Put(result.data(), i, static_cast<Bits>(format.Encode(Finish(value, divisor))));
  }
  return result;
}

}  // namespace

NarrowFloat::NarrowFloat(int exponent_bits, int mantissa_bits, bool has_infinity)
    : exponent_bits_(exponent_bits), mantissa_bits_(mantissa_bits), has_infinity_(has_infinity) {
  const uint32_t exponent_ones = ((1u << exponent_bits) - 1) << mantissa_bits;
  nan_ = has_infinity ? exponent_ones | (1u << (mantissa_bits - 1)) : (1u << (total_bits() - 1)) - 1;
  const uint32_t beyond_finite = has_infinity ? exponent_ones : nan_;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  for (uint32_t bits = 0; bits <= beyond_finite; ++bits) {
    const int exponent = static_cast<int>(bits >> mantissa_bits);
    const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    const double significand = exponent == 0 ? mantissa : mantissa + (1u << mantissa_bits);
    magnitudes_.push_back(std::ldexp(significand, std::max(exponent, 1) - bias - mantissa_bits));
  }
}

const NarrowFloat& NarrowFloat::Of(DType dtype) {
  static const NarrowFloat f16(5, 10, true), bf16(8, 7, true), e4m3(4, 3, false), e5m2(5, 2, true);
  switch (dtype) {
    case DType::kF16:
      return f16;
    case DType::kBF16:
      return bf16;
    case DType::kF8E4M3:
      return e4m3;
    case DType::kF8E5M2:
      return e5m2;
    default:
      std::abort();
  }
}

float NarrowFloat::Decode(uint32_t bits) const {
  const uint32_t sign = bits >> (total_bits() - 1);
  const uint32_t magnitude = bits & ((1u << (total_bits() - 1)) - 1);
  float value = std::numeric_limits<float>::quiet_NaN();
  if (magnitude + 1 < magnitudes_.size())
    value = static_cast<float>(magnitudes_[magnitude]);
  else if (has_infinity_ && magnitude + 1 == magnitudes_.size())
    value = std::numeric_limits<float>::infinity();
  return sign != 0 ? -value : value;
}

uint32_t NarrowFloat::Encode(float value) const {
  if (std::isnan(value)) return nan_;
  const double magnitude = std::fabs(static_cast<double>(value));
  // The first number that is not smaller, or the one beyond the largest.
  const auto last = static_cast<uint32_t>(magnitudes_.size() - 1);
  auto above = static_cast<uint32_t>(std::lower_bound(magnitudes_.begin(), magnitudes_.end() - 1, magnitude) -
                                     magnitudes_.begin());
  if (above > 0 && magnitude < magnitudes_[above]) {
    const double up = magnitudes_[above] - magnitude, down = magnitude - magnitudes_[above - 1];
    if (down < up || (down == up && above % 2 == 1)) --above;
  }
  if (above == last && !has_infinity_) return nan_;
  return above | (std::signbit(value) ? 1u << (total_bits() - 1) : 0);
}

std::vector<char> ReferenceReduce(DType dtype, ReduceOp op, const std::vector<const void*>& sources,
                                  int64_t count, double divisor) {
  switch (dtype) {
    case DType::kF32:
      return ReducePlain<float>(op, sources, count, divisor);
    case DType::kF64:
      return ReducePlain<double>(op, sources, count, divisor);
    case DType::kI8:
      return ReducePlain<int8_t>(op, sources, count, divisor);
    case DType::kU8:
      return ReducePlain<uint8_t>(op, sources, count, divisor);
    case DType::kI32:
      return ReducePlain<int32_t>(op, sources, count, divisor);
    case DType::kI64:
      return ReducePlain<int64_t>(op, sources, count, divisor);
    case DType::kF16:
    case DType::kBF16:
      return ReduceNarrow<uint16_t>(NarrowFloat::Of(dtype), op, sources, count, divisor);
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return ReduceNarrow<uint8_t>(NarrowFloat::Of(dtype), op, sources, count, divisor);
  }
  std::abort();
}

}  // namespace lockstep::kernels
