#include "src/net/frame.h"

#include "absl/strings/str_cat.h"
#include "src/net/little_endian.h"

namespace lockstep::net {
namespace {

enum Offset : size_t {
  kMagicAt = 0,
  kVersionAt = 4,
  kKindAt = 5,
  kFlagsAt = 6,
  kPayloadBytesAt = 8,
  kEpochAt = 12,
  kCommunicatorAt = 16,
  kSequenceAt = 24,
  kDescriptorAt = 32,
  kMessageBytesAt = 40,
  kAlgorithmAt = 48,
  kReserved16At = 50,
  kReserved32At = 52,
  kPayloadCrcAt = 56,
  kHeaderCrcAt = 60,
};

absl::Status CheckFixedFields(const std::byte* at) {
  const auto version = std::to_integer<uint8_t>(at[kVersionAt]);
  if (version != kFrameVersion)
    return absl::InvalidArgumentError(
        absl::StrCat("frame of an unknown version (", version, "; this library speaks ", kFrameVersion, ")"));
  const auto kind = std::to_integer<uint8_t>(at[kKindAt]);
  if (kind < static_cast<uint8_t>(FrameKind::kData) || kind > static_cast<uint8_t>(FrameKind::kGoodbye))
    return absl::InvalidArgumentError(absl::StrCat("frame of an unknown kind (", kind, ")"));
  if ((LoadLittleEndian<uint16_t>(at + kFlagsAt) & ~kPayloadCrc) != 0 ||
      LoadLittleEndian<uint16_t>(at + kReserved16At) != 0 ||
      LoadLittleEndian<uint32_t>(at + kReserved32At) != 0)
    return absl::InvalidArgumentError("frame with reserved bits set (made by a newer library?)");
  return absl::OkStatus();
}

absl::Status CheckLengths(const FrameHeader& header) {
  if (header.payload_bytes > kMaxFramePayload)
    return absl::InvalidArgumentError(absl::StrCat("frame too long (", header.payload_bytes,
                                                   " bytes of payload; at most ", kMaxFramePayload, ")"));
  if (header.kind == FrameKind::kData && header.payload_bytes > header.message_bytes)
    return absl::InvalidArgumentError(absl::StrCat("frame longer than its message (", header.payload_bytes,
                                                   " of ", header.message_bytes, " bytes)"));
  return absl::OkStatus();
}

}  // namespace

FrameHeaderBytes EncodeFrameHeader(const FrameHeader& header) {
  FrameHeaderBytes bytes = {};
  std::byte* at = bytes.data();
  StoreLittleEndian(kFrameMagic, at + kMagicAt);
  StoreLittleEndian(kFrameVersion, at + kVersionAt);
  StoreLittleEndian(static_cast<uint8_t>(header.kind), at + kKindAt);
  StoreLittleEndian(header.flags, at + kFlagsAt);
  StoreLittleEndian(header.payload_bytes, at + kPayloadBytesAt);
  StoreLittleEndian(header.epoch, at + kEpochAt);
  StoreLittleEndian(header.communicator, at + kCommunicatorAt);
  StoreLittleEndian(header.sequence, at + kSequenceAt);
  StoreLittleEndian(header.descriptor, at + kDescriptorAt);
  StoreLittleEndian(header.message_bytes, at + kMessageBytesAt);
  StoreLittleEndian(header.algorithm, at + kAlgorithmAt);
  StoreLittleEndian(header.payload_crc, at + kPayloadCrcAt);
  StoreLittleEndian(Crc32c(absl::MakeConstSpan(at, kHeaderCrcAt)), at + kHeaderCrcAt);
  return bytes;
}

absl::StatusOr<FrameHeader> DecodeFrameHeader(const FrameHeaderBytes& bytes) {
  const std::byte* at = bytes.data();
  if (LoadLittleEndian<uint32_t>(at + kMagicAt) != kFrameMagic)
    return absl::InvalidArgumentError("not a frame (wrong magic number)");
  if (LoadLittleEndian<uint32_t>(at + kHeaderCrcAt) != Crc32c(absl::MakeConstSpan(at, kHeaderCrcAt)))
    return absl::DataLossError("damaged frame header (its CRC-32C does not match)");
  if (absl::Status status = CheckFixedFields(at); !status.ok()) return status;
  FrameHeader header;
  header.kind = static_cast<FrameKind>(at[kKindAt]);
  header.flags = LoadLittleEndian<uint16_t>(at + kFlagsAt);
  header.payload_bytes = LoadLittleEndian<uint32_t>(at + kPayloadBytesAt);
  header.epoch = LoadLittleEndian<uint32_t>(at + kEpochAt);
  header.communicator = LoadLittleEndian<uint64_t>(at + kCommunicatorAt);
  header.sequence = LoadLittleEndian<uint64_t>(at + kSequenceAt);
  header.descriptor = LoadLittleEndian<uint64_t>(at + kDescriptorAt);
  header.message_bytes = LoadLittleEndian<uint64_t>(at + kMessageBytesAt);
  header.algorithm = LoadLittleEndian<uint16_t>(at + kAlgorithmAt);
  header.payload_crc = LoadLittleEndian<uint32_t>(at + kPayloadCrcAt);
  if (absl::Status status = CheckLengths(header); !status.ok()) return status;
  return header;
}

}  // namespace lockstep::net
