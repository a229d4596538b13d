#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/gpt/data_parallel.h"
#include "examples/gpt/gpt.h"
#include "examples/gpt/options.h"
#include "examples/gpt/progress.h"
#include "examples/gpt/text.h"
#include "examples/nn/adamw.h"
#include "examples/nn/parameters.h"

namespace lockstep::gpt {

// One rank of a data-parallel training: the same parameters as every other rank, its share of each batch.
//
// Every rank draws the windows of the whole batch from one seeded order and takes its slice, so the batches
// do not depend on the number of ranks. Every rank must make the same calls. Not thread-safe.
class Trainer {
 public:
  // All of them must outlive the trainer. options.batch is a multiple of the world size.
  Trainer(const Options& options, const Text& text, DataParallel& ranks, Report& report);

  // options.steps steps, with reports and validations as they come, and a validation at the end.
  absl::Status Run();
  // The mean loss over the whole validation text, in nats a byte.
  absl::StatusOr<double> Validate();

  const GptConfig& config() const { return config_; }
  nn::ParameterSet& parameters() { return parameters_; }
  const Gpt& model() const { return model_; }

 private:
  absl::Status Step();
  absl::Status ReportStep();
  absl::Status ReportValidation();
  void LoadBatch();

  const Options& options_;
  const Text& text_;
  DataParallel& ranks_;
  Report& report_;

  GptConfig config_;
  int64_t windows_;  // of this rank
  nn::ParameterSet parameters_;
  Gpt model_;
  nn::AdamW optimizer_;
  WindowOrder order_;
  std::vector<int32_t> tokens_, targets_;

  Progress progress_;
  double loss_sum_ = 0;  // of this rank since the last report
  struct {
    int64_t step = 0;
    double seconds = 0, communication = 0;
  } reported_;
};

}  // namespace lockstep::gpt
