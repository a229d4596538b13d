#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lockstep/export.h"

namespace lockstep::inline v0 {

// The element types that travel and are reduced. The numbers are part of the wire format.
enum class DType : uint8_t {
  kF32 = 0,
  kF16 = 1,   // IEEE 754 binary16, combined in f32
  kBF16 = 2,  // bfloat16, combined in f32
  kF64 = 3,
  kI8 = 4,
  kU8 = 5,
  kI32 = 6,
  kI64 = 7,
  kF8E4M3 = 8,  // OCP 8-bit floating point, E4M3 (no infinity), combined in f32
  kF8E5M2 = 9,  // OCP 8-bit floating point, E5M2, combined in f32
};
inline constexpr int kDTypeCount = 10;

// Bytes of one element.
LOCKSTEP_EXPORT int64_t SizeOf(DType dtype);
// "f32", "bf16", "f8e4m3", ...
LOCKSTEP_EXPORT const char* Name(DType dtype);
// The inverse of Name(); InvalidArgument lists the known names.
LOCKSTEP_EXPORT absl::StatusOr<DType> ParseDType(std::string_view name);
LOCKSTEP_EXPORT bool IsFloatingPoint(DType dtype);

// The DType of a C++ element type. f16, bf16 and f8 have no standard C++20 type: name their DType yourself.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};

}  // namespace lockstep::inline v0
