#include "examples/nn/cross_entropy.h"

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {

double SoftmaxCrossEntropy::Forward(float* logits, absl::Span<const int32_t> targets) {
  ParallelFor(rows_, 1, [&](int64_t begin, int64_t end) {
    BestVectorKernels().cross_entropy(logits + begin * classes_, targets.data() + begin, losses_ + begin,
                                      end - begin, classes_);
  });
  double sum = 0;
  for (int64_t r = 0; r < rows_; ++r) sum += static_cast<double>(losses_[r]);
  return sum;
}

void SoftmaxCrossEntropy::Backward(float* probabilities, absl::Span<const int32_t> targets, float scale) {
  ParallelFor(rows_, 1, [&](int64_t begin, int64_t end) {
    BestVectorKernels().cross_entropy_backward(probabilities + begin * classes_, targets.data() + begin,
                                               scale, end - begin, classes_);
  });
}

}  // namespace lockstep::nn
