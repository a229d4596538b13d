#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lockstep::net {

// Integers on the wire are little-endian whatever the host is; compilers make one move of these loops.

template <typename T>
void StoreLittleEndian(T value, void* to) {
  using U = std::make_unsigned_t<T>;
  auto* bytes = static_cast<unsigned char*>(to);
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(static_cast<uint64_t>(static_cast<U>(value)) >> (8 * i));
}

template <typename T>
T LoadLittleEndian(const void* from) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return static_cast<T>(value);
}

}  // namespace lockstep::net
