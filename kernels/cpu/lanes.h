#pragma once

#include <cstdint>
#include <type_traits>

// Vectors of f32 in the compiler's own notation (GCC and Clang), as wide as the instruction set that the file
// is compiled for.
//
// What is here and in the headers that build on it is compiled several times, once for each instruction set.
// So everything is in an unnamed namespace and only builtins are called: the linker would merge an inline
// function of the standard library with the copy of another instruction set.

// Before a loop: its iterations do not depend on one another, whatever the pointers look like.
#if defined(__clang__)
#define LOCKSTEP_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define LOCKSTEP_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace lockstep::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kLanes = kVectorBytes / 4;

typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef uint32_t Words __attribute__((vector_size(kVectorBytes)));
typedef int32_t Integers __attribute__((vector_size(kVectorBytes)));
typedef uint16_t Shorts __attribute__((vector_size(kVectorBytes / 2)));
typedef uint8_t Bytes __attribute__((vector_size(kVectorBytes / 4)));

// Any alignment.
template <typename T>
inline T Load(const void* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
inline void Store(void* to, const T& value) {
  __builtin_memcpy(to, &value, sizeof(T));
}

inline Words BitsOf(Floats values) { return __builtin_bit_cast(Words, values); }
inline Floats FromBits(Words bits) { return __builtin_bit_cast(Floats, bits); }
inline Words Splat(uint32_t bits) { return Words{} + bits; }
inline Floats SplatFloat(uint32_t bits) { return FromBits(Splat(bits)); }

// a where the comparison holds, else b; lane by lane on vectors.
template <typename Condition, typename T>
inline T Select(Condition condition, T a, T b) {
  return condition ? a : b;
}

// a < b, for words below 2^31: before AVX-512 there are no unsigned comparisons.
inline Integers Below(Words a, Words b) {
  return __builtin_bit_cast(Integers, a) < __builtin_bit_cast(Integers, b);
}

// The bits that stand for an element of type T: an unsigned integer or a vector of them.
template <typename T>
struct BitsType;
template <>
struct BitsType<float> {
  using type = uint32_t;
};
template <>
struct BitsType<double> {
  using type = uint64_t;
};
template <>
struct BitsType<Floats> {
  using type = Words;
};

}  // namespace
}  // namespace lockstep::kernels
