#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cpu/loops.h"
#include "kernels/kernel_table.h"

namespace lockstep::kernels {
namespace {

const Loops& Best() {
  static const Loops& best = *UsableLoops().back();
  return best;
}

// Runs now on the inline stream, where capturing would cost an allocation.
template <typename Work>
void RunOn(Stream& stream, Work work) {
  if (stream.impl() == nullptr) {
    work();
  } else {
    stream.Enqueue(std::move(work));
  }
}

void Reduce(Stream& stream, DType dtype, ReduceOp op, void* destination,
            absl::Span<const void* const> sources, int64_t count, double divisor) {
  if (stream.impl() == nullptr) return Best().reduce(dtype, op, destination, sources, count, divisor);
  stream.Enqueue([=, kept = std::vector<const void*>(sources.begin(), sources.end())] {
    Best().reduce(dtype, op, destination, kept, count, divisor);
  });
}

void FoldFirst(Stream& stream, DType dtype, void* accumulator, const void* source, int64_t count) {
  RunOn(stream, [=] { Best().fold_first(dtype, accumulator, source, count); });
}

void Fold(Stream& stream, DType dtype, ReduceOp op, void* accumulator, const void* source, int64_t count) {
  RunOn(stream, [=] { Best().fold(dtype, op, accumulator, source, count); });
}

void FoldFinish(Stream& stream, DType dtype, void* destination, const void* accumulator, int64_t count,
                double divisor) {
  RunOn(stream, [=] { Best().fold_finish(dtype, destination, accumulator, count, divisor); });
}

int64_t AccumulatorSize(DType dtype) {
  if (IsFloatingPoint(dtype) && dtype != DType::kF64) return 4;
  return SizeOf(dtype);
}

void Copy(Stream& stream, void* destination, const void* source, int64_t bytes) {
  if (bytes == 0) return;
  RunOn(stream, [=] { std::memcpy(destination, source, static_cast<size_t>(bytes)); });
}

}  // namespace

absl::Span<const Loops* const> UsableLoops() {
  static const std::vector<const Loops*> usable = [] {
    std::vector<const Loops*> loops = {&kBaselineLoops};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) loops.push_back(&kAvx2Loops);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
      loops.push_back(&kAvx512Loops);
#endif
    return loops;
  }();
  return usable;
}

const KernelTable& HostKernels() {
  static constexpr KernelTable kTable = {Reduce, FoldFirst, Fold, FoldFinish, AccumulatorSize, Copy};
  return kTable;
}

}  // namespace lockstep::kernels
