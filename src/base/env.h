#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lockstep::env {

// A LOCKSTEP_* variable. Every one that the library reads is in the table: `lockstep env` and
// docs/environment.md are made from it.
struct Variable {
  const char* name;
  const char* type;           // "duration", "bytes", "text", "choice", "flag", "number"
  const char* default_value;  // as one would write it; empty: none
  const char* help;           // one line; of a choice also what may be chosen
};
absl::Span<const Variable> Variables();
// Whether the variable's present value can be understood. InvalidArgument says what is accepted.
absl::Status Check(const Variable& variable);

// Readers look the variable up at every call, so that a program (or a test) may set it at any time before it
// makes a communicator. Unset or empty gives the table's default. InvalidArgument names the variable, its
// value and what is accepted. Reading a variable that is not in the table is a bug and ends the program.
// Thread-safe, as long as nobody changes the environment meanwhile.
std::string Text(const char* name);
absl::StatusOr<std::chrono::nanoseconds> Duration(const char* name);
absl::StatusOr<int64_t> Bytes(const char* name);
absl::StatusOr<bool> Flag(const char* name);
absl::StatusOr<int64_t> Number(const char* name);

// "600s", "10min", "1.5h", "200ms", "50us"; a plain number is seconds.
absl::StatusOr<std::chrono::nanoseconds> ParseDuration(const std::string& text);
// "4", "64K", "64KiB", "1M", "2GiB": powers of 1024.
absl::StatusOr<int64_t> ParseBytes(const std::string& text);

// The name in `known` nearest to `name` by edit distance, if it is near enough to be a slip of the finger.
std::optional<std::string> Nearest(const std::string& name, const std::vector<std::string>& known);

// Warns, once a process, of each LOCKSTEP_* variable in the environment that is not in the table, and of a
// LOCKSTEP_LOG_LEVEL that is not understood.
void WarnOfUnknownVariables();
// The warnings that it would print, each with the nearest known name.
std::vector<std::string> UnknownVariables();

}  // namespace lockstep::env
