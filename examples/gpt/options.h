#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lockstep::gpt {

// What the trainer can be told. The table in options.cc has the flag and the explanation of each.
struct Options {
  bool help = false;
  std::string data;

  int64_t layers = 4;
  int64_t width = 128;
  int64_t heads = 4;
  int64_t context = 128;

  int64_t batch = 16;
  int64_t steps = 1500;
  double learning_rate = 6e-3;
  double minimum_rate = 0.05;
  int64_t warmup = 100;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double clip = 1.0;
  double init = 0.5;
  int64_t seed = 1;

  int64_t threads = 0;
  int64_t log_every = 50;
  int64_t eval_every = 500;
  int64_t generate = 0;
  double temperature = 0.8;
  std::string prompt = "\n";
  std::string csv;
};

// Reads "--name value" and "--name=value". InvalidArgument names the flag, what is wrong with it and what
// would be right.
absl::StatusOr<Options> ParseOptions(absl::Span<char* const> arguments);

// One line a flag, with its default.
std::string HelpText();

}  // namespace lockstep::gpt
