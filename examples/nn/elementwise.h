#pragma once

#include <cstdint>

namespace lockstep::nn {

// Layers without parameters that work element by element.

// y = gelu(x), GPT-2's tanh form. x is consumed: it becomes the slope that Backward needs.
void GeluForward(float* x, float* y, int64_t count);
// dx = dy * slope; dx may be dy.
void GeluBackward(const float* slope, const float* dy, float* dx, int64_t count);

// out = x + branch. Its backward pass needs no code: the gradient of `out` is that of both. out may be x.
void Residual(const float* x, const float* branch, float* out, int64_t count);

}  // namespace lockstep::nn
