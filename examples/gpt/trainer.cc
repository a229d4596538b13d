#include "examples/gpt/trainer.h"

#include <array>
#include <chrono>

#include "lockstep/status.h"

namespace lockstep::gpt {
namespace {

GptConfig Config(const Options& options) {
  return {.context = options.context,
          .layers = options.layers,
          .width = options.width,
          .heads = options.heads,
          .init = static_cast<float>(options.init)};
}

nn::AdamWOptions Optimizer(const Options& options) {
  return {.beta1 = static_cast<float>(options.beta1),
          .beta2 = static_cast<float>(options.beta2),
          .weight_decay = static_cast<float>(options.weight_decay),
          .clip = static_cast<float>(options.clip)};
}

// A model's parameters must have their memory before an optimizer can look at them.
nn::ParameterSet* Initialised(nn::ParameterSet* parameters, int64_t seed) {
  parameters->Initialise(static_cast<uint64_t>(seed));
  return parameters;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Trainer::Trainer(const Options& options, const Text& text, DataParallel& ranks, Report& report)
    : options_(options),
      text_(text),
      ranks_(ranks),
      report_(report),
      config_(Config(options)),
      windows_(options.batch / ranks.world_size()),
      model_(&parameters_, config_, windows_),
      optimizer_(Initialised(&parameters_, options.seed), Optimizer(options)),
      order_(static_cast<int64_t>(text.training().size()), options.context,
             static_cast<uint64_t>(options.seed)),
      tokens_(model_.rows()),
      targets_(model_.rows()) {
  progress_.steps = options.steps;
}

absl::Status Trainer::Run() {
  while (progress_.step < options_.steps) {
    const double start = Now();
    LOCKSTEP_RETURN_IF_ERROR(Step());
    progress_.seconds += Now() - start;
    const bool last = progress_.step == options_.steps;
    if (last || progress_.step % options_.log_every == 0) LOCKSTEP_RETURN_IF_ERROR(ReportStep());
    if (last || (options_.eval_every > 0 && progress_.step % options_.eval_every == 0)) {
      LOCKSTEP_RETURN_IF_ERROR(ReportValidation());
    }
  }
  return absl::OkStatus();
}

absl::Status Trainer::Step() {
  LoadBatch();
  loss_sum_ += model_.Forward(tokens_, targets_);
  model_.Backward(tokens_, targets_, 1.0f / static_cast<float>(model_.rows()));
  LOCKSTEP_RETURN_IF_ERROR(ranks_.Average(parameters_.gradients()));
  progress_.learning_rate = nn::CosineSchedule(progress_.step, options_.steps, options_.warmup,
                                               static_cast<float>(options_.learning_rate),
                                               static_cast<float>(options_.minimum_rate));
  progress_.gradient_norm = optimizer_.Step(static_cast<float>(progress_.learning_rate));
  ++progress_.step;
  progress_.tokens += options_.batch * options_.context;
  return absl::OkStatus();
}

void Trainer::LoadBatch() {
  const int64_t first = ranks_.rank() * windows_;
  for (int64_t window = 0; window < options_.batch; ++window) {
    const int64_t start = order_.Next();
    if (window < first || window >= first + windows_) continue;
    const int64_t at = (window - first) * options_.context;
    text_.TrainingWindow(start, absl::MakeSpan(tokens_).subspan(at, options_.context),
                         absl::MakeSpan(targets_).subspan(at, options_.context));
  }
}

absl::Status Trainer::ReportStep() {
  std::array<double, 1> loss = {loss_sum_};
  LOCKSTEP_RETURN_IF_ERROR(ranks_.Sum(absl::MakeSpan(loss)));
  const auto tokens =
      static_cast<double>((progress_.step - reported_.step) * options_.batch * options_.context);
  const double seconds = progress_.seconds - reported_.seconds;
  progress_.train_loss = loss[0] / tokens;
  progress_.tokens_per_second = tokens / seconds;
  progress_.communication_share = (ranks_.seconds() - reported_.communication) / seconds;
  report_.Line(progress_);
  loss_sum_ = 0;
  reported_ = {progress_.step, progress_.seconds, ranks_.seconds()};
  return absl::OkStatus();
}

absl::Status Trainer::ReportValidation() {
  const double start = Now();
  LOCKSTEP_ASSIGN_OR_RETURN(const double loss, Validate());
  report_.Validation(progress_, loss, Now() - start);
  return absl::OkStatus();
}

absl::StatusOr<double> Trainer::Validate() {
  // Ranks take windows in turn; windows behind the last one have no targets and do not count.
  const int64_t windows = text_.ValidationWindows(options_.context);
  std::array<double, 1> loss = {0};
  for (int64_t first = ranks_.rank() * windows_; first < windows; first += options_.batch) {
    for (int64_t w = 0; w < windows_; ++w) {
      text_.ValidationWindow(first + w,
                             absl::MakeSpan(tokens_).subspan(w * options_.context, options_.context),
                             absl::MakeSpan(targets_).subspan(w * options_.context, options_.context));
    }
    loss[0] += model_.Forward(tokens_, targets_);
  }
  LOCKSTEP_RETURN_IF_ERROR(ranks_.Sum(absl::MakeSpan(loss)));
  return loss[0] / static_cast<double>(text_.validation_bytes());
}

}  // namespace lockstep::gpt
