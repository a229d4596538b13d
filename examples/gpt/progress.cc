#include "examples/gpt/progress.h"

#include <cstdio>

#include "absl/strings/str_format.h"

namespace lockstep::gpt {
namespace {

std::string Duration(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole < 60) return absl::StrFormat("%ds", whole);
  if (whole < 3600) return absl::StrFormat("%dm%02ds", whole / 60, whole % 60);
  return absl::StrFormat("%dh%02dm", whole / 3600, whole / 60 % 60);
}

}  // namespace

Report::Report(bool prints, const std::string& csv) : prints_(prints), path_(csv) {
  if (path_.empty()) return;
  csv_.open(path_);
  csv_ << "step,seconds,tokens,train_loss,validation_loss,learning_rate,gradient_norm,tokens_per_second,"
          "communication_share\n"
       << std::flush;
}

absl::Status Report::status() const {
  if (path_.empty() || csv_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "cannot write " + path_ + " (does its folder exist, and may it be written?) Choose another --csv FILE");
}

void Report::Line(const Progress& p) {
  const double left =
      p.step == 0 ? 0 : p.seconds / static_cast<double>(p.step) * static_cast<double>(p.steps - p.step);
  Text(absl::StrFormat(
      "step %5d/%d  train %.4f  %6.0f tokens/s  communication %4.1f%%  lr %.1e  norm %.2f  eta %s\n", p.step,
      p.steps, p.train_loss, p.tokens_per_second, 100 * p.communication_share, p.learning_rate,
      p.gradient_norm, Duration(left)));
  Row(p, "");
}

void Report::Validation(const Progress& p, double loss, double seconds) {
  Text(absl::StrFormat("step %5d/%d  validation %.4f nats/byte after %s of training (measured in %s)\n",
                       p.step, p.steps, loss, Duration(p.seconds), Duration(seconds)));
  Row(p, absl::StrFormat("%.9g", loss));
}

void Report::Text(const std::string& text) {
  if (!prints_) return;
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void Report::Row(const Progress& p, const std::string& validation_loss) {
  if (path_.empty()) return;
  csv_ << absl::StrFormat("%d,%.3f,%d,%.9g,%s,%.6g,%.6g,%.1f,%.4f\n", p.step, p.seconds, p.tokens,
                          p.train_loss, validation_loss, p.learning_rate, p.gradient_norm,
                          p.tokens_per_second, p.communication_share)
       << std::flush;
}

}  // namespace lockstep::gpt
