#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lockstep::net {

// Pure functions, thread-safe.
//
// The header of every frame on an authenticated connection, data and control alike. 64 bytes, little-endian:
//
//   offset  0 u32 magic            kFrameMagic
//           4 u8  version          kFrameVersion
//           5 u8  kind             FrameKind
//           6 u16 flags            kPayloadCrc: payload_crc is set
//           8 u32 payload_bytes    of this frame, at most kMaxFramePayload
//          12 u32 epoch            of the communicator (grows with each Shrink)
//          16 u64 communicator
//          24 u64 sequence         of the collective, or of the message on its point-to-point lane
//          32 u64 descriptor       hash of the collective's descriptor; ranks that disagree differ here
//          40 u64 message_bytes    of the whole message, which may span several frames
//          48 u16 algorithm
//          50 u16 reserved, 0
//          52 u32 reserved, 0
//          56 u32 payload_crc      CRC-32C of the payload, or 0
//          60 u32 header_crc       CRC-32C of bytes 0..59
//
// A header that does not decode closes its connection: nothing after it can be trusted to be a frame
// boundary.
inline constexpr uint32_t kFrameMagic = 0x504b4c31;  // "1LKP"
inline constexpr uint8_t kFrameVersion = 1;
inline constexpr size_t kFrameHeaderBytes = 64;
inline constexpr uint32_t kMaxFramePayload = 16u << 20;

enum class FrameKind : uint8_t { kData = 1, kControl = 2, kGoodbye = 3 };
inline constexpr uint16_t kPayloadCrc = 1;

struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  uint16_t flags = 0;
  uint32_t payload_bytes = 0;
  uint32_t epoch = 0;
  uint64_t communicator = 0;
  uint64_t sequence = 0;
  uint64_t descriptor = 0;
  uint64_t message_bytes = 0;
  uint16_t algorithm = 0;
  uint32_t payload_crc = 0;
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

FrameHeaderBytes EncodeFrameHeader(const FrameHeader& header);
// DataLoss on a wrong CRC, InvalidArgument on a wrong magic, version, kind or length (a payload beyond
// kMaxFramePayload, or of a data frame beyond its message), or on reserved bits. What decodes encodes to the
// same bytes.
absl::StatusOr<FrameHeader> DecodeFrameHeader(const FrameHeaderBytes& bytes);

// CRC-32C (Castagnoli), in hardware where there is one; `crc` continues an earlier one.
uint32_t Crc32c(absl::Span<const std::byte> bytes, uint32_t crc = 0);
// The same by table, on any processor: what Crc32c falls back to, and what it is tested against.
uint32_t Crc32cPortable(absl::Span<const std::byte> bytes, uint32_t crc = 0);

}  // namespace lockstep::net
