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

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) uint32_t ExtendInHardware(uint32_t crc, const std::byte* data,
                                                            size_t bytes) {
  uint64_t wide = crc;
  for (; bytes >= 8; bytes -= 8, data += 8) wide = _mm_crc32_u64(wide, Load64(data));
  crc = static_cast<uint32_t>(wide);
  for (; bytes > 0; --bytes, ++data) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*data));
  return crc;
}

bool HaveHardware() { return __builtin_cpu_supports("sse4.2") != 0; }

#elif defined(__aarch64__)

__attribute__((target("+crc"))) uint32_t ExtendInHardware(uint32_t crc, const std::byte* data, size_t bytes) {
  for (; bytes >= 8; bytes -= 8, data += 8) crc = __crc32cd(crc, Load64(data));
  for (; bytes > 0; --bytes, ++data) crc = __crc32cb(crc, static_cast<uint8_t>(*data));
  return crc;
}

bool HaveHardware() {
  constexpr unsigned long kHwcapCrc32 = 1ul << 7;  // HWCAP_CRC32 of the kernel's asm/hwcap.h
  return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}

#else

uint32_t ExtendInHardware(uint32_t crc, const std::byte* data, size_t bytes) {
  return ExtendWithTable(crc, data, bytes);
}

bool HaveHardware() { return false; }

#endif

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
