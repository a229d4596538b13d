#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "lockstep/export.h"

namespace lockstep::inline v0 {

// The algorithms that can be asked for. kAuto chooses by size and world size. One that does not fit the
// operation falls back to kAuto. The numbers are part of the wire format.
enum class Algorithm : uint16_t {
  kAuto = 0,
  kRing = 1,               // pipelined ring: bandwidth-optimal, P-1 steps
  kRecursiveDoubling = 2,  // log2 P steps of the whole vector, any world size
  kHalvingDoubling = 3,    // reduce-scatter by halving, allgather by doubling, any world size
  kTree = 4,               // binomial tree (broadcast, reduce, gather, scatter, barrier)
  kDirect = 5,             // every rank to every rank
};
LOCKSTEP_EXPORT const char* Name(Algorithm algorithm);
LOCKSTEP_EXPORT absl::StatusOr<Algorithm> ParseAlgorithm(std::string_view name);

}  // namespace lockstep::inline v0
