#pragma once

#include <cstdint>

#include "examples/nn/arena.h"
#include "examples/nn/matmul.h"

namespace lockstep::nn {

struct AttentionSpec {
  int64_t windows = 0;  // independent sequences
  int64_t context = 0;  // positions of each
  int64_t width = 0;
  int64_t heads = 0;  // divides width
};

// Causal multi-head attention without parameters: the projections around it are Linear layers.
//
// A row of qkv holds query, key and value of one position (3 x width, each split into heads); a row of the
// output holds the heads' results side by side. Position t attends to positions 0..t of its window:
//
//     probabilities = softmax(q * k^T / sqrt(width / heads)),  y = probabilities * v
class CausalAttention {
 public:
  explicit CausalAttention(const AttentionSpec& spec);
  void Place(Arena& arena);

  // Keeps what the backward pass needs; qkv may be overwritten after the call.
  void Forward(const float* qkv, float* y);
  // Sets dqkv.
  void Backward(const float* dy, float* dqkv);

 private:
  AttentionSpec spec_;
  int64_t head_width_;
  float scale_;
  // One run of each covers all heads of a window, each head as a dense matrix: oneDNN is twice as fast on
  // those as on slices of rows.
  MatMul to_square_;               // q * k^T, dy * v^T
  MatMul from_square_;             // p * v, dscores * k
  MatMul from_square_transposed_;  // p^T * dy, dscores^T * q

  // Kept for the backward pass.
  float* qkv_heads_ = nullptr;      // windows x (q, k, v) x heads x context x head width
  float* probabilities_ = nullptr;  // windows x heads x context x context
  // Of the window at hand.
  float* dprobabilities_ = nullptr;  // heads x context x context
  float* dqkv_heads_ = nullptr;      // (q, k, v) x heads x context x head width
  float* y_heads_ = nullptr;         // heads x context x head width
};

}  // namespace lockstep::nn
