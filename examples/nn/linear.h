#pragma once

#include <cstdint>
#include <string>

#include "examples/nn/matmul.h"
#include "examples/nn/parameters.h"

namespace lockstep::nn {

struct LinearSpec {
  std::string name;  // parameters: name.weight, name.bias
  int64_t rows = 0;  // of every input
  int64_t inputs = 0, outputs = 0;
  float stddev = 0.02f;
  bool bias = true;
  // The weight lies as outputs x inputs, as an embedding does: for a head that is tied to one.
  bool transposed = false;
};

// y = x * weight + bias. x is rows x inputs, y rows x outputs, the weight inputs x outputs.
class Linear {
 public:
  Linear(ParameterSet* parameters, const LinearSpec& spec);  // `parameters` must outlive the layer

  void Forward(const float* x, float* y);
  // Sets the gradients of weight and bias, and dx where it is not null.
  void Backward(const float* x, const float* dy, float* dx);

 private:
  ParameterSet* parameters_;
  int64_t rows_, outputs_;
  bool transposed_, has_bias_;
  Parameter weight_, bias_;
  MatMul forward_, input_gradient_, weight_gradient_;
};

}  // namespace lockstep::nn
