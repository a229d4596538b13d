#pragma once

#include <array>
#include <cstdint>

#include "src/collectives/collective.h"
#include "src/collectives/partition.h"

namespace lockstep::collectives {

// Allreduce as a reduce-scatter by halving and an allgather by doubling: for what is too large for recursive
// doubling and, on many ranks, too small for a ring.
//
// With P = 2^k ranks: in step i of the first half each exchanges half of what it still has with the rank at
// distance P/2, P/4, ..., 1 and combines the half that it keeps; after k steps it holds one part of the
// result. The second half goes the same way back, and what is held doubles. Other world sizes fold the extra
// ranks in first, as RecursiveDoubling does. Each element is combined on one rank alone, so that all end with
// the same bits. Vectors larger than the staging memory go in parts, one after the other.
//
// Cost for n bytes: 2 log2(P) alpha + 2 n (P-1)/P beta + n (P-1)/P gamma; where P is no power of two, 2 alpha
// + 2 n beta + n gamma more. Memory: n. Source: Rabenseifner, Optimization of collective reduction
// operations, 2004.
class HalvingDoubling : public Collective {
 public:
  HalvingDoubling(const Context& context, const Arguments& arguments);
  absl::StatusOr<bool> Advance() override;

 private:
  enum class Phase { kBeginPart, kFoldIn, kHalve, kCombine, kDouble, kEndPart, kDone };

  void BeginPart();
  void BeginHalving();
  void BeginDoubling();
  // destination = what is here + what was received, over `range` of the part.
  void Combine(Range range, bool last);
  // The exchange is over; an error if it failed.
  absl::StatusOr<bool> Exchanged();
  void Send(int peer, const std::byte* base, Range range);
  void Receive(int peer, std::byte* place, Range range);
  int Peer() const;
  // What of `levels_[level_]` goes to the partner in halving, and comes from it in doubling.
  Range Other() const;
  Range Whole() const { return {0, part_count_}; }

  Context context_;
  const Arguments arguments_;
  const int64_t element_bytes_;
  const int64_t part_limit_;  // elements
  int power_ = 1;             // the largest power of two that is not above the world size
  int depth_ = 0;             // its logarithm
  int extra_ = 0;
  int virtual_rank_ = -1;  // among the 2^k; -1: handed over
  Phase phase_ = Phase::kBeginPart;
  int64_t done_ = 0;                    // elements
  int64_t part_count_ = 0;              // elements
  const std::byte* current_ = nullptr;  // this rank's value of the part so far
  std::byte* result_ = nullptr;         // where it ends
  // levels_[i]: the elements of the part that this rank still combines after i halvings.
  std::array<Range, 32> levels_ = {};
  int level_ = 0;
  transport::Operation send_, receive_;
  Event combined_;
};

}  // namespace lockstep::collectives
