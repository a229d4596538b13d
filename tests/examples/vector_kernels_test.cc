// Every instruction set's kernels against formulas in double precision, at sizes around the vector widths.

#include "examples/nn/vector_kernels.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/examples/gradient_check.h"

namespace lockstep::nn {
namespace {

constexpr int64_t kSizes[] = {1, 7, 15, 16, 17, 31, 33, 64, 65, 200};

class VectorKernelsTest : public testing::TestWithParam<VectorKernels> {
 protected:
  std::vector<float> Normal(int64_t count, float scale = 1) {
    std::vector<float> values = RandomVector(count, random_);
    for (float& value : values) value *= scale;
    return values;
  }

  const VectorKernels kernels_ = GetParam();
  Random random_{11};
};

TEST_P(VectorKernelsTest, GeluIsTheTanhForm) {
  for (int64_t size : kSizes) {
    const std::vector<float> x = Normal(size, 4);
    std::vector<float> slope = x, y(size);
    kernels_.gelu_forward(slope.data(), y.data(), size);
    for (int64_t i = 0; i < size; ++i) {
      const double v = x[i];
      const double t = std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v));
      EXPECT_NEAR(y[i], 0.5 * v * (1 + t), 2e-6 * (1 + std::abs(v)));
    }
  }
}

TEST_P(VectorKernelsTest, CausalSoftmaxSumsToOneAndIsZeroBehindTheDiagonal) {
  for (int64_t size : kSizes) {
    const std::vector<float> scores = Normal(size * size, 3);
    std::vector<float> p = scores;
    kernels_.causal_softmax(p.data(), 0, size, size, 0.5f);
    for (int64_t r = 0; r < size; ++r) {
      double sum = 0;
      for (int64_t c = 0; c <= r; ++c) sum += std::exp(0.5 * scores[r * size + c]);
      for (int64_t c = 0; c < size; ++c) {
        EXPECT_NEAR(p[r * size + c], c <= r ? std::exp(0.5 * scores[r * size + c]) / sum : 0, 1e-6);
      }
    }
  }
}

TEST_P(VectorKernelsTest, CrossEntropyHoldsForLargeLogits) {
  for (int64_t classes : kSizes) {
    std::vector<float> logits = Normal(classes, 30);
    const std::vector<float> kept = logits;
    const int32_t target = static_cast<int32_t>(classes / 2);
    float loss = 0;
    kernels_.cross_entropy(logits.data(), &target, &loss, 1, classes);
    double top = -1e30, sum = 0;
    for (float logit : kept) top = std::max(top, static_cast<double>(logit));
    for (float logit : kept) sum += std::exp(logit - top);
    const double expected = top + std::log(sum) - kept[target];
    EXPECT_NEAR(loss, expected, 1e-5 * (1 + expected));
  }
}

TEST_P(VectorKernelsTest, NormalisesRows) {
  for (int64_t width : kSizes) {
    const std::vector<float> x = Normal(3 * width, 5), gain = Normal(width), bias = Normal(width);
    std::vector<float> y(3 * width), mean(3), rstd(3);
    kernels_.norm_forward(x.data(), gain.data(), bias.data(), y.data(), mean.data(), rstd.data(), 3, width);
    for (int64_t r = 0; r < 3; ++r) {
      double sum = 0, squares = 0;
      for (int64_t c = 0; c < width; ++c) sum += x[r * width + c];
      const double m = sum / static_cast<double>(width);
      for (int64_t c = 0; c < width; ++c) squares += (x[r * width + c] - m) * (x[r * width + c] - m);
      const double s = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
      for (int64_t c = 0; c < width; ++c) {
        EXPECT_NEAR(y[r * width + c], (x[r * width + c] - m) * s * gain[c] + bias[c], 1e-4);
      }
    }
  }
}

TEST_P(VectorKernelsTest, SplitsAndJoinsHeads) {
  const std::vector<float> x = Normal(5 * 3 * 7);
  std::vector<float> matrices(x.size()), joined(x.size());
  kernels_.split_heads(x.data(), 5, 3, 7, matrices.data());
  EXPECT_EQ(matrices[(2 * 5 + 4) * 7 + 6], x[(4 * 3 + 2) * 7 + 6]);
  kernels_.join_heads(matrices.data(), 5, 3, 7, joined.data());
  EXPECT_EQ(joined, x);
}

TEST_P(VectorKernelsTest, SumsColumnsAndSquares) {
  for (int64_t size : kSizes) {
    const std::vector<float> x = Normal(9 * size);
    std::vector<float> sums(size);
    kernels_.column_sums(x.data(), 9, size, size, sums.data());
    double squares = 0;
    for (int64_t c = 0; c < size; ++c) {
      double sum = 0;
      for (int64_t r = 0; r < 9; ++r) sum += x[r * size + c];
      EXPECT_NEAR(sums[c], sum, 1e-5);
    }
    for (float value : x) squares += static_cast<double>(value) * value;
    EXPECT_NEAR(kernels_.sum_of_squares(x.data(), 9 * size), squares, 1e-5 * squares);
  }
}

INSTANTIATE_TEST_SUITE_P(Supported, VectorKernelsTest, testing::ValuesIn(SupportedVectorKernels()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::nn
