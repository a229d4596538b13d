#include "examples/nn/elementwise.h"

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {

void GeluForward(float* x, float* y, int64_t count) {
  ParallelFor(count, 64, [&](int64_t begin, int64_t end) {
    BestVectorKernels().gelu_forward(x + begin, y + begin, end - begin);
  });
}

void GeluBackward(const float* slope, const float* dy, float* dx, int64_t count) {
  ParallelFor(count, 64, [&](int64_t begin, int64_t end) {
    BestVectorKernels().gelu_backward(slope + begin, dy + begin, dx + begin, end - begin);
  });
}

void Residual(const float* x, const float* branch, float* out, int64_t count) {
  ParallelFor(count, 64, [&](int64_t begin, int64_t end) {
    BestVectorKernels().add(x + begin, branch + begin, out + begin, end - begin);
  });
}

}  // namespace lockstep::nn
