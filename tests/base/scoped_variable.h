#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace lockstep {

// Sets an environment variable (nullptr: removes it) and puts back what was there. For one thread.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    Set(value);
  }
  ~ScopedVariable() { Set(before_ ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void Set(const char* value) {
    value == nullptr ? unsetenv(name_.c_str()) : setenv(name_.c_str(), value, 1);
  }
  const std::string name_;
  std::optional<std::string> before_;
};

}  // namespace lockstep
