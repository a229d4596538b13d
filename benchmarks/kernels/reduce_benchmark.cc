// Two-source sums of every dtype on the host, beside memcpy of as many bytes.
//
//   kernels_benchmark --benchmark_filter=sum/bf16 --loops=avx2
//
// bytes_per_second counts what is loaded and stored: three times the size for a sum, twice for memcpy. A sum
// bound by memory has the rate of memcpy, or a higher one, as loads are cheaper than stores.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels/cpu/loops.h"
#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"
#include "src/device/buffer.h"

namespace lockstep::kernels {
namespace {

constexpr int64_t kSmallest = int64_t{4} << 10, kLargest = int64_t{64} << 20;

device::Buffer Filled(int64_t bytes, DType dtype) {
  device::Buffer buffer = *device::Buffer::Allocate(bytes, {.alignment = device::BufferAlignment::kHugePage});
  // Small values of every type, no NaN: 0x01 bytes would be subnormal in most.
  std::memset(buffer.data(), dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2 ? 0x38 : 0x3c,
              static_cast<size_t>(bytes));
  return buffer;
}

void Memcpy(benchmark::State& state) {
  const int64_t bytes = state.range(0);
  const device::Buffer source = Filled(bytes, DType::kU8), destination = Filled(bytes, DType::kU8);
  for (auto _ : state) {
    std::memcpy(destination.data(), source.data(), static_cast<size_t>(bytes));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes * 2);
}

// In place, as a ring does it: destination += source.
void Sum(benchmark::State& state, const Loops& loops, DType dtype) {
  const int64_t bytes = state.range(0);
  const device::Buffer source = Filled(bytes, dtype), destination = Filled(bytes, dtype);
  const void* const sources[2] = {destination.data(), source.data()};
  for (auto _ : state) {
    loops.reduce(dtype, ReduceOp::kSum, destination.data(), sources, 2, bytes / SizeOf(dtype), 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes * 3);
}

void Register(const Loops& loops) {
  benchmark::RegisterBenchmark("memcpy", Memcpy)->RangeMultiplier(8)->Range(kSmallest, kLargest);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name = std::string("sum/") + Name(dtype) + "/" + loops.name;
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&loops, dtype](benchmark::State& state) { Sum(state, loops, dtype); })
        ->RangeMultiplier(8)
        ->Range(kSmallest, kLargest);
  }
}

}  // namespace
}  // namespace lockstep::kernels

int main(int argc, char** argv) {
  using lockstep::kernels::Loops;
  benchmark::Initialize(&argc, argv);
  constexpr std::string_view kFlag = "--loops=";
  const Loops* chosen = lockstep::kernels::UsableLoops().back();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const Loops* named = nullptr;
    for (const Loops* loops : lockstep::kernels::UsableLoops())
      if (argument.starts_with(kFlag) && argument.substr(kFlag.size()) == loops->name) named = loops;
    if (named == nullptr) {
      std::fprintf(stderr, "unknown argument %s; --loops=NAME takes one of:", argv[i]);
      for (const Loops* loops : lockstep::kernels::UsableLoops()) std::fprintf(stderr, " %s", loops->name);
      std::fprintf(stderr, "\n");
      return 1;
    }
    chosen = named;
  }
  lockstep::kernels::Register(*chosen);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
