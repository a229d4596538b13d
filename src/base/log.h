#pragma once

#include <string>

namespace lockstep::log {

enum class Level { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

// Writes one line to stderr, with one system call, if LOCKSTEP_LOG_LEVEL asks for this level: "lockstep
// warning: ...". The first to know an error logs it; an error that is returned as a status is not logged.
// Thread-safe.
void Write(Level level, const std::string& message);
bool Enabled(Level level);

}  // namespace lockstep::log
