#include "src/net/frame.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/net/little_endian.h"

namespace lockstep::net {
namespace {

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

FrameHeader SomeHeader() {
  return {.kind = FrameKind::kData,
          .flags = kPayloadCrc,
          .payload_bytes = 0x123456,
          .epoch = 7,
          .communicator = 0x1122334455667788,
          .sequence = 42,
          .descriptor = 0xfedcba9876543210,
          .message_bytes = 1ull << 40,
          .algorithm = 0x0201,
          .payload_crc = 0xdeadbeef};
}

// Changes a byte and makes the header's CRC fit again, as only a program that speaks the protocol would.
FrameHeaderBytes WithByte(FrameHeaderBytes bytes, size_t at, uint8_t value) {
  bytes[at] = std::byte{value};
  StoreLittleEndian(Crc32c(absl::MakeConstSpan(bytes.data(), 60)), bytes.data() + 60);
  return bytes;
}

TEST(Crc32cTest, MatchesThePublishedVectors) {
  // RFC 3720, B.4.
  EXPECT_EQ(Crc32c(Bytes(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(Crc32c(Bytes(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(Bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cTest, HardwareAndTableAgreeAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::string data(70000, '\0');
  for (char& byte : data) byte = static_cast<char>(random());
  for (size_t bytes = 0; bytes < 600; ++bytes)
    for (size_t offset = 0; offset < 8; ++offset)
      ASSERT_EQ(Crc32c(Bytes(data).subspan(offset, bytes), 5),
                Crc32cPortable(Bytes(data).subspan(offset, bytes), 5))
          << bytes << " bytes from " << offset;
  for (size_t bytes : {1024u, 3071u, 3072u, 3073u, 6143u, 6144u, 6145u, 69999u})
    EXPECT_EQ(Crc32c(Bytes(data).subspan(1, bytes)), Crc32cPortable(Bytes(data).subspan(1, bytes)));
}

TEST(Crc32cTest, ContinuesAnEarlierOne) {
  const std::string text = "one, two, three and four";
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(Crc32c(Bytes(text.substr(cut)), Crc32c(Bytes(text.substr(0, cut)))), Crc32c(Bytes(text)));
}

TEST(FrameTest, RoundTrips) {
  for (FrameKind kind : {FrameKind::kData, FrameKind::kControl, FrameKind::kGoodbye}) {
    FrameHeader header = SomeHeader();
    header.kind = kind;
    EXPECT_EQ(DecodeFrameHeader(EncodeFrameHeader(header)).value(), header);
  }
  EXPECT_EQ(DecodeFrameHeader(EncodeFrameHeader({})).value(), FrameHeader());
}

TEST(FrameTest, HasTheDocumentedLayout) {
  const FrameHeaderBytes bytes = EncodeFrameHeader(SomeHeader());
  EXPECT_EQ(LoadLittleEndian<uint32_t>(bytes.data()), kFrameMagic);
  EXPECT_EQ(LoadLittleEndian<uint32_t>(bytes.data() + 8), 0x123456u);
  EXPECT_EQ(LoadLittleEndian<uint64_t>(bytes.data() + 16), 0x1122334455667788u);
  EXPECT_EQ(LoadLittleEndian<uint64_t>(bytes.data() + 40), 1ull << 40);
  EXPECT_EQ(LoadLittleEndian<uint32_t>(bytes.data() + 56), 0xdeadbeefu);
}

TEST(FrameTest, RejectsEveryFlippedBit) {
  const FrameHeaderBytes good = EncodeFrameHeader(SomeHeader());
  for (size_t bit = 0; bit < 8 * kFrameHeaderBytes; ++bit) {
    FrameHeaderBytes damaged = good;
    damaged[bit / 8] ^= std::byte{static_cast<uint8_t>(1u << (bit % 8))};
    EXPECT_EQ(DecodeFrameHeader(damaged).status().code(),
              bit < 32 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss)
        << "bit " << bit;
  }
}

TEST(FrameTest, RejectsWhatNoFrameOfThisVersionSays) {
  const FrameHeaderBytes good = EncodeFrameHeader(SomeHeader());
  for (const FrameHeaderBytes& bad : {
           WithByte(good, 4, kFrameVersion + 1),
           WithByte(good, 5, 0),
           WithByte(good, 5, 4),
           WithByte(good, 7, 1),
           WithByte(good, 50, 1),
           WithByte(good, 55, 1),
           WithByte(good, 11, 2),  // 32 MiB of payload
           EncodeFrameHeader({.payload_bytes = 2, .message_bytes = 1}),
       })
    EXPECT_EQ(DecodeFrameHeader(bad).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(DecodeFrameHeader(
                  EncodeFrameHeader({.payload_bytes = kMaxFramePayload, .message_bytes = kMaxFramePayload}))
                  .ok());
}

}  // namespace
}  // namespace lockstep::net
