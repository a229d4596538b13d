#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "examples/nn/random.h"
#include "gtest/gtest.h"

namespace lockstep::nn {

// `count` normal values.
inline std::vector<float> RandomVector(int64_t count, Random& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

// A loss that weighs every element of a layer's output differently; dy = weights.
inline double WeightedSum(absl::Span<const float> y, absl::Span<const float> weights) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * static_cast<double>(weights[i]);
  return sum;
}

// Compares `gradient` with central differences of `loss` by x, on up to 64 elements of x spread over all of
// it. The layers work in f32: the step is what keeps rounding and curvature both far below the tolerance.
inline void ExpectGradient(absl::Span<float> x, absl::Span<const float> gradient,
                           const std::function<double()>& loss) {
  constexpr double kStep = 1e-2;
  constexpr double kTolerance = 4e-3;
  double largest = 1e-3;
  for (float g : gradient) largest = std::max(largest, std::abs(static_cast<double>(g)));
  const size_t stride = std::max<size_t>(1, x.size() / 64);
  for (size_t i = 0; i < x.size(); i += stride) {
    const float kept = x[i];
    x[i] = kept + static_cast<float>(kStep);
    const double above = loss();
    x[i] = kept - static_cast<float>(kStep);
    const double below = loss();
    x[i] = kept;
    EXPECT_NEAR((above - below) / (2 * kStep), gradient[i], kTolerance * largest) << "element " << i;
  }
}

// The same for many values at once: moves x along its gradient plus a random direction, both of length 1,
// where the loss changes enough to be told from rounding.
inline void ExpectSlope(absl::Span<float> x, absl::Span<const float> gradient,
                        const std::function<double()>& loss, Random& random) {
  constexpr double kStep = 2e-3;
  const std::vector<float> kept(x.begin(), x.end());
  std::vector<double> direction(x.size());
  double gradient_square = 0, random_square = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    direction[i] = random.Normal();
    random_square += direction[i] * direction[i];
    gradient_square += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  }
  double expected = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double g = static_cast<double>(gradient[i]);
    direction[i] = direction[i] / std::sqrt(random_square) + g / std::sqrt(gradient_square);
    expected += direction[i] * g;
  }
  const auto at = [&](double distance) {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(static_cast<double>(kept[i]) + distance * direction[i]);
    }
    return loss();
  };
  EXPECT_NEAR((at(kStep) - at(-kStep)) / (2 * kStep), expected, 1e-2 * std::sqrt(gradient_square));
  std::copy(kept.begin(), kept.end(), x.begin());
}

}  // namespace lockstep::nn
