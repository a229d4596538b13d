#include "examples/nn/arena.h"

#include <algorithm>
#include <new>

namespace lockstep::nn {
namespace {

constexpr int64_t kLineFloats = 16;  // a cache line of 64 bytes

}  // namespace

float* AllocateFloats(int64_t count) {
  const int64_t padded = std::max<int64_t>((count + kLineFloats - 1) / kLineFloats, 1) * kLineFloats;
  void* memory = std::aligned_alloc(kLineFloats * sizeof(float), padded * sizeof(float));
  if (memory == nullptr) throw std::bad_alloc();
  float* floats = static_cast<float*>(memory);
  std::fill_n(floats, padded, 0.0f);
  return floats;
}

float* Arena::Take(int64_t count) {
  float* start = memory_ ? memory_.get() + used_ : nullptr;
  used_ += (count + kLineFloats - 1) / kLineFloats * kLineFloats;
  return start;
}

void Arena::Allocate() {
  memory_.reset(AllocateFloats(used_));
  used_ = 0;
}

}  // namespace lockstep::nn
