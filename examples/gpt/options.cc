#include "examples/gpt/options.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "lockstep/status.h"

namespace lockstep::gpt {
namespace {

using Target = std::variant<bool Options::*, int64_t Options::*, double Options::*, std::string Options::*>;

struct Flag {
  const char* name;
  Target target;
  double minimum, maximum;  // of numbers
  const char* explanation;
};

constexpr double kMany = 1e12;

const std::vector<Flag>& Flags() {
  static const std::vector<Flag> flags = {
      {"data", &Options::data, 0, 0,
       "text to learn, any file; its last 5% is the validation text (required)"},
      {"layers", &Options::layers, 1, 1000, "transformer blocks"},
      {"width", &Options::width, 1, 1 << 20, "floats of a position between the blocks"},
      {"heads", &Options::heads, 1, 1 << 20, "attention heads of a block; divides the width"},
      {"context", &Options::context, 1, 1 << 20, "bytes of a window, in training and in validation"},
      {"batch", &Options::batch, 1, 1 << 20, "windows a step, over all ranks; a multiple of their number"},
      {"steps", &Options::steps, 1, kMany, "training steps"},
      {"lr", &Options::learning_rate, 0, 10, "highest learning rate"},
      {"min-lr", &Options::minimum_rate, 0, 1, "learning rate at the end, as a part of the highest"},
      {"warmup", &Options::warmup, 0, kMany, "steps over which the learning rate rises"},
      {"weight-decay", &Options::weight_decay, 0, 10, "decoupled weight decay of the matrices"},
      {"beta1", &Options::beta1, 0, 0.999999, "AdamW: memory of the gradient"},
      {"beta2", &Options::beta2, 0, 0.999999, "AdamW: memory of its square"},
      {"clip", &Options::clip, 0, kMany, "largest global norm of the gradient; 0: any"},
      {"init", &Options::init, 0, 100, "scale of the first weights; 1: variance 1 / inputs"},
      {"seed", &Options::seed, 0, kMany, "of first weights, order of the text and sampling"},
      {"threads", &Options::threads, 0, 4096, "compute threads a rank; 0: cores / ranks on this host"},
      {"log-every", &Options::log_every, 1, kMany, "steps between two progress lines"},
      {"eval-every", &Options::eval_every, 0, kMany, "steps between two validations; 0: at the end only"},
      {"generate", &Options::generate, 0, kMany, "bytes of a sample to print at the end"},
      {"temperature", &Options::temperature, 0, 100, "of the sample; 0: always the likeliest byte"},
      {"prompt", &Options::prompt, 0, 0, "how the sample begins"},
      {"csv", &Options::csv, 0, 0, "file for the figures of every progress line"},
      {"help", &Options::help, 0, 0, "print this"},
  };
  return flags;
}

absl::Status Bad(std::string_view flag, std::string_view value, const std::string& want) {
  return absl::InvalidArgumentError("--" + std::string(flag) + ": \"" + std::string(value) +
                                    "\" does not do (" + want + ")");
}

std::string Number(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

template <typename T>
absl::Status SetNumber(const Flag& flag, std::string_view value, T& to) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);
  const bool in_range = static_cast<double>(to) >= flag.minimum && static_cast<double>(to) <= flag.maximum;
  if (error != std::errc() || end != value.data() + value.size() || !in_range) {
    const char* kind = std::is_integral_v<T> ? "a whole number" : "a number";
    return Bad(flag.name, value,
               std::string("give ") + kind + " from " + Number(flag.minimum) + " to " + Number(flag.maximum));
  }
  return absl::OkStatus();
}

absl::Status Set(const Flag& flag, std::string_view value, Options& options) {
  if (const auto* text = std::get_if<std::string Options::*>(&flag.target)) {
    options.** text = value;
    return absl::OkStatus();
  }
  if (const auto* whole = std::get_if<int64_t Options::*>(&flag.target)) {
    return SetNumber(flag, value, options.**whole);
  }
  return SetNumber(flag, value, options.*std::get<double Options::*>(flag.target));
}

absl::StatusOr<const Flag*> Find(std::string_view name) {
  for (const Flag& flag : Flags()) {
    if (name == flag.name) return &flag;
  }
  return absl::InvalidArgumentError("--" + std::string(name) +
                                    " is no flag of this program (--help lists them all)");
}

absl::Status Check(const Options& options) {
  if (options.help) return absl::OkStatus();
  if (options.data.empty()) {
    return absl::InvalidArgumentError("--data is missing (name a text file: --data book.txt)");
  }
  if (options.width % options.heads != 0) {
    return absl::InvalidArgumentError("--width " + std::to_string(options.width) +
                                      " cannot be split into --heads " + std::to_string(options.heads) +
                                      " (choose a divisor of the width)");
  }
  if (options.prompt.empty()) {
    return absl::InvalidArgumentError("--prompt is empty (give it at least one byte, a space for example)");
  }
  return absl::OkStatus();
}

std::string Default(const Flag& flag) {
  const Options options;
  if (const auto* text = std::get_if<std::string Options::*>(&flag.target)) {
    const std::string& value = options.**text;
    if (value.empty()) return "none";
    return value == "\n" ? "a new line" : value;
  }
  if (const auto* whole = std::get_if<int64_t Options::*>(&flag.target))
    return std::to_string(options.**whole);
  if (const auto* real = std::get_if<double Options::*>(&flag.target)) return Number(options.**real);
  return "off";
}

}  // namespace

absl::StatusOr<Options> ParseOptions(absl::Span<char* const> arguments) {
  Options options;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.substr(0, 2) != "--") {
      return absl::InvalidArgumentError("\"" + std::string(argument) +
                                        "\" is not a flag (flags start with --; --help lists them)");
    }
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(2, equals == argument.npos ? equals : equals - 2);
    LOCKSTEP_ASSIGN_OR_RETURN(const Flag* flag, Find(name));
    if (const auto* on = std::get_if<bool Options::*>(&flag->target)) {
      options.** on = true;
    } else if (equals != argument.npos) {
      LOCKSTEP_RETURN_IF_ERROR(Set(*flag, argument.substr(equals + 1), options));
    } else if (++i < arguments.size()) {
      LOCKSTEP_RETURN_IF_ERROR(Set(*flag, arguments[i], options));
    } else {
      return absl::InvalidArgumentError("--" + std::string(name) + " has no value (write --" +
                                        std::string(name) + " VALUE)");
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(Check(options));
  return options;
}

std::string HelpText() {
  std::string text =
      "Trains a GPT on the bytes of a text file, data parallel over the ranks that it is started on.\n"
      "  lockstep run -n 2 lockstep-gpt --data book.txt --generate 500\n\n";
  for (const Flag& flag : Flags()) {
    std::array<char, 256> line;
    std::snprintf(line.data(), line.size(), "  --%-14s %s (default: %s)\n", flag.name, flag.explanation,
                  Default(flag).c_str());
    text += line.data();
  }
  return text;
}

}  // namespace lockstep::gpt
