#include "src/base/log.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

namespace lockstep::log {
namespace {

constexpr const char* kNames[] = {"error", "warning", "info", "debug"};

Level Threshold() {
  const char* wanted = std::getenv("LOCKSTEP_LOG_LEVEL");
  for (size_t i = 0; wanted != nullptr && i < std::size(kNames); ++i)
    if (std::strcmp(wanted, kNames[i]) == 0) return static_cast<Level>(i);
  return Level::kWarning;
}

}  // namespace

bool Enabled(Level level) { return level <= Threshold(); }

void Write(Level level, const std::string& message) {
  if (!Enabled(level)) return;
  const std::string line = std::string("lockstep ") + kNames[static_cast<int>(level)] + ": " + message + "\n";
  // A log that cannot be written has nowhere to be reported.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace lockstep::log
