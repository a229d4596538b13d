#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

#include "absl/status/status.h"

namespace lockstep::gpt {

// The figures of one progress line; losses in nats a byte, over all ranks.
struct Progress {
  int64_t step = 0, steps = 0;
  double seconds = 0;     // of training so far, validation left out
  int64_t tokens = 0;     // learned so far
  double train_loss = 0;  // mean since the last line
  double learning_rate = 0, gradient_norm = 0;
  double tokens_per_second = 0;    // since the last line
  double communication_share = 0;  // of the time since the last line
};

// Prints progress on standard output, and writes it to a CSV file where one is asked for.
class Report {
 public:
  // `prints`: false keeps standard output silent. `csv`: empty for no file.
  Report(bool prints, const std::string& csv);
  // InvalidArgument where the CSV file cannot be written.
  absl::Status status() const;

  void Line(const Progress& progress);
  // `seconds`: what the validation took.
  void Validation(const Progress& progress, double loss, double seconds);
  void Text(const std::string& text);

 private:
  void Row(const Progress& progress, const std::string& validation_loss);

  bool prints_;
  std::string path_;
  std::ofstream csv_;
};

}  // namespace lockstep::gpt
