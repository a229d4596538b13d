#include "src/base/env.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/log.h"

extern char** environ;

namespace lockstep::env {
namespace {

constexpr Variable kVariables[] = {
    {"LOCKSTEP_ALGORITHM", "choice", "auto",
     "algorithm of collectives that do not ask for one: auto, ring, recursive_doubling, halving_doubling, "
     "tree, direct"},
    {"LOCKSTEP_BACKEND", "choice", "auto", "how bytes travel (a forced backend never falls back): auto, tcp"},
    {"LOCKSTEP_BUFFER_BYTES", "bytes", "64MiB", "bound of a communicator's staging memory"},
    {"LOCKSTEP_CREATION_TIMEOUT", "duration", "5min", "deadline of Communicator::Create"},
    {"LOCKSTEP_HEARTBEAT_TIMEOUT", "duration", "30s", "a rank that is silent for this long is lost"},
    {"LOCKSTEP_LOG_LEVEL", "choice", "warning",
     "what is logged to stderr, and all before it: error, warning, info, debug"},
    {"LOCKSTEP_RESTART_COUNT", "number", "0", "set by lockstep run: how often the job has been restarted"},
    {"LOCKSTEP_SECRET", "text", "", "the job's secret; without one everything listens on loopback only"},
    {"LOCKSTEP_SECRET_FILE", "text", "", "a file that holds the job's secret; lockstep run makes one"},
    {"LOCKSTEP_SOCKET_IFNAME", "text", "",
     "interfaces to use: name prefixes, ^ excludes, = asks for exact names"},
    {"LOCKSTEP_SPIN", "duration", "50us", "how long a waiting thread polls before it sleeps"},
    {"LOCKSTEP_STORE_PORT", "number", "0", "port of rank 0's store; 0: MASTER_PORT"},
    {"LOCKSTEP_STORE_SOCKET", "number", "-1",
     "set by lockstep run on rank 0: descriptor of the store's bound socket"},
    {"LOCKSTEP_SUSPEND_DEADLINES", "flag", "0", "no call times out: for work under a debugger"},
    {"LOCKSTEP_TCP_CONGESTION", "text", "cubic",
     "TCP_CONGESTION of data sockets, where allowed; kernel: leave it"},
    {"LOCKSTEP_TIMEOUT", "duration", "10min", "default deadline of a call"},
};

const Variable& Find(const char* name) {
  for (const Variable& variable : kVariables)
    if (std::string(variable.name) == name) return variable;
  std::fprintf(stderr, "%s is not in the table of variables\n", name);
  std::abort();
}

absl::Status Malformed(const char* name, const std::string& value, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(name, "=", value, " is not understood (", why, ")"));
}

// Splits "1.5h" into the number and its unit.
bool SplitUnit(const std::string& text, double* number, std::string* unit) {
  const size_t end = text.find_first_not_of("0123456789.+-eE");
  // "1e" of "1exa" is not meant here, but "2e3" is: the number must parse as a whole.
  *unit = end == std::string::npos ? "" : text.substr(end);
  return absl::SimpleAtod(text.substr(0, end), number);
}

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j)
      diagonal =
          std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])}));
  }
  return row[b.size()];
}

}  // namespace

absl::Span<const Variable> Variables() { return kVariables; }

std::string Text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : Find(name).default_value;
}

absl::StatusOr<std::chrono::nanoseconds> ParseDuration(const std::string& text) {
  static constexpr struct {
    const char* unit;
    double seconds;
  } kUnits[] = {{"", 1},      {"s", 1},    {"ms", 1e-3}, {"us", 1e-6},
                {"ns", 1e-9}, {"min", 60}, {"m", 60},    {"h", 3600}};
  double number = 0;
  std::string unit;
  if (SplitUnit(text, &number, &unit) && number >= 0)
    for (const auto& known : kUnits)
      if (unit == known.unit && number * known.seconds < 1e9)
        return std::chrono::nanoseconds(std::llround(number * known.seconds * 1e9));
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a duration; write 30s, 10min, 1.5h, 200ms or 50us"));
}

