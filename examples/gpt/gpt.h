#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "examples/gpt/block.h"
#include "examples/nn/arena.h"
#include "examples/nn/cross_entropy.h"
#include "examples/nn/embedding.h"
#include "examples/nn/layer_norm.h"
#include "examples/nn/linear.h"
#include "examples/nn/parameters.h"

namespace lockstep::gpt {

// GPT-2: token and position embeddings, pre-norm blocks, a last norm, and a head tied to the token embedding.
//
//     nn::ParameterSet parameters;
//     Gpt model(&parameters, config, windows);
//     parameters.Initialise(seed);
//     double loss = model.Forward(tokens, targets) / rows;
//     model.Backward(tokens, targets, 1.0f / rows);
//
// A second model on the same ParameterSet shares the weights and may have another number of windows. Tokens
// and targets hold windows * context values. Nothing is allocated after the constructor. Not thread-safe.
class Gpt {
 public:
  Gpt(nn::ParameterSet* parameters, const GptConfig& config, int64_t windows);

  int64_t rows() const { return rows_; }
  // Returns the sum of the losses in nats; targets below 0 do not count.
  double Forward(absl::Span<const int32_t> tokens, absl::Span<const int32_t> targets);
  // After Forward() with the same arguments: sets all gradients of scale * (sum of losses).
  void Backward(absl::Span<const int32_t> tokens, absl::Span<const int32_t> targets, float scale);
  // After Forward(): what is likely to follow the token of `row`.
  absl::Span<const float> Probabilities(int64_t row) const;
  int64_t activation_bytes() const { return arena_.bytes(); }

 private:
  void Place();

  GptConfig config_;
  int64_t rows_;
  nn::Embedding embedding_;
  std::vector<Block> blocks_;
  nn::LayerNorm norm_;
  nn::Linear head_;
  nn::SoftmaxCrossEntropy loss_;

  nn::Arena arena_;
  std::vector<float*> streams_;  // rows x width: the input of each block, and the last one's output
  float* head_input_ = nullptr;  // rows x width
  float* logits_ = nullptr;      // rows x vocabulary: logits, then probabilities, then their gradient
  float* dstream_ = nullptr;     // rows x width
  BlockScratch scratch_;
};

}  // namespace lockstep::gpt
