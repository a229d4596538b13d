// Frame headers from strangers' bytes: what decodes encodes to the same bytes, and both ways to a CRC agree.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "src/net/frame.h"
#include "src/net/little_endian.h"

namespace {

using lockstep::net::FrameHeaderBytes;

constexpr size_t kCrcAt = 60;

void Check(const FrameHeaderBytes& bytes) {
  const auto header = lockstep::net::DecodeFrameHeader(bytes);
  if (!header.ok()) return;
  if (lockstep::net::EncodeFrameHeader(*header) != bytes) std::abort();
  if (header->payload_bytes > lockstep::net::kMaxFramePayload) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data), size);
  if (lockstep::net::Crc32c(input, 7) != lockstep::net::Crc32cPortable(input, 7)) std::abort();
  FrameHeaderBytes bytes = {};
  std::copy_n(input.begin(), std::min(size, bytes.size()), bytes.begin());
  Check(bytes);
  // Damage is found by the CRC; with a CRC that fits, the other checks are on their own.
  lockstep::net::StoreLittleEndian(lockstep::net::Crc32c(absl::MakeConstSpan(bytes.data(), kCrcAt)),
                                   bytes.data() + kCrcAt);
  Check(bytes);
  return 0;
}
