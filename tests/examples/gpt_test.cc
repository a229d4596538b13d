#include "examples/gpt/gpt.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "examples/nn/adamw.h"
#include "gtest/gtest.h"
#include "tests/examples/gradient_check.h"

namespace lockstep::gpt {
namespace {

constexpr GptConfig kSmall = {.vocabulary = 17, .context = 6, .layers = 2, .width = 24, .heads = 3};

class GptTest : public testing::Test {
 protected:
  GptTest() : tokens_(2 * kSmall.context), targets_(tokens_.size()) {
    nn::Random random(5);
    for (int32_t& token : tokens_) token = static_cast<int32_t>(random.Below(kSmall.vocabulary));
    for (int32_t& target : targets_) target = static_cast<int32_t>(random.Below(kSmall.vocabulary));
  }

  nn::ParameterSet parameters_;
  std::vector<int32_t> tokens_, targets_;
};

TEST_F(GptTest, GradientsOfEveryParameterMatchDifferences) {
  Gpt model(&parameters_, kSmall, 2);
  parameters_.Initialise(3);
  const auto loss = [&] { return model.Forward(tokens_, targets_); };
  loss();
  model.Backward(tokens_, targets_, 1.0f);
  nn::Random random(8);
  for (const auto& entry : parameters_.entries()) {
    SCOPED_TRACE(entry.spec.name);
    const std::vector<float> gradient(parameters_.gradient(entry.where),
                                      parameters_.gradient(entry.where) + entry.where.count);
    nn::ExpectSlope(parameters_.values().subspan(entry.where.offset, entry.where.count), gradient, loss,
                    random);
  }
}

TEST_F(GptTest, StartsNearTheLossOfGuessing) {
  Gpt model(&parameters_, kSmall, 2);
  parameters_.Initialise(3);
  const double rows = static_cast<double>(model.rows());
  EXPECT_NEAR(model.Forward(tokens_, targets_) / rows, std::log(17.0), 0.2);
}

TEST_F(GptTest, ASecondModelSharesTheWeights) {
  Gpt model(&parameters_, kSmall, 2);
  parameters_.Initialise(3);
  Gpt one_window(&parameters_, kSmall, 1);
  const double both = model.Forward(tokens_, targets_);
  const auto tokens = absl::MakeConstSpan(tokens_), targets = absl::MakeConstSpan(targets_);
  const double first = one_window.Forward(tokens.first(6), targets.first(6));
  const double second = one_window.Forward(tokens.subspan(6), targets.subspan(6));
  EXPECT_NEAR(both, first + second, 1e-4);
}

TEST_F(GptTest, LearnsABatchByHeart) {
  Gpt model(&parameters_, kSmall, 2);
  parameters_.Initialise(3);
  nn::AdamW optimizer(&parameters_, {.weight_decay = 0});
  const double rows = static_cast<double>(model.rows());
  double loss = 0;
  for (int step = 0; step < 200; ++step) {
    loss = model.Forward(tokens_, targets_) / rows;
    model.Backward(tokens_, targets_, 1.0f / static_cast<float>(rows));
    optimizer.Step(1e-2f);
  }
  EXPECT_LT(loss, 0.05);
}

TEST(CosineScheduleTest, RisesFallsAndEndsAtTheFloor) {
  EXPECT_FLOAT_EQ(nn::CosineSchedule(0, 100, 10, 1.0f, 0.1f), 0.1f);
  EXPECT_FLOAT_EQ(nn::CosineSchedule(9, 100, 10, 1.0f, 0.1f), 1.0f);
  EXPECT_FLOAT_EQ(nn::CosineSchedule(55, 100, 10, 1.0f, 0.1f), 0.55f);
  EXPECT_FLOAT_EQ(nn::CosineSchedule(100, 100, 10, 1.0f, 0.1f), 0.1f);
}

TEST(AdamWTest, TheFirstStepMovesEachValueByTheLearningRateAfterDecay) {
  nn::ParameterSet parameters;
  const nn::Parameter decays = parameters.Declare({.name = "w", .count = 3, .mean = 2, .decays = true});
  const nn::Parameter stays = parameters.Declare({.name = "b", .count = 3, .mean = 2});
  parameters.Initialise(1);
  std::fill(parameters.gradients().begin(), parameters.gradients().end(), -3.0f);
  nn::AdamW optimizer(&parameters, {.weight_decay = 0.5f, .clip = 0});
  optimizer.Step(0.1f);
  EXPECT_NEAR(parameters.value(decays)[1], 2 * (1 - 0.1 * 0.5) + 0.1, 1e-5);
  EXPECT_NEAR(parameters.value(stays)[1], 2 + 0.1, 1e-5);
}

TEST(AdamWTest, ReportsTheNormBeforeClipping) {
  nn::ParameterSet parameters;
  const nn::Parameter w = parameters.Declare({.name = "w", .count = 2});
  parameters.Initialise(1);
  parameters.gradient(w)[0] = 3;
  parameters.gradient(w)[1] = -4;
  nn::AdamW optimizer(&parameters, {.clip = 1});
  EXPECT_NEAR(optimizer.Step(0.1f), 5, 1e-6);
}

}  // namespace
}  // namespace lockstep::gpt
