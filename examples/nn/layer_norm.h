#pragma once

#include <cstdint>
#include <string>

#include "examples/nn/arena.h"
#include "examples/nn/parameters.h"

namespace lockstep::nn {

// Each row of y = (x - mean) / sqrt(variance + 1e-5) * gain + bias, over `width` elements.
class LayerNorm {
 public:
  // Parameters: name.gain, name.bias. `parameters` must outlive the layer.
  LayerNorm(ParameterSet* parameters, const std::string& name, int64_t rows, int64_t width);
  void Place(Arena& arena);  // mean and 1 / standard deviation of each row

  void Forward(const float* x, float* y);
  // Sets the gradients of gain and bias, and ADDS to dx: the residual stream flows past this layer.
  void Backward(const float* x, const float* dy, float* dx);

 private:
  ParameterSet* parameters_;
  int64_t rows_, width_;
  Parameter gain_, bias_;
  float* mean_ = nullptr;
  float* rstd_ = nullptr;
};

}  // namespace lockstep::nn
