#include "examples/nn/attention.h"

#include <cmath>

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {
namespace {

Layout Dense(int64_t rows, int64_t columns) {
  return {.row = columns, .column = 1, .matrix = rows * columns};
}

Layout Transposed(const Layout& layout) {
  return {.row = layout.column, .column = layout.row, .matrix = layout.matrix};
}

// (context x head) * (context x head)^T = context x context
MatMulSpec ToSquare(const AttentionSpec& spec) {
  const int64_t head = spec.width / spec.heads;
  return {.m = spec.context,
          .n = spec.context,
          .k = head,
          .a = Dense(spec.context, head),
          .b = Transposed(Dense(spec.context, head)),
          .c = Dense(spec.context, spec.context),
          .batch = spec.heads};
}

// (context x context) * (context x head) = context x head
MatMulSpec FromSquare(const AttentionSpec& spec) {
  const int64_t head = spec.width / spec.heads;
  return {.m = spec.context,
          .n = head,
          .k = spec.context,
          .a = Dense(spec.context, spec.context),
          .b = Dense(spec.context, head),
          .c = Dense(spec.context, head),
          .batch = spec.heads};
}

MatMulSpec FromSquareTransposed(const AttentionSpec& spec) {
  MatMulSpec product = FromSquare(spec);
  product.a = Transposed(product.a);
  return product;
}

}  // namespace

CausalAttention::CausalAttention(const AttentionSpec& spec)
    : spec_(spec),
      head_width_(spec.width / spec.heads),
      scale_(1.0f / std::sqrt(static_cast<float>(head_width_))),
      to_square_(ToSquare(spec)),
      from_square_(FromSquare(spec)),
      from_square_transposed_(FromSquareTransposed(spec)) {}

void CausalAttention::Place(Arena& arena) {
  const int64_t narrow = spec_.context * spec_.width;
  const int64_t square = spec_.heads * spec_.context * spec_.context;
  qkv_heads_ = arena.Take(spec_.windows * 3 * narrow);
  probabilities_ = arena.Take(spec_.windows * square);
  dprobabilities_ = arena.Take(square);
  dqkv_heads_ = arena.Take(3 * narrow);
  y_heads_ = arena.Take(narrow);
}

void CausalAttention::Forward(const float* qkv, float* y) {
  const VectorKernels& kernels = BestVectorKernels();
  const int64_t narrow = spec_.context * spec_.width;
  for (int64_t w = 0; w < spec_.windows; ++w) {
    float* q = qkv_heads_ + w * 3 * narrow;
    const float* k = q + narrow;
    const float* v = k + narrow;
    float* p = probabilities_ + w * spec_.heads * spec_.context * spec_.context;
    kernels.split_heads(qkv + w * 3 * narrow, spec_.context, 3 * spec_.heads, head_width_, q);
    to_square_.Run(q, k, p);
    ParallelFor(spec_.heads * spec_.context, 1, [&](int64_t begin, int64_t end) {
      kernels.causal_softmax(p, begin, end - begin, spec_.context, scale_);
    });
    from_square_.Run(p, v, y_heads_);
    kernels.join_heads(y_heads_, spec_.context, spec_.heads, head_width_, y + w * narrow);
  }
}

void CausalAttention::Backward(const float* dy, float* dqkv) {
  const VectorKernels& kernels = BestVectorKernels();
  const int64_t narrow = spec_.context * spec_.width;
  for (int64_t w = 0; w < spec_.windows; ++w) {
    const float* q = qkv_heads_ + w * 3 * narrow;
    const float* k = q + narrow;
    const float* v = k + narrow;
    const float* p = probabilities_ + w * spec_.heads * spec_.context * spec_.context;
    kernels.split_heads(dy + w * narrow, spec_.context, spec_.heads, head_width_, y_heads_);
    from_square_transposed_.Run(p, y_heads_, dqkv_heads_ + 2 * narrow);
    to_square_.Run(y_heads_, v, dprobabilities_);
    ParallelFor(spec_.heads * spec_.context, 1, [&](int64_t begin, int64_t end) {
      kernels.causal_softmax_backward(p, dprobabilities_, begin, end - begin, spec_.context, scale_);
    });
    from_square_.Run(dprobabilities_, k, dqkv_heads_);
    from_square_transposed_.Run(dprobabilities_, q, dqkv_heads_ + narrow);
    kernels.join_heads(dqkv_heads_, spec_.context, 3 * spec_.heads, head_width_, dqkv + w * 3 * narrow);
  }
}

}  // namespace lockstep::nn
