#include "examples/gpt/gpt.h"

#include <algorithm>
#include <cmath>

namespace lockstep::gpt {

Gpt::Gpt(nn::ParameterSet* parameters, const GptConfig& config, int64_t windows)
    : config_(config),
      rows_(windows * config.context),
      embedding_(parameters, {.token_name = "token",
                              .position_name = "position",
                              .rows = rows_,
                              .vocabulary = config.vocabulary,
                              .context = config.context,
                              .width = config.width}),
      norm_(parameters, "norm", rows_, config.width),
      head_(parameters, {.name = "token",
                         .rows = rows_,
                         .inputs = config.width,
                         .outputs = config.vocabulary,
                         .bias = false,
                         .transposed = true}),
      loss_(rows_, config.vocabulary),
      streams_(config.layers + 1) {
  blocks_.reserve(config.layers);
  for (int64_t depth = 0; depth < config.layers; ++depth)
    blocks_.emplace_back(parameters, depth, config, windows);
  Place();
  arena_.Allocate();
  Place();
}

void Gpt::Place() {
  const int64_t narrow = rows_ * config_.width;
  scratch_ = {.narrow = arena_.Take(narrow), .wide = arena_.Take(4 * narrow)};
  for (size_t i = 0; i < blocks_.size(); ++i) {
    streams_[i] = arena_.Take(narrow);
    blocks_[i].Place(arena_, scratch_);
  }
  streams_.back() = arena_.Take(narrow);
  norm_.Place(arena_);
  head_input_ = arena_.Take(narrow);
  logits_ = arena_.Take(rows_ * config_.vocabulary);
  loss_.Place(arena_);
  dstream_ = arena_.Take(narrow);
}

double Gpt::Forward(absl::Span<const int32_t> tokens, absl::Span<const int32_t> targets) {
  embedding_.Forward(tokens, streams_[0]);
  for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i].Forward(streams_[i], streams_[i + 1]);
  norm_.Forward(streams_.back(), head_input_);
  head_.Forward(head_input_, logits_);
  return loss_.Forward(logits_, targets);
}

void Gpt::Backward(absl::Span<const int32_t> tokens, absl::Span<const int32_t> targets, float scale) {
  loss_.Backward(logits_, targets, scale);
  head_.Backward(head_input_, logits_, scratch_.narrow);
  std::fill_n(dstream_, rows_ * config_.width, 0.0f);
  norm_.Backward(streams_.back(), scratch_.narrow, dstream_);
  for (size_t i = blocks_.size(); i-- > 0;) blocks_[i].Backward(streams_[i], dstream_);
  embedding_.Backward(tokens, dstream_);
}

absl::Span<const float> Gpt::Probabilities(int64_t row) const {
  return absl::MakeConstSpan(logits_ + row * config_.vocabulary, config_.vocabulary);
}

}  // namespace lockstep::gpt
