#include "examples/nn/layer_norm.h"

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {

LayerNorm::LayerNorm(ParameterSet* parameters, const std::string& name, int64_t rows, int64_t width)
    : parameters_(parameters),
      rows_(rows),
      width_(width),
      gain_(parameters->Declare({.name = name + ".gain", .count = width, .mean = 1})),
      bias_(parameters->Declare({.name = name + ".bias", .count = width})) {}

void LayerNorm::Place(Arena& arena) {
  mean_ = arena.Take(rows_);
  rstd_ = arena.Take(rows_);
}

void LayerNorm::Forward(const float* x, float* y) {
  const float* gain = parameters_->value(gain_);
  const float* bias = parameters_->value(bias_);
  ParallelFor(rows_, 1, [&](int64_t begin, int64_t end) {
    BestVectorKernels().norm_forward(x + begin * width_, gain, bias, y + begin * width_, mean_ + begin,
                                     rstd_ + begin, end - begin, width_);
  });
}

void LayerNorm::Backward(const float* x, const float* dy, float* dx) {
  float* dgain = parameters_->gradient(gain_);
  float* dbias = parameters_->gradient(bias_);
  ParallelFor(width_, 64, [&](int64_t begin, int64_t end) {
    BestVectorKernels().norm_gradients(x + begin, dy + begin, mean_, rstd_, rows_, end - begin, width_,
                                       dgain + begin, dbias + begin);
  });
  const float* gain = parameters_->value(gain_);
  ParallelFor(rows_, 1, [&](int64_t begin, int64_t end) {
    BestVectorKernels().norm_backward(x + begin * width_, dy + begin * width_, gain, mean_ + begin,
                                      rstd_ + begin, dx + begin * width_, end - begin, width_);
  });
}

}  // namespace lockstep::nn
