#pragma once

#include "kernels/cpu/combine.h"
#include "kernels/cpu/lanes.h"

// Reductions of the types that are combined in themselves: f32, f64 and the integers. Plain loops; the
// compiler makes vectors of them.

namespace lockstep::kernels {
namespace {

template <typename T>
struct PlainLoops {
  // Elements may lie anywhere.
  typedef T Element __attribute__((aligned(1), may_alias));

  // Accumulators of a block stay in the first-level cache while all sources pass over them.
  static constexpr int64_t kBlock = 8192 / sizeof(T);

  // Divides if it is asked to, and leaves only one NaN.
  template <bool kDivide>
  static T Finish(T value, T divisor) {
    if constexpr (std::is_floating_point_v<T>) {
      if constexpr (kDivide) value /= divisor;
      const T nan = sizeof(T) == 4 ? static_cast<T>(__builtin_nanf("")) : static_cast<T>(__builtin_nan(""));
      return Select(value != value, nan, value);
    }
    return value;
  }

  // The destination may be one of the sources, element for element: iterations are independent all the same.
  template <ReduceOp kOp, bool kDivide>
  static void ReduceTwo(Element* destination, const Element* a, const Element* b, int64_t count, T divisor) {
    LOCKSTEP_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < count; ++i)
      destination[i] = Finish<kDivide>(Combine<kOp, T>(a[i], b[i]), divisor);
  }

  template <bool kDivide>
  static void FinishRun(Element* destination, const Element* values, int64_t count, T divisor) {
    LOCKSTEP_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < count; ++i) destination[i] = Finish<kDivide>(values[i], divisor);
  }

  template <ReduceOp kOp>
  static void FoldRun(Element* accumulator, const Element* source, int64_t count) {
    LOCKSTEP_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < count; ++i) accumulator[i] = Combine<kOp, T>(accumulator[i], source[i]);
  }

  template <ReduceOp kOp>
  static void CombineRun(Element* destination, const Element* a, const Element* b, int64_t count) {
    LOCKSTEP_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < count; ++i) destination[i] = Combine<kOp, T>(a[i], b[i]);
  }

  template <ReduceOp kOp, bool kDivide>
  static void ReduceMany(Element* destination, const void* const* sources, int source_count, int64_t count,
                         T divisor) {
    alignas(64) T accumulator[kBlock];
    const auto source = [&](int s, int64_t begin) { return static_cast<const Element*>(sources[s]) + begin; };
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t length = count - begin < kBlock ? count - begin : kBlock;
      if (source_count == 1) {
        FinishRun<kDivide>(destination + begin, source(0, begin), length, divisor);
        continue;
      }
      CombineRun<kOp>(accumulator, source(0, begin), source(1, begin), length);
      for (int s = 2; s + 1 < source_count; ++s) FoldRun<kOp>(accumulator, source(s, begin), length);
      ReduceTwo<kOp, kDivide>(destination + begin, accumulator, source(source_count - 1, begin), length,
                              divisor);
    }
  }

  template <bool kDivide>
  static void ReduceAll(ReduceOp op, void* destination, const void* const* sources, int source_count,
                        int64_t count, T divisor) {
    auto* to = static_cast<Element*>(destination);
    WithOp(op, [&](auto constant) {
      if (source_count == 2) {
        ReduceTwo<constant.value, kDivide>(to, static_cast<const Element*>(sources[0]),
                                           static_cast<const Element*>(sources[1]), count, divisor);
      } else {
        ReduceMany<constant.value, kDivide>(to, sources, source_count, count, divisor);
      }
    });
  }

  static void Reduce(ReduceOp op, void* destination, const void* const* sources, int source_count,
                     int64_t count, double divisor) {
    if constexpr (std::is_floating_point_v<T>) {
      if (divisor != 1)
        return ReduceAll<true>(op, destination, sources, source_count, count, static_cast<T>(divisor));
    }
    ReduceAll<false>(op, destination, sources, source_count, count, T{1});
  }

  static void FoldFirst(void* accumulator, const void* source, int64_t count) {
    if (count > 0) __builtin_memcpy(accumulator, source, static_cast<size_t>(count) * sizeof(T));
  }

  static void Fold(ReduceOp op, void* accumulator, const void* source, int64_t count) {
    WithOp(op, [&](auto constant) {
      FoldRun<constant.value>(static_cast<Element*>(accumulator), static_cast<const Element*>(source), count);
    });
  }

  static void FoldFinish(void* destination, const void* accumulator, int64_t count, double divisor) {
    Reduce(ReduceOp::kSum, destination, &accumulator, 1, count, divisor);
  }
};

}  // namespace
}  // namespace lockstep::kernels
