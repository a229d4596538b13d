#include "src/base/env.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "src/cli/flags.h"
#include "src/cli/verbs.h"

namespace lockstep::cli {
namespace {

bool Secret(const std::string& name) { return name == "LOCKSTEP_SECRET"; }

std::string Shown(const env::Variable& variable) {
  const std::string value = env::Text(variable.name);
  return Secret(variable.name) && !value.empty() ? "(set)" : value;
}

void PrintJson() {
  nlohmann::json rows = nlohmann::json::array();
  for (const env::Variable& variable : env::Variables())
    rows.push_back({{"name", variable.name},
                    {"type", variable.type},
                    {"default", variable.default_value},
                    {"value", Shown(variable)},
                    {"set", std::getenv(variable.name) != nullptr},
                    {"help", variable.help}});
  std::printf("%s\n", rows.dump(2).c_str());
}

void PrintMarkdown() {
  std::printf(
      "# Environment\n\nThe variables that Lockstep reads, as `lockstep env --markdown` prints them.\n\n"
      "| variable | type | default | what it does |\n| --- | --- | --- | --- |\n");
  for (const env::Variable& variable : env::Variables())
    std::printf("| `%s` | %s | %s | %s |\n", variable.name, variable.type, variable.default_value,
                variable.help);
}

}  // namespace

int Env(const Arguments& arguments) {
  bool json = false, markdown = false;
  FlagTable flags("lockstep env [--json] [--markdown]",
                  "Lists the variables that Lockstep reads, with their values.");
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
  } else if (json) {
    PrintJson();
  } else if (markdown) {
    PrintMarkdown();
  } else {
    for (const env::Variable& variable : env::Variables())
      std::printf("%-28s %s%-10s %s\n", variable.name, std::getenv(variable.name) ? "*" : " ",
                  Shown(variable).c_str(), variable.help);
    for (const std::string& warning : env::UnknownVariables())
      std::fprintf(stderr, "lockstep env: %s\n", warning.c_str());
  }
  return 0;
}

}  // namespace lockstep::cli
