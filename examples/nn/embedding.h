#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "examples/nn/parameters.h"

namespace lockstep::nn {

struct EmbeddingSpec {
  std::string token_name, position_name;  // parameters: name.weight
  int64_t rows = 0;                       // of every output: a whole number of windows
  int64_t vocabulary = 0, context = 0, width = 0;
  float token_stddev = 0.02f, position_stddev = 0.02f;
};

// Row r of the output = token_embedding[tokens[r]] + position_embedding[r % context].
class Embedding {
 public:
  Embedding(ParameterSet* parameters, const EmbeddingSpec& spec);  // `parameters` must outlive the layer

  void Forward(absl::Span<const int32_t> tokens, float* y);
  // Sets the gradient of the positions, and ADDS to that of the tokens: the tied head, whose backward pass
  // comes first, has set it.
  void Backward(absl::Span<const int32_t> tokens, const float* dy);

 private:
  ParameterSet* parameters_;
  EmbeddingSpec spec_;
  Parameter tokens_, positions_;
};

}  // namespace lockstep::nn
