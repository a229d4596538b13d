#pragma once

#include <cstdint>
#include <string>

#include "lockstep/export.h"

namespace lockstep::inline v0 {

enum class DeviceKind : uint8_t {
  kHost = 0,
  kCuda = 1,
  kFake = 2,  // host memory whose streams complete late: for tests of asynchronous paths without a GPU
};

// Where memory lives.
struct Device {
  DeviceKind kind = DeviceKind::kHost;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

// "host", "cuda:0", "fake:0".
LOCKSTEP_EXPORT std::string ToString(Device device);

}  // namespace lockstep::inline v0
