#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep::net {

// What a new connection is for.
enum class Role : uint8_t { kStore = 1, kControl = 2, kData = 3 };

// Both sides of a connection send one, inside the handshake and covered by its MAC, so that a difference is
// found before a byte is taken for something else.
struct Hello {
  Role role = Role::kData;
  int rank = 0;  // of the sender, in the job
  uint64_t incarnation =
      0;  // random per job start, made by rank 0: keeps ranks of an earlier start out. 0: not known yet
  std::string library_version;
  uint32_t protocol_version = 0;
  // Settings that must agree ("timeout=600;..."): a difference is printed as a difference, name by name.
  std::string settings;
  // Data connections: which communicator, which of its lanes, which stripe.
  uint64_t communicator = 0;
  uint8_t lane = 0;
  uint8_t stripe = 0;
};

inline constexpr uint32_t kProtocolVersion = 1;

std::string EncodeHello(const Hello& hello);
// InvalidArgument on anything that is not a well-formed Hello of bounded size.
absl::StatusOr<Hello> DecodeHello(const std::string& bytes);
// FailedPrecondition naming each setting that differs, with both values; OK when they can talk.
absl::Status CompareHellos(const Hello& mine, const Hello& theirs);

}  // namespace lockstep::net
