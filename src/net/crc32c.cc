#include <array>
#include <cstring>

#include "src/net/frame.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace lockstep::net {
namespace {

// The Castagnoli polynomial, bit-reversed.
constexpr uint32_t kPolynomial = 0x82f63b78;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t ExtendWithTable(uint32_t crc, const std::byte* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint32_t>(data[i])) & 0xff];
  return crc;
}

uint64_t Load64(const std::byte* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

// The instruction takes three cycles and one may start in each: three lanes of the data are worked on at a
// time. What a lane's value becomes after as many zero bytes as lie behind it is linear in its bits, so that
// four table look-ups give it.
constexpr size_t kLaneBytes = 1024;
using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;

constexpr ShiftTable MakeShiftTable(size_t zero_bytes) {
  std::array<uint32_t, 32> of_bit = {};
  for (int bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < zero_bytes; ++i) crc = (crc >> 8) ^ kTable[crc & 0xff];
    of_bit[bit] = crc;
  }
  ShiftTable table = {};
  for (int byte = 0; byte < 4; ++byte)
    for (int value = 0; value < 256; ++value)
      for (int bit = 0; bit < 8; ++bit)
        if ((value >> bit & 1) != 0) table[byte][value] ^= of_bit[8 * byte + bit];
  return table;
}

constexpr ShiftTable kShiftOneLane = MakeShiftTable(kLaneBytes);
constexpr ShiftTable kShiftTwoLanes = MakeShiftTable(2 * kLaneBytes);

uint32_t Shift(const ShiftTable& table, uint32_t crc) {
  return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^ table[3][crc >> 24];
}

#if defined(__x86_64__)

#define LOCKSTEP_CRC_TARGET __attribute__((target("sse4.2")))
LOCKSTEP_CRC_TARGET inline uint64_t Step64(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
LOCKSTEP_CRC_TARGET inline uint32_t Step8(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
bool HaveHardware() { return __builtin_cpu_supports("sse4.2") != 0; }

#elif defined(__aarch64__)

#define LOCKSTEP_CRC_TARGET __attribute__((target("+crc")))
LOCKSTEP_CRC_TARGET inline uint64_t Step64(uint64_t crc, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(crc), word);
}
LOCKSTEP_CRC_TARGET inline uint32_t Step8(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
bool HaveHardware() {
  constexpr unsigned long kHwcapCrc32 = 1ul << 7;  // HWCAP_CRC32 of the kernel's asm/hwcap.h
  return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}

#else

#define LOCKSTEP_CRC_TARGET
inline uint32_t Step8(uint32_t crc, uint8_t byte) { return (crc >> 8) ^ kTable[(crc ^ byte) & 0xff]; }
inline uint64_t Step64(uint64_t crc, uint64_t word) {
  for (int byte = 0; byte < 8; ++byte, word >>= 8)
    crc = Step8(static_cast<uint32_t>(crc), static_cast<uint8_t>(word));
  return crc;
}
bool HaveHardware() { return false; }

#endif

LOCKSTEP_CRC_TARGET uint32_t ExtendInHardware(uint32_t crc, const std::byte* data, size_t bytes) {
  uint64_t first = crc;
  for (; bytes >= 3 * kLaneBytes; bytes -= 3 * kLaneBytes, data += 3 * kLaneBytes) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kLaneBytes; i += 8) {
      first = Step64(first, Load64(data + i));
      second = Step64(second, Load64(data + kLaneBytes + i));
      third = Step64(third, Load64(data + 2 * kLaneBytes + i));
    }
    first = Shift(kShiftTwoLanes, static_cast<uint32_t>(first)) ^
            Shift(kShiftOneLane, static_cast<uint32_t>(second)) ^ third;
  }
  for (; bytes >= 8; bytes -= 8, data += 8) first = Step64(first, Load64(data));
  crc = static_cast<uint32_t>(first);
  for (; bytes > 0; --bytes, ++data) crc = Step8(crc, static_cast<uint8_t>(*data));
  return crc;
}

}  // namespace

uint32_t Crc32c(absl::Span<const std::byte> bytes, uint32_t crc) {
  static const bool have_hardware = HaveHardware();
  return ~(have_hardware ? ExtendInHardware(~crc, bytes.data(), bytes.size())
                         : ExtendWithTable(~crc, bytes.data(), bytes.size()));
}

uint32_t Crc32cPortable(absl::Span<const std::byte> bytes, uint32_t crc) {
  return ~ExtendWithTable(~crc, bytes.data(), bytes.size());
}

}  // namespace lockstep::net
