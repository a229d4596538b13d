#pragma once

#include <cstdint>
#include <vector>

#include "examples/nn/parameters.h"

namespace lockstep::nn {

struct AdamWOptions {
  float beta1 = 0.9f, beta2 = 0.99f, epsilon = 1e-8f;
  float weight_decay = 0.1f;  // of parameters that decay, times the learning rate, apart from the gradient
  float clip = 1.0f;          // the gradient's global norm is scaled down to this; 0: left alone
};

// AdamW with decoupled weight decay (Loshchilov and Hutter, 2019) and clipping by global norm, over the flat
// buffers of a ParameterSet. Same gradients, same bits: every rank of a data-parallel job can run its own.
class AdamW {
 public:
  // After ParameterSet::Initialise(); `parameters` must outlive the optimizer.
  AdamW(ParameterSet* parameters, const AdamWOptions& options);
  // One update from the gradients in the set. Returns their global norm before clipping.
  double Step(float learning_rate);

 private:
  ParameterSet* parameters_;
  AdamWOptions options_;
  int64_t step_ = 0;
  std::vector<float> m_, v_;     // running means of the gradient and of its square
  std::vector<double> partial_;  // sums of squares of fixed pieces: the norm depends on no thread count
};

// Learning rate of `step` (from 0) out of `steps`: linear warm-up, then half a cosine down to `floor` * peak.
float CosineSchedule(int64_t step, int64_t steps, int64_t warmup, float peak, float floor);

}  // namespace lockstep::nn
