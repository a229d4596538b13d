#include "src/base/log.h"

#include <unistd.h>

#include <algorithm>
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

// lockstep run marks the lines itself. A launcher that sets none of these leaves the rank unknown here: where
// ranks are threads of one process, there is no such thing as the process's rank.
std::string Rank() {
  if (std::getenv("LOCKSTEP_RESTART_COUNT") != nullptr) return "";
  for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return std::string("[rank ") + rank + "] ";
  return "";
}

}  // namespace

bool Enabled(Level level) { return level <= Threshold(); }

void Write(Level level, const std::string& message) {
  if (!Enabled(level)) return;
  std::string line = "lockstep " + Rank() + kNames[static_cast<int>(level)] + ": " + message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  // A log that cannot be written has nowhere to be reported.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace lockstep::log
