#include "examples/nn/parameters.h"

#include <cassert>

#include "examples/nn/arena.h"
#include "examples/nn/random.h"

namespace lockstep::nn {

Parameter ParameterSet::Declare(const ParameterSpec& spec) {
  for (const Entry& entry : entries_) {
    if (entry.spec.name == spec.name) {
      assert(entry.spec.count == spec.count);
      return entry.where;
    }
  }
  assert(values_ == nullptr);
  entries_.push_back({spec, {size_, spec.count}});
  size_ += (spec.count + 15) / 16 * 16;  // each parameter starts on a cache line
  return entries_.back().where;
}

void ParameterSet::Initialise(uint64_t seed) {
  values_.reset(AllocateFloats(size_));
  gradients_.reset(AllocateFloats(size_));
  Random random(seed);
  for (const Entry& entry : entries_) {
    float* values = value(entry.where);
    for (int64_t i = 0; i < entry.where.count; ++i) {
      values[i] = entry.spec.mean;
      if (entry.spec.stddev > 0) values[i] += entry.spec.stddev * static_cast<float>(random.Normal());
    }
  }
}

int64_t ParameterSet::count() const {
  int64_t count = 0;
  for (const Entry& entry : entries_) count += entry.where.count;
  return count;
}

}  // namespace lockstep::nn
