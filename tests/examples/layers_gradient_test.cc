// Every layer's backward pass against central differences of its forward pass.

#include <algorithm>
#include <vector>

#include "examples/nn/attention.h"
#include "examples/nn/cross_entropy.h"
#include "examples/nn/elementwise.h"
#include "examples/nn/embedding.h"
#include "examples/nn/layer_norm.h"
#include "examples/nn/linear.h"
#include "gtest/gtest.h"
#include "tests/examples/gradient_check.h"

namespace lockstep::nn {
namespace {

// The values and the gradient of a parameter by its name.
absl::Span<float> Values(ParameterSet& parameters, const std::string& name) {
  for (const auto& entry : parameters.entries()) {
    if (entry.spec.name == name) return parameters.values().subspan(entry.where.offset, entry.where.count);
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

absl::Span<const float> Gradient(ParameterSet& parameters, const std::string& name) {
  for (const auto& entry : parameters.entries()) {
    if (entry.spec.name == name) return parameters.gradients().subspan(entry.where.offset, entry.where.count);
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

class LinearGradientTest : public testing::TestWithParam<bool> {};

TEST_P(LinearGradientTest, MatchesDifferences) {
  constexpr int64_t kRows = 21, kInputs = 24, kOutputs = 70;
  const bool transposed = GetParam();
  Random random(1);
  ParameterSet parameters;
  Linear layer(&parameters, {.name = "l",
                             .rows = kRows,
                             .inputs = kInputs,
                             .outputs = kOutputs,
                             .stddev = 0.3f,
                             .bias = !transposed,
                             .transposed = transposed});
  parameters.Initialise(1);
  std::vector<float> x = RandomVector(kRows * kInputs, random), y(kRows * kOutputs), dx(x.size());
  const std::vector<float> dy = RandomVector(kRows * kOutputs, random);
  const auto loss = [&] {
    layer.Forward(x.data(), y.data());
    return WeightedSum(y, dy);
  };
  loss();
  layer.Backward(x.data(), dy.data(), dx.data());
  ExpectGradient(absl::MakeSpan(x), dx, loss);
  ExpectGradient(Values(parameters, "l.weight"), Gradient(parameters, "l.weight"), loss);
  if (!transposed) ExpectGradient(Values(parameters, "l.bias"), Gradient(parameters, "l.bias"), loss);
}

INSTANTIATE_TEST_SUITE_P(Weights, LinearGradientTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Transposed" : "Plain"; });

TEST(LayerNormGradientTest, MatchesDifferencesAndAddsToTheStream) {
  constexpr int64_t kRows = 9, kWidth = 72;
  Random random(2);
  ParameterSet parameters;
  LayerNorm layer(&parameters, "n", kRows, kWidth);
  Arena arena;
  layer.Place(arena);
  arena.Allocate();
  layer.Place(arena);
  parameters.Initialise(1);
  for (float& value : parameters.values()) value += 0.3f * static_cast<float>(random.Normal());
  std::vector<float> x = RandomVector(kRows * kWidth, random), y(x.size()), dx(x.size(), 1.0f);
  const std::vector<float> dy = RandomVector(kRows * kWidth, random);
  const auto loss = [&] {
    layer.Forward(x.data(), y.data());
    return WeightedSum(y, dy);
  };
  loss();
  layer.Backward(x.data(), dy.data(), dx.data());
  for (float& value : dx) value -= 1.0f;
  ExpectGradient(absl::MakeSpan(x), dx, loss);
  ExpectGradient(Values(parameters, "n.gain"), Gradient(parameters, "n.gain"), loss);
  ExpectGradient(Values(parameters, "n.bias"), Gradient(parameters, "n.bias"), loss);
}

class AttentionGradientTest : public testing::TestWithParam<AttentionSpec> {};

TEST_P(AttentionGradientTest, MatchesDifferences) {
  const AttentionSpec spec = GetParam();
  const int64_t rows = spec.windows * spec.context;
  Random random(3);
  CausalAttention layer(spec);
  Arena arena;
  layer.Place(arena);
  arena.Allocate();
  layer.Place(arena);
  std::vector<float> qkv = RandomVector(rows * 3 * spec.width, random), y(rows * spec.width),
                     dqkv(qkv.size());
  const std::vector<float> dy = RandomVector(rows * spec.width, random);
  const auto loss = [&] {
    layer.Forward(qkv.data(), y.data());
    return WeightedSum(y, dy);
  };
  loss();
  layer.Backward(dy.data(), dqkv.data());
  ExpectGradient(absl::MakeSpan(qkv), dqkv, loss);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionGradientTest,
                         testing::Values(AttentionSpec{.windows = 2, .context = 32, .width = 16, .heads = 2},
                                         AttentionSpec{.windows = 3, .context = 21, .width = 12, .heads = 3},
                                         AttentionSpec{.windows = 1, .context = 1, .width = 8, .heads = 1},
                                         AttentionSpec{.windows = 2, .context = 128, .width = 8, .heads = 1}),
                         [](const auto& info) {
                           return "Context" + std::to_string(info.param.context) + "Heads" +
                                  std::to_string(info.param.heads);
                         });

TEST(AttentionTest, ALaterPositionChangesNothingBeforeIt) {
  const AttentionSpec spec = {.windows = 1, .context = 20, .width = 8, .heads = 2};
  Random random(4);
  CausalAttention layer(spec);
  Arena arena;
  layer.Place(arena);
  arena.Allocate();
  layer.Place(arena);
  std::vector<float> qkv = RandomVector(20 * 24, random), before(20 * 8), after(20 * 8);
  layer.Forward(qkv.data(), before.data());
  for (size_t i = 11 * 24; i < qkv.size(); ++i) qkv[i] += 5.0f;
  layer.Forward(qkv.data(), after.data());
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 11 * 8, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 11 * 8, before.end(), after.begin() + 11 * 8));
}

TEST(GeluGradientTest, MatchesDifferences) {
  Random random(5);
  std::vector<float> x = RandomVector(203, random), slope(203), y(203), dx(203);
  for (float& value : x) value *= 3.0f;
  const std::vector<float> dy = RandomVector(203, random);
  const auto loss = [&] {
    slope = x;
    GeluForward(slope.data(), y.data(), 203);
    return WeightedSum(y, dy);
  };
  loss();
  GeluBackward(slope.data(), dy.data(), dx.data(), 203);
  ExpectGradient(absl::MakeSpan(x), dx, loss);
}

TEST(EmbeddingGradientTest, MatchesDifferencesAndAddsToTheTiedHead) {
  constexpr int64_t kContext = 5, kWindows = 3, kWidth = 72, kVocabulary = 11;
  Random random(6);
  ParameterSet parameters;
  Embedding layer(&parameters, {.token_name = "t",
                                .position_name = "p",
                                .rows = kContext * kWindows,
                                .vocabulary = kVocabulary,
                                .context = kContext,
                                .width = kWidth});
  parameters.Initialise(1);
  std::vector<int32_t> tokens(kContext * kWindows);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.Below(kVocabulary));
  std::vector<float> y(kContext * kWindows * kWidth);
  const std::vector<float> dy = RandomVector(static_cast<int64_t>(y.size()), random);
  const auto loss = [&] {
    layer.Forward(tokens, y.data());
    return WeightedSum(y, dy);
  };
  std::fill(parameters.gradients().begin(), parameters.gradients().end(), 1.0f);
  layer.Backward(tokens, dy.data());
  for (float& g : parameters.gradients().subspan(0, kVocabulary * kWidth)) g -= 1.0f;
  ExpectGradient(Values(parameters, "t.weight"), Gradient(parameters, "t.weight"), loss);
  ExpectGradient(Values(parameters, "p.weight"), Gradient(parameters, "p.weight"), loss);
}

TEST(CrossEntropyGradientTest, MatchesDifferencesAndLeavesOutNegativeTargets) {
  constexpr int64_t kRows = 7, kClasses = 50;
  Random random(7);
  SoftmaxCrossEntropy layer(kRows, kClasses);
  Arena arena;
  layer.Place(arena);
  arena.Allocate();
  layer.Place(arena);
  std::vector<float> logits = RandomVector(kRows * kClasses, random), work;
  const std::vector<int32_t> targets = {0, 49, -1, 7, 7, -1, 20};
  const auto loss = [&] {
    work = logits;
    return 0.5 * layer.Forward(work.data(), targets);
  };
  loss();
  layer.Backward(work.data(), targets, 0.5f);
  const std::vector<float> gradient = work;
  ExpectGradient(absl::MakeSpan(logits), gradient, loss);
  EXPECT_TRUE(std::all_of(gradient.begin() + 2 * kClasses, gradient.begin() + 3 * kClasses,
                          [](float g) { return g == 0; }));
}

TEST(CrossEntropyTest, EqualLogitsCostTheLogarithmOfTheClasses) {
  SoftmaxCrossEntropy layer(2, 256);
  Arena arena;
  layer.Place(arena);
  arena.Allocate();
  layer.Place(arena);
  std::vector<float> logits(512, 3.0f);
  const std::vector<int32_t> targets = {17, 255};
  EXPECT_NEAR(layer.Forward(logits.data(), targets), 2 * std::log(256.0), 1e-5);
}

}  // namespace
}  // namespace lockstep::nn
