#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "lockstep/dtype.h"

// How each element type is brought to the type that it is combined in, and back. Everything here is inlined
// into loops that the compiler vectorises, once for each instruction set, so it has no linkage of its own.

namespace lockstep::kernels {
namespace {

constexpr uint32_t kCanonicalNan32 = 0x7fc00000;
constexpr uint64_t kCanonicalNan64 = 0x7ff8000000000000;

inline float Canonical(float value) { return value != value ? std::bit_cast<float>(kCanonicalNan32) : value; }
inline double Canonical(double value) {
  return value != value ? std::bit_cast<double>(kCanonicalNan64) : value;
}

// Elements may lie anywhere.
template <typename T>
struct Unaligned {
  typedef T type __attribute__((aligned(1), may_alias));
};

template <typename T>
struct PlainCodec {
  using Element = typename Unaligned<T>::type;
  using Accumulator = T;
  static Accumulator Decode(T value) { return value; }
  static T Encode(Accumulator value) {
    if constexpr (std::is_floating_point_v<T>) return Canonical(value);
    return value;
  }
};

struct Bf16Codec {
  using Element = Unaligned<uint16_t>::type;
  using Accumulator = float;
  static float Decode(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  // Round to nearest, ties to even.
  static uint16_t Encode(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return static_cast<uint16_t>(value != value ? 0x7fc0 : rounded);
  }
};

// A small float with `kExponent` and `kMantissa` bits, in integer operations: for f16 where there is no
// instruction, and for f8. Without infinity (kInfinity false) what overflows becomes NaN, as OCP's E4M3
// conversion without saturation.
template <typename Bits, int kExponent, int kMantissa, bool kInfinity>
struct SmallFloatCodec {
  using Element = typename Unaligned<Bits>::type;
  using Accumulator = float;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr uint32_t kSignShift = kExponent + kMantissa;
  static constexpr uint32_t kMagnitudeMask = (1u << kSignShift) - 1;
  static constexpr uint32_t kExponentOnes = ((1u << kExponent) - 1) << kMantissa;
  // Without infinity only the all-ones pattern is NaN; with it, everything above the infinity.
  static constexpr uint32_t kOverflow = kInfinity ? kExponentOnes : kMagnitudeMask;
  static constexpr uint32_t kNan = kInfinity ? kExponentOnes | (1u << (kMantissa - 1)) : kMagnitudeMask;

  static float Decode(Bits bits) {
    const uint32_t sign = (static_cast<uint32_t>(bits) >> kSignShift) << 31;
    const uint32_t magnitude = bits & kMagnitudeMask;
    // Shifted into place the exponent is off by the difference of the biases: an exact multiplication mends
    // it, and brings subnormal numbers to normal ones on the way.
    const float scale = std::bit_cast<float>(static_cast<uint32_t>(127 + 127 - kBias) << 23);
    const uint32_t scaled =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << (23 - kMantissa)) * scale);
    const bool nan = kInfinity ? magnitude > kExponentOnes : magnitude == kMagnitudeMask;
    const bool infinite = kInfinity && magnitude == kExponentOnes;
    const uint32_t finite_or_infinite = infinite ? 0x7f800000u : scaled;
    return std::bit_cast<float>(nan ? kCanonicalNan32 : (sign | finite_or_infinite));
  }

  // Round to nearest, ties to even.
  static Bits Encode(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 31) << kSignShift;
    const uint32_t magnitude = bits & 0x7fffffff;
    constexpr uint32_t kShift = 23 - kMantissa;
    // Normal results: rebias, then round by adding half of the last place (less one when it is even).
    const uint32_t rebias = static_cast<uint32_t>(127 - kBias) << 23;
    const uint32_t normal =
        (magnitude - rebias + (1u << (kShift - 1)) - 1 + ((magnitude >> kShift) & 1)) >> kShift;
    // Subnormal results: adding a power of two whose last place is the smallest subnormal makes the FPU
    // round.
    const uint32_t magic = static_cast<uint32_t>(127 - kBias + 1 + 23 - kMantissa) << 23;
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic)) - magic;
    const bool is_subnormal = magnitude < (static_cast<uint32_t>(127 - kBias + 1) << 23);
    uint32_t rounded = is_subnormal ? subnormal : normal;
    rounded = !is_subnormal && rounded > kOverflow ? kOverflow : rounded;
    return static_cast<Bits>(value != value ? kNan : (sign | rounded));
  }
};

using F16Codec = SmallFloatCodec<uint16_t, 5, 10, true>;
using F8E4M3Codec = SmallFloatCodec<uint8_t, 4, 3, false>;
using F8E5M2Codec = SmallFloatCodec<uint8_t, 5, 2, true>;

}  // namespace
}  // namespace lockstep::kernels
