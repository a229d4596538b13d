#include "examples/nn/attention.h"

#include <cmath>

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {
namespace {

// The four kinds of matrices, one a head: positions x head width inside qkv rows or inside output rows,
// positions x positions, and their transposes.
struct Layouts {
  explicit Layouts(const AttentionSpec& spec)
      : head(spec.width / spec.heads),
        qkv{.row = 3 * spec.width, .column = 1, .matrix = head},
        output{.row = spec.width, .column = 1, .matrix = head},
        square{.row = spec.context, .column = 1, .matrix = spec.context * spec.context} {}

  int64_t head;
  Layout qkv, output, square;
};

Layout Transposed(const Layout& layout) {
  return {.row = layout.column, .column = layout.row, .matrix = layout.matrix};
}

// a (context x head) * b (head x context)
MatMulSpec ToSquare(const AttentionSpec& spec, const Layout& a, const Layout& b) {
  const Layouts layouts(spec);
  return {.m = spec.context,
          .n = spec.context,
          .k = layouts.head,
          .a = a,
          .b = b,
          .c = layouts.square,
          .batch = spec.heads};
}

// a (context x context) * b (context x head)
MatMulSpec FromSquare(const AttentionSpec& spec, const Layout& a, const Layout& b, const Layout& c) {
  const Layouts layouts(spec);
  return {
      .m = spec.context, .n = layouts.head, .k = spec.context, .a = a, .b = b, .c = c, .batch = spec.heads};
}

}  // namespace

CausalAttention::CausalAttention(const AttentionSpec& spec)
    : spec_(spec),
      scale_(1.0f / std::sqrt(static_cast<float>(spec.width / spec.heads))),
      scores_(ToSquare(spec, Layouts(spec).qkv, Transposed(Layouts(spec).qkv))),
      mix_(FromSquare(spec, Layouts(spec).square, Layouts(spec).qkv, Layouts(spec).output)),
      value_gradient_(
          FromSquare(spec, Transposed(Layouts(spec).square), Layouts(spec).output, Layouts(spec).qkv)),
      probability_gradient_(ToSquare(spec, Layouts(spec).output, Transposed(Layouts(spec).qkv))),
      query_gradient_(FromSquare(spec, Layouts(spec).square, Layouts(spec).qkv, Layouts(spec).qkv)),
      key_gradient_(
          FromSquare(spec, Transposed(Layouts(spec).square), Layouts(spec).qkv, Layouts(spec).qkv)) {}

void CausalAttention::Place(Arena& arena) {
  const int64_t window = spec_.heads * spec_.context * spec_.context;
  probabilities_ = arena.Take(spec_.windows * window);
  dprobabilities_ = arena.Take(window);
}

void CausalAttention::Forward(const float* qkv, float* y) {
  const int64_t window = spec_.heads * spec_.context * spec_.context;
  for (int64_t w = 0; w < spec_.windows; ++w) {
    const float* q = qkv + w * spec_.context * 3 * spec_.width;
    const float* k = q + spec_.width;
    const float* v = k + spec_.width;
    float* p = probabilities_ + w * window;
    scores_.Run(q, k, p);
    ParallelFor(spec_.heads * spec_.context, 1, [&](int64_t begin, int64_t end) {
      BestVectorKernels().causal_softmax(p, begin, end - begin, spec_.context, scale_);
    });
    mix_.Run(p, v, y + w * spec_.context * spec_.width);
  }
}

void CausalAttention::Backward(const float* qkv, const float* dy, float* dqkv) {
  const int64_t window = spec_.heads * spec_.context * spec_.context;
  for (int64_t w = 0; w < spec_.windows; ++w) {
    const int64_t start = w * spec_.context * 3 * spec_.width;
    const float* q = qkv + start;
    const float* k = q + spec_.width;
    const float* v = k + spec_.width;
    const float* p = probabilities_ + w * window;
    const float* dout = dy + w * spec_.context * spec_.width;
    value_gradient_.Run(p, dout, dqkv + start + 2 * spec_.width);
    probability_gradient_.Run(dout, v, dprobabilities_);
    ParallelFor(spec_.heads * spec_.context, 1, [&](int64_t begin, int64_t end) {
      BestVectorKernels().causal_softmax_backward(p, dprobabilities_, begin, end - begin, spec_.context,
                                                  scale_);
    });
    query_gradient_.Run(dprobabilities_, k, dqkv + start);
    key_gradient_.Run(dprobabilities_, q, dqkv + start + spec_.width);
  }
}

}  // namespace lockstep::nn
