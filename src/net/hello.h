#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep::net {

// What a new connection is for.
enum class Role : uint8_t { kStore = 1, kControl = 2, kData = 3 };

inline constexpr uint32_t kProtocolVersion = 1;

// Both sides of a connection send one, inside the handshake and covered by its MAC, so that a difference is
// found before a byte is taken for something else.
struct Hello {
  Role role = Role::kData;
  int rank = 0;  // of the sender, in the job
  // The rank that the dialling side means to reach; another one refuses. Loopback and bridge addresses are
  // the same on every host: without this a rank could end up talking to a neighbour, or to itself. -1: any.
  int peer_rank = -1;
  // Random per job start, made by rank 0: keeps ranks of an earlier start out. 0: not known yet.
  uint64_t incarnation = 0;
  std::string library_version;  // at most 64 bytes
  uint32_t protocol_version = kProtocolVersion;
  // Settings that must agree ("timeout=600;..."), at most 3 KiB: a difference is printed as a difference,
  // name by name.
  std::string settings;
  // Data connections: which communicator, which of its lanes, which stripe.
  uint64_t communicator = 0;
  uint8_t lane = 0;
  uint8_t stripe = 0;
  friend bool operator==(const Hello&, const Hello&) = default;
};

inline constexpr size_t kMaxLibraryVersionBytes = 64;
inline constexpr size_t kMaxSettingsBytes = 3072;
inline constexpr size_t kMaxHelloBytes = 4096;  // encoded

// Strings beyond their maximum are cut.
std::string EncodeHello(const Hello& hello);
// InvalidArgument on anything that is not a well-formed Hello of bounded size.
absl::StatusOr<Hello> DecodeHello(const std::string& bytes);

// OK when the two can talk. FailedPrecondition names each thing that differs (library version, protocol
// version, setting by setting, incarnation where both know one), with both values and whose they are: the
// text reads the same on both sides. NotFound when one of them is not the rank that the other means to reach.
absl::Status CompareHellos(const Hello& mine, const Hello& theirs);

}  // namespace lockstep::net
