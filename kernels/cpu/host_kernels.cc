#include <cstring>
#include <vector>

#include "kernels/cpu/loops.h"
#include "kernels/kernel_table.h"
#include "src/device/stream_impl.h"

namespace lockstep::kernels {
namespace {

const Loops& Best() {
  static const Loops& best = *UsableLoops().back();
  return best;
}

// Runs `work` at once where nothing is before it. False: it has to be enqueued, which costs an allocation.
template <typename Work>
bool RunNow(Stream& stream, const Work& work) {
  if (stream.impl() != nullptr) return stream.impl()->TryRun(work);
  work();
  return true;
}

template <typename Work>
void RunOrEnqueue(Stream& stream, const Work& work) {
  if (!RunNow(stream, work)) stream.Enqueue(work);
}

void Reduce(Stream& stream, DType dtype, ReduceOp op, void* destination,
            absl::Span<const void* const> sources, int64_t count, double divisor) {
  const auto work = [=](absl::Span<const void* const> from) {
    Best().reduce(dtype, op, destination, from.data(), static_cast<int>(from.size()), count, divisor);
  };
  if (RunNow(stream, [&] { work(sources); })) return;
  // The caller's array of pointers may be gone by then.
  stream.Enqueue([work, kept = std::vector<const void*>(sources.begin(), sources.end())] { work(kept); });
}

void FoldFirst(Stream& stream, DType dtype, void* accumulator, const void* source, int64_t count) {
  RunOrEnqueue(stream, [=] { Best().fold_first(dtype, accumulator, source, count); });
}

void Fold(Stream& stream, DType dtype, ReduceOp op, void* accumulator, const void* source, int64_t count) {
  RunOrEnqueue(stream, [=] { Best().fold(dtype, op, accumulator, source, count); });
}

void FoldFinish(Stream& stream, DType dtype, void* destination, const void* accumulator, int64_t count,
                double divisor) {
  RunOrEnqueue(stream, [=] { Best().fold_finish(dtype, destination, accumulator, count, divisor); });
}

int64_t AccumulatorSize(DType dtype) {
  if (IsFloatingPoint(dtype) && dtype != DType::kF64) return 4;
  return SizeOf(dtype);
}

void Copy(Stream& stream, void* destination, const void* source, int64_t bytes) {
  if (bytes == 0) return;
  RunOrEnqueue(stream, [=] { std::memcpy(destination, source, static_cast<size_t>(bytes)); });
}

}  // namespace

const KernelTable& HostKernels() {
  static constexpr KernelTable kTable = {Reduce, FoldFirst, Fold, FoldFinish, AccumulatorSize, Copy};
  return kTable;
}

}  // namespace lockstep::kernels
