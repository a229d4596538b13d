#pragma once

#include "kernels/cpu/lanes.h"

// How the narrow floats become f32 and f32 becomes them, on vectors and in integer operations, so that the
// bits are the same everywhere. An element stands in the low bits of a word, with zeros above it. Encode()
// rounds to nearest, ties to even; every NaN becomes the canonical quiet one.

namespace lockstep::kernels {
namespace {

constexpr uint32_t kCanonicalNan32 = 0x7fc00000;

inline Floats Canonical(Floats values) {
  return Select(values != values, SplatFloat(kCanonicalNan32), values);
}

struct Bf16Codec {
  static constexpr int kBits = 16;
  template <int kAt>
  static Floats Decode(Words words) {
    return FromBits(kAt == 0 ? words << 16 : words & 0xffff0000u);
  }
  template <int kAt>
  static Words Encode(Floats values) {
    const Words bits = BitsOf(Canonical(values));
    const Words rounded = bits + ((bits >> 16) & 1u) + 0x7fffu;
    return kAt == 0 ? rounded >> 16 : rounded & 0xffff0000u;
  }
};

// A float of kExponent and kMantissa bits. With kInfinity it is IEEE's or OCP's E5M2; without, it is OCP's
// E4M3, whose all-ones pattern is its only NaN and what too large numbers become.
template <int kExponent, int kMantissa, bool kInfinity>
struct SmallFloatCodec {
  static constexpr int kBits = 1 + kExponent + kMantissa;
  static constexpr int kShift = 23 - kMantissa;
  static constexpr uint32_t kBias = (1u << (kExponent - 1)) - 1;
  static constexpr uint32_t kMagnitudeMask = (1u << (kBits - 1)) - 1;
  static constexpr uint32_t kExponentOnes = ((1u << kExponent) - 1) << kMantissa;
  static constexpr uint32_t kNan = kInfinity ? kExponentOnes | (1u << (kMantissa - 1)) : kMagnitudeMask;
  static constexpr uint32_t kSmallestNormal32 = (127 - kBias + 1) << 23;  // 2^(1 - bias), as f32

  template <int kAt>
  static Floats Decode(Words words) {
    Words bits = words >> kAt;
    if constexpr (kAt + kBits < 32) bits &= (1u << kBits) - 1;
    const Words sign = (bits >> (kBits - 1)) << 31;
    const Words magnitude = bits & kMagnitudeMask;
    const Words rebiased = (magnitude << kShift) + ((127 - kBias) << 23);
    // A subnormal is what its mantissa adds to the smallest normal number. No f32 subnormal is met on the
    // way: processors are slow at them, and may be told to take them for zero.
    const Floats subnormal = FromBits(rebiased + (1u << 23)) - SplatFloat(kSmallestNormal32);
    Words result = Select(Below(magnitude, Splat(1u << kMantissa)), BitsOf(subnormal), rebiased);
    if constexpr (kInfinity) result = Select(magnitude == kExponentOnes, Splat(0x7f800000), result);
    result |= sign;
    const Words not_nan_up_to = Splat(kInfinity ? kExponentOnes : kMagnitudeMask - 1);
    return FromBits(Select(Below(not_nan_up_to, magnitude), Splat(kCanonicalNan32), result));
  }

  template <int kAt>
  static Words Encode(Floats values) {
    return Round(values) << kAt;
  }

 private:
  static Words Round(Floats values) {
    const Words bits = BitsOf(values);
    const Words sign = (bits >> 31) << (kBits - 1);
    const Words magnitude = bits & 0x7fffffffu;
    // Half of the last place is added, or a little less when the last place is even, and the rest cut off.
    const Words half = ((magnitude >> kShift) & 1u) + ((1u << (kShift - 1)) - 1);
    const Words normal = (magnitude - ((127 - kBias) << 23) + half) >> kShift;
    // Beside a power of two whose last place is the smallest subnormal, addition does the rounding.
    constexpr uint32_t kMagic = kSmallestNormal32 + (static_cast<uint32_t>(kShift) << 23);
    const Words subnormal = BitsOf(FromBits(magnitude) + SplatFloat(kMagic)) - kMagic;
    constexpr uint32_t kTooLarge = kInfinity ? kExponentOnes : kNan;
    const Words limited = Select(Below(normal, Splat(kTooLarge)), normal, Splat(kTooLarge));
    const Words rounded = Select(Below(magnitude, Splat(kSmallestNormal32)), subnormal, limited);
    if constexpr (kInfinity) return Select(values != values, Splat(kNan), rounded | sign);
    // A NaN has become kTooLarge, which is the canonical NaN: it takes no sign.
    return Select(rounded == kNan, rounded, rounded | sign);
  }
};

using F16Codec = SmallFloatCodec<5, 10, true>;
using F8E4M3Codec = SmallFloatCodec<4, 3, false>;
using F8E5M2Codec = SmallFloatCodec<5, 2, true>;

}  // namespace
}  // namespace lockstep::kernels
