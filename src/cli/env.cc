#include "src/base/env.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "src/cli/flags.h"
#include "src/cli/verbs.h"

namespace lockstep::cli {
namespace {

bool IsSet(const env::Variable& variable) {
  const char* value = std::getenv(variable.name);
  return value != nullptr && *value != '\0';
}

// The secret itself is nobody's to see.
std::string Shown(const env::Variable& variable) {
  const std::string value = env::Text(variable.name);
  return variable.name == std::string("LOCKSTEP_SECRET") && !value.empty() ? "(set)" : value;
}

std::string Problem(const env::Variable& variable) {
  const absl::Status status = env::Check(variable);
  return std::string(status.message());
}

void PrintJson() {
  nlohmann::json rows = nlohmann::json::array();
  for (const env::Variable& variable : env::Variables())
    rows.push_back({{"name", variable.name},
                    {"type", variable.type},
                    {"default", variable.default_value},
                    {"value", Shown(variable)},
                    {"source", IsSet(variable) ? "environment" : "default"},
                    {"problem", Problem(variable)},
                    {"help", variable.help}});
  std::printf("%s\n", rows.dump(2).c_str());
}

void PrintMarkdown() {
  std::printf(
      "# Environment\n\n"
      "The variables that Lockstep reads. Made by `lockstep env --markdown`; `lockstep env` shows their "
      "present\n"
      "values. A duration is written 30s, 10min, 1.5h, 200ms or 50us (a plain number is seconds), a size 4, "
      "64K,\n"
      "1MiB or 2G (powers of 1024). An unknown `LOCKSTEP_*` variable is a warning that names the nearest "
      "known one.\n\n"
      "| variable | type | default | what it does |\n| --- | --- | --- | --- |\n");
  for (const env::Variable& variable : env::Variables())
    std::printf("| `%s` | %s | %s | %s |\n", variable.name, variable.type, variable.default_value,
                variable.help);
}

void PrintTable() {
  size_t width = 0;
  for (const env::Variable& variable : env::Variables()) width = std::max(width, Shown(variable).size());
  for (const env::Variable& variable : env::Variables())
    std::printf("%-27s %-*s %-11s  %s\n", variable.name, static_cast<int>(width), Shown(variable).c_str(),
                IsSet(variable) ? "environment" : "default", variable.help);
}

// Returns whether there are none.
bool PrintProblems() {
  std::vector<std::string> problems = env::UnknownVariables();
  for (const env::Variable& variable : env::Variables())
    if (const std::string problem = Problem(variable); !problem.empty()) problems.push_back(problem);
  for (const std::string& problem : problems) std::fprintf(stderr, "lockstep env: %s\n", problem.c_str());
  return problems.empty();
}

}  // namespace

int Env(const Arguments& arguments) {
  bool json = false, markdown = false;
  FlagTable flags("lockstep env [--json] [--markdown]",
                  "Lists the variables that Lockstep reads, with their values and where those come from.\n"
                  "The exit status is 1 if one is not understood or not known.");
  flags.AddSwitch("--json", "print JSON", &json);
  flags.AddSwitch("--markdown", "print the page docs/environment.md", &markdown);
  Arguments positional;
  if (const absl::Status status = flags.Parse(arguments, &positional); !status.ok() || !positional.empty()) {
    std::fprintf(stderr, "lockstep env: %s\n%s",
                 status.ok() ? "takes no arguments but flags" : std::string(status.message()).c_str(),
                 flags.Help().c_str());
    return 2;
  }
  if (flags.help_asked()) {
    std::printf("%s", flags.Help().c_str());
    return 0;
  }
  if (markdown) {
    PrintMarkdown();
    return 0;
  }
  json ? PrintJson() : PrintTable();
  std::fflush(stdout);
  return PrintProblems() ? 0 : 1;
}

}  // namespace lockstep::cli
