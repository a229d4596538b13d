#pragma once

#include <string>

namespace lockstep::log {

enum class Level { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

// Writes one line to stderr, with one system call, if LOCKSTEP_LOG_LEVEL asks for this level: "lockstep
// warning: ...", or "lockstep [rank 3] warning: ..." where the environment names this process's rank. Ends of
// lines within the message become spaces. The first to know an error logs it; an error that is returned as a
// status is not logged. Thread-safe, as long as nobody changes the environment meanwhile.
void Write(Level level, const std::string& message);
bool Enabled(Level level);

}  // namespace lockstep::log
