#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "examples/nn/arena.h"

namespace lockstep::nn {

// Softmax cross entropy of each row against a class. A target below 0 leaves its row out.
class SoftmaxCrossEntropy {
 public:
  SoftmaxCrossEntropy(int64_t rows, int64_t classes) : rows_(rows), classes_(classes) {}
  void Place(Arena& arena) { losses_ = arena.Take(rows_); }

  // Returns the sum over rows in nats, in row order; the logits become probabilities in place.
  double Forward(float* logits, absl::Span<const int32_t> targets);
  // Probabilities become the gradient of scale * (sum of losses) with respect to the logits, in place.
  void Backward(float* probabilities, absl::Span<const int32_t> targets, float scale);

 private:
  int64_t rows_, classes_;
  float* losses_ = nullptr;
};

}  // namespace lockstep::nn
