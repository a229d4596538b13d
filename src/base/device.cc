#include "lockstep/device.h"

namespace lockstep::inline v0 {

std::string ToString(Device device) {
  switch (device.kind) {
    case DeviceKind::kHost:
      return "host";
    case DeviceKind::kCuda:
      return "cuda:" + std::to_string(device.index);
    case DeviceKind::kFake:
      return "fake:" + std::to_string(device.index);
  }
  return "unknown device";
}

}  // namespace lockstep::inline v0
