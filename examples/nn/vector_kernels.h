#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::nn {

// What AdamW does to one run of parameters; see adamw.h.
struct AdamWStep {
  float learning_rate, decay;  // decay: 1 - learning_rate * weight_decay
  float beta1, beta2, epsilon;
  float correction1, correction2;  // 1 / (1 - beta^t)
  float gradient_scale;            // from clipping
};

// The arithmetic that is not a matrix product, written as plain loops and compiled once for each vector
// width (vector_kernels.inc). Matrices are row-major and dense unless a stride is given.
struct VectorKernels {
  const char* name;
  // out = a + b.
  void (*add)(const float* a, const float* b, float* out, int64_t count);
  // Splits each of `rows` rows into `heads` runs of `width` floats; heads become matrices of rows x width,
  // one after the other. join_heads does the opposite.
  void (*split_heads)(const float* x, int64_t rows, int64_t heads, int64_t width, float* matrices);
  void (*join_heads)(const float* matrices, int64_t rows, int64_t heads, int64_t width, float* x);
  // out[c] = sum over rows of x[r][c], for c in [0, columns); rows are `stride` apart.
  void (*column_sums)(const float* x, int64_t rows, int64_t columns, int64_t stride, float* out);
  // y = gelu(x); x becomes the slope gelu'(x), which is all that the backward pass needs.
  void (*gelu_forward)(float* x, float* y, int64_t count);
  // dx = dy * slope.
  void (*gelu_backward)(const float* slope, const float* dy, float* dx, int64_t count);
  // Each row of y = (x - mean) * rstd * gain + bias; keeps mean and rstd of each row.
  void (*norm_forward)(const float* x, const float* gain, const float* bias, float* y, float* mean,
                       float* rstd, int64_t rows, int64_t width);
  // dx += the gradient through the normalisation.
  void (*norm_backward)(const float* x, const float* dy, const float* gain, const float* mean,
                        const float* rstd, float* dx, int64_t rows, int64_t width);
  // dgain, dbias of `columns` columns; rows are `stride` apart.
  void (*norm_gradients)(const float* x, const float* dy, const float* mean, const float* rstd, int64_t rows,
                         int64_t columns, int64_t stride, float* dgain, float* dbias);
  // Row r of matrix m (r counts from `first_row`, matrices of `size` rows follow one another) becomes the
  // softmax of its first (r % size) + 1 elements times `scale`, and zero behind them.
  void (*causal_softmax)(float* scores, int64_t first_row, int64_t rows, int64_t size, float scale);
  // dscores = the gradient with respect to the unscaled scores; in place over dprobabilities. Same rows.
  void (*causal_softmax_backward)(const float* probabilities, float* dprobabilities, int64_t first_row,
                                  int64_t rows, int64_t size, float scale);
  // Rows of logits become probabilities; losses[r] = -log p[targets[r]], or 0 where targets[r] < 0.
  void (*cross_entropy)(float* logits, const int32_t* targets, float* losses, int64_t rows, int64_t classes);
  // Probabilities become the gradient of scale * (sum of losses).
  void (*cross_entropy_backward)(float* probabilities, const int32_t* targets, float scale, int64_t rows,
                                 int64_t classes);
  double (*sum_of_squares)(const float* x, int64_t count);
  void (*adamw)(const AdamWStep& step, const float* gradient, float* value, float* m, float* v,
                int64_t count);
};

// The kernels that this machine runs, narrowest vectors first; never empty.
std::vector<VectorKernels> SupportedVectorKernels();
// The last of them.
const VectorKernels& BestVectorKernels();

}  // namespace lockstep::nn
