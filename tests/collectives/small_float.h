#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "lockstep/dtype.h"

namespace lockstep::conformance {

// The floating-point formats as the standards describe them, written for clarity and apart from the kernels
// that are held against them.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity = true;
  uint64_t canonical_nan = 0;
};

inline FloatFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {5, 10, true, 0x7e00};
    case DType::kBF16:
      return {8, 7, true, 0x7fc0};
    case DType::kF64:
      return {11, 52, true, 0x7ff8000000000000};
    case DType::kF8E4M3:
      return {4, 3, false, 0x7f};
    case DType::kF8E5M2:
      return {5, 2, true, 0x7e};
    default:
      return {8, 23, true, 0x7fc00000};
  }
}

inline double DecodeFloat(const FloatFormat& format, uint64_t bits) {
  const int sign_shift = format.exponent_bits + format.mantissa_bits;
  const uint64_t mantissa_mask = (uint64_t{1} << format.mantissa_bits) - 1;
  const uint64_t exponent_mask = (uint64_t{1} << format.exponent_bits) - 1;
  const uint64_t mantissa = bits & mantissa_mask, exponent = (bits >> format.mantissa_bits) & exponent_mask;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  double value;
  if (format.has_infinity && exponent == exponent_mask) {
    value =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (!format.has_infinity && exponent == exponent_mask && mantissa == mantissa_mask) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - format.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (mantissa_mask + 1)),
                       static_cast<int>(exponent) - bias - format.mantissa_bits);
  }
  return ((bits >> sign_shift) & 1) != 0 ? -value : value;
}

// Round to nearest, ties to even; what is too large becomes infinity, or NaN where there is none.
inline uint64_t EncodeFloat(const FloatFormat& format, double value) {
  if (std::isnan(value)) return format.canonical_nan;
  const int sign_shift = format.exponent_bits + format.mantissa_bits;
  const uint64_t sign = static_cast<uint64_t>(std::signbit(value)) << sign_shift;
  const uint64_t exponent_mask = (uint64_t{1} << format.exponent_bits) - 1;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint64_t largest =
      format.has_infinity ? (exponent_mask << format.mantissa_bits) - 1 : (uint64_t{1} << sign_shift) - 2;
  const uint64_t overflow = format.has_infinity ? largest + 1 : format.canonical_nan;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | overflow;
  // The number of last places that it is worth; the bits of neighbouring floats are neighbouring integers.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double places = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const uint64_t bits =
      static_cast<uint64_t>(places) + (static_cast<uint64_t>(exponent + bias - 1) << format.mantissa_bits);
  return sign | (bits > largest ? overflow : bits);
}

// The distance of two floats in last places; NaN is far from everything but NaN.
inline uint64_t UlpsBetween(const FloatFormat& format, uint64_t a, uint64_t b) {
  if (a == b) return 0;
  if (std::isnan(DecodeFloat(format, a)) || std::isnan(DecodeFloat(format, b)))
    return std::numeric_limits<uint64_t>::max();
  const uint64_t magnitude_mask = (uint64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1;
  const auto ordered = [&](uint64_t bits) {
    const auto magnitude = static_cast<int64_t>(bits & magnitude_mask);
    return bits > magnitude_mask ? -magnitude : magnitude;
  };
  const int64_t difference = ordered(a) - ordered(b);
  return static_cast<uint64_t>(difference < 0 ? -difference : difference);
}

inline uint64_t LoadElement(const std::byte* data, int64_t index, int64_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, data + index * size, static_cast<size_t>(size));
  return bits;
}

inline void StoreElement(std::byte* data, int64_t index, int64_t size, uint64_t bits) {
  std::memcpy(data + index * size, &bits, static_cast<size_t>(size));
}

}  // namespace lockstep::conformance