absl::StatusOr<int64_t> ParseBytes(const std::string& text) {
  static constexpr struct {
    const char* unit;
    double bytes;
  } kUnits[] = {{"", 1},
                {"b", 1},
                {"k", 1024.},
                {"kib", 1024.},
                {"kb", 1024.},
                {"m", 1048576.},
                {"mib", 1048576.},
                {"mb", 1048576.},
                {"g", 1073741824.},
                {"gib", 1073741824.},
                {"gb", 1073741824.}};
  double number = 0;
  std::string unit;
  if (SplitUnit(text, &number, &unit) && number >= 0)
    for (const auto& known : kUnits)
      if (absl::AsciiStrToLower(unit) == known.unit && number * known.bytes < 9e18)
        return static_cast<int64_t>(number * known.bytes);
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a size; write 4, 64K, 1MiB or 2G"));
}

absl::StatusOr<std::chrono::nanoseconds> Duration(const char* name) {
  const std::string value = Text(name);
  absl::StatusOr<std::chrono::nanoseconds> parsed = ParseDuration(value);
  if (!parsed.ok()) return Malformed(name, value, "write a duration: 30s, 10min, 200ms");
  return parsed;
}

absl::StatusOr<int64_t> Bytes(const char* name) {
  const std::string value = Text(name);
  absl::StatusOr<int64_t> parsed = ParseBytes(value);
  if (!parsed.ok()) return Malformed(name, value, "write a size: 64K, 1MiB, 2G");
  return parsed;
}

absl::StatusOr<bool> Flag(const char* name) {
  const std::string value = Text(name);
  bool flag = false;
  if (!absl::SimpleAtob(value, &flag)) return Malformed(name, value, "write 0 or 1");
  return flag;
}

absl::StatusOr<int64_t> Number(const char* name) {
  const std::string value = Text(name);
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number)) return Malformed(name, value, "write a whole number");
  return number;
}

absl::Status Check(const Variable& variable) {
  const std::string type = variable.type, value = Text(variable.name);
  if (type == "duration") return Duration(variable.name).status();
  if (type == "bytes") return Bytes(variable.name).status();
  if (type == "flag") return Flag(variable.name).status();
  if (type == "number") return Number(variable.name).status();
  if (type != "choice") return absl::OkStatus();
  const std::string help = variable.help;
  const std::string listed = help.substr(help.rfind(": ") + 2);
  for (const std::string& choice : std::vector<std::string>(absl::StrSplit(listed, ", ")))
    if (value == choice) return absl::OkStatus();
  return Malformed(variable.name, value, absl::StrCat("write one of ", listed));
}

std::optional<std::string> Nearest(const std::string& name, const std::vector<std::string>& known) {
  const auto distance = [&](const std::string& other) { return EditDistance(name, other); };
  const auto nearest =
      std::min_element(known.begin(), known.end(),
                       [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  if (nearest == known.end() || distance(*nearest) > std::max<size_t>(2, name.size() / 4))
    return std::nullopt;
  return *nearest;
}

std::vector<std::string> UnknownVariables() {
  std::vector<std::string> known, warnings;
  for (const Variable& variable : kVariables) known.push_back(variable.name);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (!absl::StartsWith(name, "LOCKSTEP_") || std::find(known.begin(), known.end(), name) != known.end())
      continue;
    const std::optional<std::string> nearest = Nearest(name, known);
    warnings.push_back(absl::StrCat("the variable ", name, " is not known",
                                    nearest ? absl::StrCat(" (did you mean ", *nearest, "?)") : "",
                                    "; lockstep env lists those that are"));
  }
  return warnings;
}

void WarnOfUnknownVariables() {
  static const bool warned = [] {
    for (const std::string& warning : UnknownVariables()) log::Write(log::Level::kWarning, warning);
    // The one variable whose readers have no status to return.
    const absl::Status level = Check(Find("LOCKSTEP_LOG_LEVEL"));
    if (!level.ok()) log::Write(log::Level::kWarning, std::string(level.message()));
    return true;
  }();
  (void)warned;
}

}  // namespace lockstep::env
