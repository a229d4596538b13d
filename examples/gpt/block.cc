#include "examples/gpt/block.h"

#include <cmath>

#include "examples/nn/elementwise.h"

namespace lockstep::gpt {
namespace {

nn::LinearSpec Projection(const std::string& name, const GptConfig& config, int64_t rows, int64_t inputs,
                          int64_t outputs) {
  // Variance 1 / inputs would keep the size of the signal, whatever the width.
  return {.name = name,
          .rows = rows,
          .inputs = inputs,
          .outputs = outputs,
          .stddev = config.init / std::sqrt(static_cast<float>(inputs))};
}

// What is added to the residual stream starts smaller, so that the sum over all blocks keeps its size.
nn::LinearSpec ResidualProjection(const std::string& name, const GptConfig& config, int64_t rows,
                                  int64_t inputs) {
  nn::LinearSpec spec = Projection(name, config, rows, inputs, config.width);
  spec.stddev /= std::sqrt(static_cast<float>(2 * config.layers));
  return spec;
}

}  // namespace

Block::Block(nn::ParameterSet* parameters, int64_t depth, const GptConfig& config, int64_t windows)
    : Block(parameters, "block" + std::to_string(depth), config, windows) {}

Block::Block(nn::ParameterSet* parameters, const std::string& name, const GptConfig& config, int64_t windows)
    : rows_(windows * config.context),
      width_(config.width),
      attention_norm_(parameters, name + ".attention_norm", rows_, width_),
      qkv_(parameters, Projection(name + ".qkv", config, rows_, width_, 3 * width_)),
      attention_({.windows = windows, .context = config.context, .width = width_, .heads = config.heads}),
      attention_out_(parameters, ResidualProjection(name + ".attention_out", config, rows_, width_)),
      mlp_norm_(parameters, name + ".mlp_norm", rows_, width_),
      mlp_in_(parameters, Projection(name + ".mlp_in", config, rows_, width_, 4 * width_)),
      mlp_out_(parameters, ResidualProjection(name + ".mlp_out", config, rows_, 4 * width_)) {}

void Block::Place(nn::Arena& arena, const BlockScratch& scratch) {
  scratch_ = scratch;
  attention_norm_.Place(arena);
  attention_input_ = arena.Take(rows_ * width_);
  attention_.Place(arena);
  attention_values_ = arena.Take(rows_ * width_);
  middle_ = arena.Take(rows_ * width_);
  mlp_norm_.Place(arena);
  mlp_input_ = arena.Take(rows_ * width_);
  hidden_ = arena.Take(rows_ * 4 * width_);
  activated_ = arena.Take(rows_ * 4 * width_);
}

void Block::Forward(const float* x, float* y) {
  attention_norm_.Forward(x, attention_input_);
  qkv_.Forward(attention_input_, scratch_.wide);
  attention_.Forward(scratch_.wide, attention_values_);
  attention_out_.Forward(attention_values_, scratch_.narrow);
  nn::Residual(x, scratch_.narrow, middle_, rows_ * width_);

  mlp_norm_.Forward(middle_, mlp_input_);
  mlp_in_.Forward(mlp_input_, hidden_);
  nn::GeluForward(hidden_, activated_, rows_ * 4 * width_);
  mlp_out_.Forward(activated_, scratch_.narrow);
  nn::Residual(middle_, scratch_.narrow, y, rows_ * width_);
}

void Block::Backward(const float* x, float* dstream) {
  mlp_out_.Backward(activated_, dstream, scratch_.wide);
  nn::GeluBackward(hidden_, scratch_.wide, scratch_.wide, rows_ * 4 * width_);
  mlp_in_.Backward(mlp_input_, scratch_.wide, scratch_.narrow);
  mlp_norm_.Backward(middle_, scratch_.narrow, dstream);

  attention_out_.Backward(attention_values_, dstream, scratch_.narrow);
  attention_.Backward(scratch_.narrow, scratch_.wide);
  qkv_.Backward(attention_input_, scratch_.wide, scratch_.narrow);
  attention_norm_.Backward(x, scratch_.narrow, dstream);
}

}  // namespace lockstep::gpt
