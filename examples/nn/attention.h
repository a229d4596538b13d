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
  void Place(Arena& arena);  // the probabilities, kept for the backward pass

  void Forward(const float* qkv, float* y);
  // Sets dqkv.
  void Backward(const float* qkv, const float* dy, float* dqkv);

 private:
  AttentionSpec spec_;
  float scale_;
  // One run of each covers all heads of a window.
  MatMul scores_, mix_;
  MatMul value_gradient_, probability_gradient_, query_gradient_, key_gradient_;
  float* probabilities_ = nullptr;   // windows x heads x context x context
  float* dprobabilities_ = nullptr;  // heads x context x context
};

}  // namespace lockstep::nn
