#include "src/cli/flags.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lockstep/status.h"
#include "src/base/env.h"

namespace lockstep::cli {

FlagTable::FlagTable(std::string usage, std::string summary)
    : usage_(std::move(usage)), summary_(std::move(summary)) {}

void FlagTable::Add(const std::string& name, const std::string& value_name, const std::string& help,
                    int* value) {
  flags_.push_back({name, value_name, help, absl::StrCat(*value), [value](const std::string& text) {
                      return absl::SimpleAtoi(text, value)
                                 ? absl::OkStatus()
                                 : absl::InvalidArgumentError("write a whole number");
                    }});
}

void FlagTable::Add(const std::string& name, const std::string& value_name, const std::string& help,
                    double* value) {
  flags_.push_back({name, value_name, help, absl::StrCat(*value), [value](const std::string& text) {
                      return absl::SimpleAtod(text, value) ? absl::OkStatus()
                                                           : absl::InvalidArgumentError("write a number");
                    }});
}

void FlagTable::Add(const std::string& name, const std::string& value_name, const std::string& help,
                    std::string* value) {
  flags_.push_back({name, value_name, help, *value, [value](const std::string& text) {
                      *value = text;
                      return absl::OkStatus();
                    }});
}

void FlagTable::AddBytes(const std::string& name, const std::string& help, int64_t* value) {
  flags_.push_back({name, "SIZE", help, absl::StrCat(*value), [value](const std::string& text) {
                      LOCKSTEP_ASSIGN_OR_RETURN(*value, env::ParseBytes(text));
                      return absl::OkStatus();
                    }});
}

void FlagTable::AddList(const std::string& name, const std::string& value_name, const std::string& help,
                        std::vector<std::string>* values) {
  flags_.push_back({name, value_name, help, "", [values](const std::string& text) {
                      values->push_back(text);
                      return absl::OkStatus();
                    }});
}

void FlagTable::AddSwitch(const std::string& name, const std::string& help, bool* value) {
  flags_.push_back({name, "", help, "",
                    [value](const std::string&) {
                      *value = true;
                      return absl::OkStatus();
                    },
                    true});
}

absl::Status FlagTable::Unknown(const std::string& name) const {
  std::vector<std::string> known = {"--help"};
  for (const Flag& flag : flags_) known.push_back(flag.name);
  const std::optional<std::string> nearest = env::Nearest(name, known);
  return absl::InvalidArgumentError(absl::StrCat(
      "the flag ", name, " is not known", nearest ? absl::StrCat(" (did you mean ", *nearest, "?)") : ""));
}

absl::Status FlagTable::Parse(const std::vector<std::string>& arguments, std::vector<std::string>* positional,
                              bool stop_at_positional) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      help_asked_ = true;
      return absl::OkStatus();
    }
    if (argument == "--" || (stop_at_positional && !absl::StartsWith(argument, "-"))) {
      positional->insert(positional->end(),
                         arguments.begin() + static_cast<std::ptrdiff_t>(i + (argument == "--")),
                         arguments.end());
      return absl::OkStatus();
    }
    if (!absl::StartsWith(argument, "-") || argument == "-") {
      positional->push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto flag =
        std::find_if(flags_.begin(), flags_.end(), [&](const Flag& f) { return f.name == name; });
    if (flag == flags_.end()) return Unknown(name);
    if (flag->is_switch && equals != std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat("the flag ", name, " takes no value"));
    std::string value;
    if (!flag->is_switch && equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (!flag->is_switch) {
      if (++i == arguments.size())
        return absl::InvalidArgumentError(absl::StrCat("the flag ", name, " needs a value"));
      value = arguments[i];
    }
    if (absl::Status status = flag->set(value); !status.ok())
      return absl::InvalidArgumentError(absl::StrCat("the value of ", name, ", \"", value,
                                                     "\", is not understood (", std::string(status.message()),
                                                     ")"));
  }
  return absl::OkStatus();
}

std::string FlagTable::Help() const {
  std::string text = absl::StrCat("usage: ", usage_, "\n\n", summary_, "\n\n");
  size_t width = 6;
  for (const Flag& flag : flags_) width = std::max(width, flag.name.size() + flag.value_name.size() + 1);
  for (const Flag& flag : flags_) {
    const std::string head =
        flag.value_name.empty() ? flag.name : absl::StrCat(flag.name, " ", flag.value_name);
    absl::StrAppend(&text, "  ", head, std::string(width - head.size() + 2, ' '), flag.help,
                    flag.default_text.empty() ? "" : absl::StrCat(" (", flag.default_text, ")"), "\n");
  }
  absl::StrAppend(&text, "  --help", std::string(width - 4, ' '), "this text\n");
  return text;
}

}  // namespace lockstep::cli
