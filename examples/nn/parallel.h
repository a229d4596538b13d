#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace lockstep::nn {

// Runs body(begin, end) over [0, count) in one contiguous piece a thread. Pieces are multiples of `grain`, so
// that what belongs together stays with one thread. No result may depend on where the cuts are.
template <typename Body>
void ParallelFor(int64_t count, int64_t grain, const Body& body) {
  const int threads = omp_get_max_threads();
  if (threads == 1 || count <= grain) {
    body(int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int64_t grains = (count + grain - 1) / grain;
    const int64_t share = (grains + threads - 1) / threads * grain;
    const int64_t begin = std::min(count, share * omp_get_thread_num());
    const int64_t end = std::min(count, begin + share);
    if (begin < end) body(begin, end);
  }
}

}  // namespace lockstep::nn
