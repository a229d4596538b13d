#include "examples/nn/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "examples/nn/parallel.h"
#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {
namespace {

constexpr int64_t kPiece = 1 << 16;

}  // namespace

AdamW::AdamW(ParameterSet* parameters, const AdamWOptions& options)
    : parameters_(parameters),
      options_(options),
      m_(parameters->values().size()),
      v_(parameters->values().size()),
      partial_((parameters->values().size() + kPiece - 1) / kPiece) {}

double AdamW::Step(float learning_rate) {
  const VectorKernels& kernels = BestVectorKernels();
  const absl::Span<const float> gradients = parameters_->gradients();
  const int64_t size = static_cast<int64_t>(gradients.size());
  ParallelFor(static_cast<int64_t>(partial_.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      partial_[i] =
          kernels.sum_of_squares(gradients.data() + i * kPiece, std::min(kPiece, size - i * kPiece));
    }
  });
  double squares = 0;
  for (double partial : partial_) squares += partial;
  const double norm = std::sqrt(squares);

  ++step_;
  AdamWStep step = {.learning_rate = learning_rate,
                    .decay = 1.0f,
                    .beta1 = options_.beta1,
                    .beta2 = options_.beta2,
                    .epsilon = options_.epsilon,
                    .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, step_))),
                    .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta2, step_))),
                    .gradient_scale = options_.clip > 0 && norm > options_.clip
                                          ? static_cast<float>(options_.clip / norm)
                                          : 1.0f};
  for (const ParameterSet::Entry& entry : parameters_->entries()) {
    step.decay = entry.spec.decays ? 1.0f - learning_rate * options_.weight_decay : 1.0f;
    ParallelFor(entry.where.count, 4096, [&](int64_t begin, int64_t end) {
      const int64_t at = entry.where.offset + begin;
      kernels.adamw(step, gradients.data() + at, parameters_->values().data() + at, m_.data() + at,
                    v_.data() + at, end - begin);
    });
  }
  return norm;
}

float CosineSchedule(int64_t step, int64_t steps, int64_t warmup, float peak, float floor) {
  if (step < warmup) return peak * static_cast<float>(step + 1) / static_cast<float>(warmup);
  const double progress =
      static_cast<double>(step - warmup) / static_cast<double>(std::max<int64_t>(steps - warmup, 1));
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
  return peak * (floor + (1.0f - floor) * static_cast<float>(cosine));
}

}  // namespace lockstep::nn
