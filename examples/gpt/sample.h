#pragma once

#include <cstdint>
#include <string>

#include "examples/gpt/gpt.h"
#include "examples/nn/random.h"

namespace lockstep::gpt {

struct SampleOptions {
  std::string prompt = "\n";  // at least one byte
  int64_t bytes = 0;
  double temperature = 1.0;  // 0: always the likeliest byte
};

// Continues the prompt byte by byte and returns what was added. `parameters`: those of a trained model with
// the same configuration.
std::string Sample(nn::ParameterSet* parameters, const GptConfig& config, const SampleOptions& options,
                   nn::Random& random);

}  // namespace lockstep::gpt
