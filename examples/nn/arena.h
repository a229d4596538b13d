#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace lockstep::nn {

// The memory of all activations of a model: one block, allocated once, so that a training step allocates
// nothing.
//
// A fresh arena measures: Take() counts and returns null. After Allocate() the same sequence of Take() calls
// hands out the memory. A model therefore has one function that places all its buffers, and calls it twice:
//
//     Place(arena);      // how much?
//     arena.Allocate();
//     Place(arena);      // here it is
//
// Not thread-safe.
class Arena {
 public:
  // `count` floats, aligned to a cache line, zero at first; the arena owns them.
  float* Take(int64_t count);
  // Allocates what was measured and starts over at the beginning.
  void Allocate();
  int64_t bytes() const { return used_ * static_cast<int64_t>(sizeof(float)); }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float[], Free> memory_;
  int64_t used_ = 0;  // floats
};

// `count` zeroed floats, aligned to a cache line; the caller frees them with std::free.
float* AllocateFloats(int64_t count);

}  // namespace lockstep::nn
