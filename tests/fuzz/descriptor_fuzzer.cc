#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/collectives/descriptor.h"

// A descriptor that decodes encodes to the same bytes, and can be printed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<lockstep::collectives::Descriptor> descriptor =
      lockstep::collectives::DecodeDescriptor(bytes);
  if (!descriptor.ok()) return 0;
  if (EncodeDescriptor(*descriptor) != bytes || descriptor->ToString().empty()) std::abort();
  return 0;
}
