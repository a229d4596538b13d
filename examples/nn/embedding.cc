#include "examples/nn/embedding.h"

#include <algorithm>

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {

Embedding::Embedding(ParameterSet* parameters, const EmbeddingSpec& spec)
    : parameters_(parameters),
      spec_(spec),
      tokens_(parameters->Declare({.name = spec.token_name + ".weight",
                                   .count = spec.vocabulary * spec.width,
                                   .stddev = spec.token_stddev,
                                   .decays = true})),
      positions_(parameters->Declare({.name = spec.position_name + ".weight",
                                      .count = spec.context * spec.width,
                                      .stddev = spec.position_stddev,
                                      .decays = true})) {}

void Embedding::Forward(absl::Span<const int32_t> tokens, float* y) {
  const float* token_rows = parameters_->value(tokens_);
  const float* position_rows = parameters_->value(positions_);
  const int64_t width = spec_.width;
  ParallelFor(spec_.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      BestVectorKernels().add(token_rows + tokens[r] * width, position_rows + r % spec_.context * width,
                              y + r * width, width);
    }
  });
}

void Embedding::Backward(absl::Span<const int32_t> tokens, const float* dy) {
  const int64_t width = spec_.width;
  // One thread, in row order: several rows may add to one token, and the sum must not depend on who is first.
  float* dtokens = parameters_->gradient(tokens_);
  for (int64_t r = 0; r < spec_.rows; ++r) {
    float* row = dtokens + tokens[r] * width;
    BestVectorKernels().add(row, dy + r * width, row, width);
  }
  // Position p is row p of each window: a column sum over windows.
  float* dpositions = parameters_->gradient(positions_);
  const int64_t window = spec_.context * width;
  ParallelFor(window, 64, [&](int64_t begin, int64_t end) {
    BestVectorKernels().column_sums(dy + begin, spec_.rows / spec_.context, end - begin, window,
                                    dpositions + begin);
  });
}

}  // namespace lockstep::nn
