#include "examples/gpt/sample.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::gpt {
namespace {

int64_t Draw(absl::Span<const float> probabilities, double temperature, nn::Random& random) {
  if (temperature <= 0) {
    return std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
  }
  double total = 0;
  for (float p : probabilities) total += std::pow(static_cast<double>(p), 1.0 / temperature);
  double left = random.Uniform() * total;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    left -= std::pow(static_cast<double>(probabilities[i]), 1.0 / temperature);
    if (left < 0) return static_cast<int64_t>(i);
  }
  return static_cast<int64_t>(probabilities.size()) - 1;
}

}  // namespace

std::string Sample(nn::ParameterSet* parameters, const GptConfig& config, const SampleOptions& options,
                   nn::Random& random) {
  Gpt model(parameters, config, 1);
  const size_t context = static_cast<size_t>(config.context);
  std::vector<int32_t> tokens(context), targets(context, -1);
  std::string text = options.prompt;
  for (int64_t i = 0; i < options.bytes; ++i) {
    // The last `context` bytes fill the window from its start; what is behind them is not looked at.
    const size_t visible = std::min(text.size(), context);
    for (size_t t = 0; t < visible; ++t) tokens[t] = static_cast<uint8_t>(text[text.size() - visible + t]);
    model.Forward(tokens, targets);
    const auto probabilities = model.Probabilities(static_cast<int64_t>(visible) - 1);
    text.push_back(static_cast<char>(Draw(probabilities, options.temperature, random)));
  }
  return text.substr(options.prompt.size());
}

}  // namespace lockstep::gpt
