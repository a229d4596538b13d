#include "examples/nn/linear.h"

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {
namespace {

Layout WeightLayout(const LinearSpec& spec) {
  if (spec.transposed) return {.row = 1, .column = spec.inputs};
  return {.row = spec.outputs, .column = 1};
}

Layout Transposed(const Layout& layout) { return {.row = layout.column, .column = layout.row}; }

Layout RowMajor(int64_t columns) { return {.row = columns, .column = 1}; }

MatMulSpec ForwardSpec(const LinearSpec& spec) {
  return {.m = spec.rows,
          .n = spec.outputs,
          .k = spec.inputs,
          .a = RowMajor(spec.inputs),
          .b = WeightLayout(spec),
          .c = RowMajor(spec.outputs),
          .bias = spec.bias,
          .pack_b = true};
}

// dx = dy * weight^T
MatMulSpec InputGradientSpec(const LinearSpec& spec) {
  return {.m = spec.rows,
          .n = spec.inputs,
          .k = spec.outputs,
          .a = RowMajor(spec.outputs),
          .b = Transposed(WeightLayout(spec)),
          .c = RowMajor(spec.inputs)};
}

// dweight = x^T * dy, or its transpose where the weight lies transposed.
MatMulSpec WeightGradientSpec(const LinearSpec& spec) {
  const int64_t m = spec.transposed ? spec.outputs : spec.inputs;
  const int64_t n = spec.transposed ? spec.inputs : spec.outputs;
  return {.m = m, .n = n, .k = spec.rows, .a = {.row = 1, .column = m}, .b = RowMajor(n), .c = RowMajor(n)};
}

}  // namespace

Linear::Linear(ParameterSet* parameters, const LinearSpec& spec)
    : parameters_(parameters),
      rows_(spec.rows),
      outputs_(spec.outputs),
      transposed_(spec.transposed),
      has_bias_(spec.bias),
      weight_(parameters->Declare({.name = spec.name + ".weight",
                                   .count = spec.inputs * spec.outputs,
                                   .stddev = spec.stddev,
                                   .decays = true})),
      forward_(ForwardSpec(spec)),
      input_gradient_(InputGradientSpec(spec)),
      weight_gradient_(WeightGradientSpec(spec)) {
  if (has_bias_) bias_ = parameters->Declare({.name = spec.name + ".bias", .count = spec.outputs});
}

void Linear::Forward(const float* x, float* y) {
  forward_.Run(x, parameters_->value(weight_), y, has_bias_ ? parameters_->value(bias_) : nullptr);
}

void Linear::Backward(const float* x, const float* dy, float* dx) {
  float* dweight = parameters_->gradient(weight_);
  if (transposed_) {
    weight_gradient_.Run(dy, x, dweight);
  } else {
    weight_gradient_.Run(x, dy, dweight);
  }
  if (has_bias_) {
    float* dbias = parameters_->gradient(bias_);
    ParallelFor(outputs_, 64, [&](int64_t begin, int64_t end) {
      BestVectorKernels().column_sums(dy + begin, rows_, end - begin, outputs_, dbias + begin);
    });
  }
  if (dx != nullptr) input_gradient_.Run(dy, parameters_->value(weight_), dx);
}

}  // namespace lockstep::nn
