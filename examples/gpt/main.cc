// lockstep-gpt: trains a small GPT-2 on the bytes of a text file, data parallel over Lockstep.
//
//     lockstep run -n 2 lockstep-gpt --data book.txt --generate 500

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "dnnl.hpp"
#include "examples/gpt/data_parallel.h"
#include "examples/gpt/options.h"
#include "examples/gpt/progress.h"
#include "examples/gpt/sample.h"
#include "examples/gpt/text.h"
#include "examples/gpt/trainer.h"
#include "lockstep/status.h"

namespace lockstep::gpt {
namespace {

// The cores of this host, shared fairly among its ranks.
absl::StatusOr<int> Threads(const Options& options, DataParallel& ranks) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int sharing, ranks.RanksOnThisHost());
  if (options.threads > 0) return static_cast<int>(options.threads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / sharing);
}

absl::Status Train(const Options& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Text text, Text::Load(options.data, options.context));
  LOCKSTEP_ASSIGN_OR_RETURN(DataParallel ranks, DataParallel::Create());
  if (options.batch % ranks.world_size() != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--batch %d cannot be shared by %d ranks (choose a multiple of %d)", options.batch,
                        ranks.world_size(), ranks.world_size()));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const int threads, Threads(options, ranks));
  omp_set_num_threads(threads);
  const bool first = ranks.rank() == 0;
  Report report(first, first ? options.csv : "");
  LOCKSTEP_RETURN_IF_ERROR(report.status());

  Trainer trainer(options, text, ranks, report);
  report.Text(
      absl::StrFormat("%d parameters, %d ranks x %d threads, %.1f MB of activations a rank\n"
                      "%d bytes to learn, %d to validate on, %d windows of %d a step\n",
                      trainer.parameters().count(), ranks.world_size(), threads,
                      static_cast<double>(trainer.model().activation_bytes()) * 1e-6, text.training().size(),
                      text.validation_bytes(), options.batch, options.context));
  LOCKSTEP_RETURN_IF_ERROR(trainer.Run());

  if (options.generate > 0 && first) {
    nn::Random random(static_cast<uint64_t>(options.seed));
    const SampleOptions sample = {
        .prompt = options.prompt, .bytes = options.generate, .temperature = options.temperature};
    report.Text("\n" + options.prompt + Sample(&trainer.parameters(), trainer.config(), sample, random) +
                "\n");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace lockstep::gpt

int main(int argc, char** argv) {
  const auto options = lockstep::gpt::ParseOptions(absl::MakeConstSpan(argv, argc));
  if (options.ok() && options->help) {
    std::fputs(lockstep::gpt::HelpText().c_str(), stdout);
    return 0;
  }
  absl::Status status = options.status();
  try {
    if (status.ok()) status = lockstep::gpt::Train(*options);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError(
        "the model does not fit into memory (take a smaller --width, --layers, --context or --batch)");
  } catch (const dnnl::error& error) {
    status = absl::InternalError(
        absl::StrFormat("oneDNN failed (%s) Are the sizes sensible? Try the default ones", error.what()));
  }
  if (!status.ok()) std::fprintf(stderr, "lockstep-gpt: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
