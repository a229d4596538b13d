#pragma once

#include <cstdint>
#include <string>

#include "examples/nn/arena.h"
#include "examples/nn/attention.h"
#include "examples/nn/layer_norm.h"
#include "examples/nn/linear.h"
#include "examples/nn/parameters.h"

namespace lockstep::gpt {

struct GptConfig {
  int64_t vocabulary = 256;  // bytes
  int64_t context = 128;
  int64_t layers = 4;
  int64_t width = 128;
  int64_t heads = 4;
  float init = 0.5f;  // scale of the first weights
};

// What is soon used up inside a block, in memory that all blocks share.
struct BlockScratch {
  float* narrow = nullptr;  // rows x width
  float* wide = nullptr;    // rows x 4 width: also queries, keys and values, 3 width
};

// One pre-norm transformer block:
//
//     x = x + attention(norm(x))
//     x = x + mlp(norm(x))
class Block {
 public:
  // `depth`: from 0. `parameters` must outlive the block.
  Block(nn::ParameterSet* parameters, int64_t depth, const GptConfig& config, int64_t windows);
  void Place(nn::Arena& arena, const BlockScratch& scratch);

  // x and y: rows x width. Keeps what the backward pass needs.
  void Forward(const float* x, float* y);
  // `dstream` holds the gradient with respect to y and becomes that with respect to x. Sets the gradients of
  // all parameters.
  void Backward(const float* x, float* dstream);

 private:
  Block(nn::ParameterSet* parameters, const std::string& name, const GptConfig& config, int64_t windows);

  int64_t rows_, width_;
  nn::LayerNorm attention_norm_;
  nn::Linear qkv_;
  nn::CausalAttention attention_;
  nn::Linear attention_out_;
  nn::LayerNorm mlp_norm_;
  nn::Linear mlp_in_, mlp_out_;

  // Activations, in the order in which they come up.
  float* attention_input_ = nullptr;   // rows x width
  float* attention_values_ = nullptr;  // rows x width
  float* middle_ = nullptr;            // rows x width: the stream between attention and MLP
  float* mlp_input_ = nullptr;         // rows x width
  float* hidden_ = nullptr;            // rows x 4 width: before the GELU, then its slope
  float* activated_ = nullptr;         // rows x 4 width
  BlockScratch scratch_;
};

}  // namespace lockstep::gpt
