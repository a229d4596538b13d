#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep::net {

inline constexpr size_t kMacBytes = 32;

// HMAC-SHA-256 of label, a zero byte and message. An empty key is allowed. Empty when the cryptographic
// library has no HMAC-SHA-256.
std::string Mac(const std::string& key, absl::string_view label, absl::string_view message);

// In constant time. False for any that is not kMacBytes long.
bool SameMac(absl::string_view one, absl::string_view other);

// Unpredictable bytes; empty when the system has none to give.
std::string RandomBytes(size_t bytes);

}  // namespace lockstep::net
