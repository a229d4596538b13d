#pragma once

#include "kernels/cpu/codec.h"
#include "kernels/cpu/lanes.h"

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// How runs of narrow floats are read into vectors of f32 and written back. A format has
//   kBytes                    of one element
//   kVectors, kStep           vectors filled by Read(), and the elements they hold
//   Read, Write               kStep elements, in whatever order of lanes is quickest: for element-wise work
//   ReadInOrder, WriteInOrder kLanes elements, in memory order

namespace lockstep::kernels {
namespace {

template <int kVectors>
struct Batch {
  Floats vectors[kVectors];
};

// Words of memory hold kVectors elements each; vector v takes the v-th of every word, which needs shifts but
// no shuffles.
template <typename Codec>
struct PackedFormat {
  static constexpr int kBytes = Codec::kBits / 8;
  static constexpr int kVectors = 4 / kBytes;
  static constexpr int kStep = kLanes * kVectors;
  using Narrow = std::conditional_t<kBytes == 1, Bytes, Shorts>;

  static Batch<kVectors> Read(const void* from) {
    const Words words = Load<Words>(from);
    if constexpr (kBytes == 2) {
      return {{Codec::template Decode<0>(words), Codec::template Decode<16>(words)}};
    } else {
      return {{Codec::template Decode<0>(words), Codec::template Decode<8>(words),
               Codec::template Decode<16>(words), Codec::template Decode<24>(words)}};
    }
  }
  static void Write(void* to, const Batch<kVectors>& batch) {
    const Floats* const from = batch.vectors;
    Words words = Codec::template Encode<0>(from[0]) | Codec::template Encode<32 / kVectors>(from[1]);
    if constexpr (kBytes == 1)
      words |= Codec::template Encode<16>(from[2]) | Codec::template Encode<24>(from[3]);
    Store(to, words);
  }

  static Floats ReadInOrder(const void* from) {
    return Codec::template Decode<0>(__builtin_convertvector(Load<Narrow>(from), Words));
  }
  static void WriteInOrder(void* to, Floats values) {
    Store(to, __builtin_convertvector(Codec::template Encode<0>(values), Narrow));
  }
};

#if defined(__F16C__) || defined(__aarch64__)

// f16 by the processor's own conversions, which round to nearest even and know subnormal numbers whatever
// the modes of the floating point unit.
struct HardwareF16Format {
#if defined(__AVX512F__)
  // The forms without a mask make GCC 12 warn of uninitialised variables of its own (GCC bug 105593).
  static constexpr __mmask16 kAllLanes = 0xffff;
#endif
  static constexpr int kBytes = 2;
  static constexpr int kVectors = 2;
  static constexpr int kStep = kLanes * kVectors;

  static Floats ReadInOrder(const void* from) {
    const Shorts bits = Load<Shorts>(from);
#if defined(__AVX512F__)
    return __builtin_bit_cast(Floats, _mm512_maskz_cvtph_ps(kAllLanes, __builtin_bit_cast(__m256i, bits)));
#elif defined(__F16C__)
    return __builtin_bit_cast(Floats, _mm256_cvtph_ps(__builtin_bit_cast(__m128i, bits)));
#else
    return __builtin_bit_cast(Floats, vcvt_f32_f16(__builtin_bit_cast(float16x4_t, bits)));
#endif
  }
  static void WriteInOrder(void* to, Floats values) {
    const Floats canonical = Canonical(values);
#if defined(__AVX512F__)
    const auto bits =
        _mm512_maskz_cvtps_ph(kAllLanes, __builtin_bit_cast(__m512, canonical), _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
    const auto bits = _mm256_cvtps_ph(__builtin_bit_cast(__m256, canonical), _MM_FROUND_TO_NEAREST_INT);
#else
    const auto bits = vcvt_f16_f32(__builtin_bit_cast(float32x4_t, canonical));
#endif
    Store(to, bits);
  }

  static Batch<kVectors> Read(const void* from) {
    return {{ReadInOrder(from), ReadInOrder(static_cast<const char*>(from) + kLanes * kBytes)}};
  }
  static void Write(void* to, const Batch<kVectors>& batch) {
    WriteInOrder(to, batch.vectors[0]);
    WriteInOrder(static_cast<char*>(to) + kLanes * kBytes, batch.vectors[1]);
  }
};
using F16Format = HardwareF16Format;

#else

using F16Format = PackedFormat<F16Codec>;

#endif

using Bf16Format = PackedFormat<Bf16Codec>;
using F8E4M3Format = PackedFormat<F8E4M3Codec>;
using F8E5M2Format = PackedFormat<F8E5M2Codec>;

}  // namespace
}  // namespace lockstep::kernels
