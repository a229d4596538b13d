#pragma once

#include "kernels/cpu/combine.h"
#include "kernels/cpu/narrow_format.h"

// Reductions of f16, bf16 and f8, in f32. What is left over after the last full step goes through a padded
// copy and the same code, so that an element's bits do not depend on where it stands.

namespace lockstep::kernels {
namespace {

template <typename Format>
struct NarrowLoops {
  static constexpr int64_t kStepBytes = Format::kStep * Format::kBytes;
  using Values = Batch<Format::kVectors>;

  // `elements` is kStep, known when compiling, or fewer.
  static Values Read(const char* from, int64_t elements) {
    if (elements == Format::kStep) return Format::Read(from);
    char padded[kStepBytes] = {};
    __builtin_memcpy(padded, from, static_cast<size_t>(elements * Format::kBytes));
    return Format::Read(padded);
  }
  static void Write(char* to, const Values& values, int64_t elements) {
    if (elements == Format::kStep) return Format::Write(to, values);
    char padded[kStepBytes];
    Format::Write(padded, values);
    __builtin_memcpy(to, padded, static_cast<size_t>(elements * Format::kBytes));
  }

  // kDivide is known when compiling, for the sake of the loops without it.
  template <ReduceOp kOp, bool kDivide>
  static inline __attribute__((always_inline)) void ReduceStep(char* destination, const void* const* sources,
                                                               int source_count, int64_t offset,
                                                               int64_t elements, float divisor) {
    Values values = Read(static_cast<const char*>(sources[0]) + offset, elements);
    for (int s = 1; s < source_count; ++s) {
      const Values more = Read(static_cast<const char*>(sources[s]) + offset, elements);
      for (int v = 0; v < Format::kVectors; ++v)
        values.vectors[v] = Combine<kOp>(values.vectors[v], more.vectors[v]);
    }
    if constexpr (kDivide)
      for (int v = 0; v < Format::kVectors; ++v) values.vectors[v] /= divisor;
    Write(destination + offset, values, elements);
  }

  template <ReduceOp kOp, bool kDivide>
  static void ReduceAll(char* destination, const void* const* sources, int source_count, int64_t count,
                        float divisor) {
    const int64_t full_bytes = count / Format::kStep * kStepBytes;
    if (source_count == 2) {
      // Copied: the compiler cannot know that the destination is not the array of pointers.
      const void* const two[2] = {sources[0], sources[1]};
      for (int64_t offset = 0; offset < full_bytes; offset += kStepBytes)
        ReduceStep<kOp, kDivide>(destination, two, 2, offset, Format::kStep, divisor);
    } else {
      for (int64_t offset = 0; offset < full_bytes; offset += kStepBytes)
        ReduceStep<kOp, kDivide>(destination, sources, source_count, offset, Format::kStep, divisor);
    }
    const int64_t rest = count % Format::kStep;
    if (rest > 0) ReduceStep<kOp, kDivide>(destination, sources, source_count, full_bytes, rest, divisor);
  }

  static void Reduce(ReduceOp op, void* destination, const void* const* sources, int source_count,
                     int64_t count, double divisor) {
    char* const to = static_cast<char*>(destination);
    const float divisor32 = static_cast<float>(divisor);
    WithOp(op, [&](auto constant) {
      if (divisor == 1) {
        ReduceAll<constant.value, false>(to, sources, source_count, count, divisor32);
      } else {
        ReduceAll<constant.value, true>(to, sources, source_count, count, divisor32);
      }
    });
  }

  // Calls step(accumulator, narrow) for kLanes elements at a time of both runs; the rest goes through copies.
  template <typename Accumulator, typename Narrow, typename Step>
  static void ForEachVector(Accumulator* accumulator, Narrow* narrow, int64_t count, Step step) {
    const int64_t full = count / kLanes * kLanes;
    for (int64_t i = 0; i < full; i += kLanes) step(accumulator + i * 4, narrow + i * Format::kBytes);
    if (full == count) return;
    char accumulator_copy[kVectorBytes] = {}, narrow_copy[kLanes * Format::kBytes] = {};
    const auto accumulator_bytes = static_cast<size_t>((count - full) * 4);
    const auto narrow_bytes = static_cast<size_t>((count - full) * Format::kBytes);
    __builtin_memcpy(accumulator_copy, accumulator + full * 4, accumulator_bytes);
    __builtin_memcpy(narrow_copy, narrow + full * Format::kBytes, narrow_bytes);
    step(accumulator_copy, narrow_copy);
    if constexpr (!std::is_const_v<Accumulator>)
      __builtin_memcpy(accumulator + full * 4, accumulator_copy, accumulator_bytes);
    if constexpr (!std::is_const_v<Narrow>)
      __builtin_memcpy(narrow + full * Format::kBytes, narrow_copy, narrow_bytes);
  }

  static void FoldFirst(void* accumulator, const void* source, int64_t count) {
    ForEachVector(static_cast<char*>(accumulator), static_cast<const char*>(source), count,
                  [](char* to, const char* from) { Store(to, Format::ReadInOrder(from)); });
  }

  static void Fold(ReduceOp op, void* accumulator, const void* source, int64_t count) {
    WithOp(op, [&](auto constant) {
      constexpr ReduceOp kOp = decltype(constant)::value;
      ForEachVector(static_cast<char*>(accumulator), static_cast<const char*>(source), count,
                    [](char* to, const char* from) {
                      Store(to, Combine<kOp>(Load<Floats>(to), Format::ReadInOrder(from)));
                    });
    });
  }

  static void FoldFinish(void* destination, const void* accumulator, int64_t count, double divisor) {
    const float divisor32 = static_cast<float>(divisor);
    ForEachVector(static_cast<const char*>(accumulator), static_cast<char*>(destination), count,
                  [=](const char* from, char* to) {
                    const Floats values = Load<Floats>(from);
                    Format::WriteInOrder(to, divisor == 1 ? values : values / divisor32);
                  });
  }
};

}  // namespace
}  // namespace lockstep::kernels
