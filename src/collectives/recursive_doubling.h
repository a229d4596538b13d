#pragma once

#include <cstdint>

#include "src/collectives/collective.h"

namespace lockstep::collectives {

// Allreduce in log2 P exchanges of the whole vector: for what is so small that messages cost more than bytes.
//
// Any world size: with P = 2^k + extra, the first 2*extra ranks pair up, the even one of a pair hands its
// vector to the odd one and gets the result at the end; the 2^k that are left exchange with the rank at
// distance 1, 2, 4, ... A pair combines the same two values on both sides, and every operation here is
// commutative to the bit, so all ranks end with the same bits. Vectors larger than the staging memory go in
// parts, one after the other.
//
// Cost for n bytes: log2(P) (alpha + n beta + n gamma), and two more messages where P is no power of two.
// Source: Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, 2005.
class RecursiveDoubling : public Collective {
 public:
  RecursiveDoubling(const Context& context, const Arguments& arguments);
  absl::StatusOr<bool> Advance() override;

 private:
  enum class Phase { kBeginPart, kFoldIn, kExchange, kCombine, kEndPart, kDone };

  void BeginPart();
  void BeginExchange();
  void Combine(bool last);
  // The exchange is over, and so is the kernel behind it; an error if one failed.
  absl::StatusOr<bool> Settled();
  void Send(int peer, const std::byte* data);
  void Receive(int peer, std::byte* place);
  int64_t PartBytes() const { return part_count_ * element_bytes_; }

  Context context_;
  const Arguments arguments_;
  const int64_t element_bytes_;
  const int64_t part_limit_;  // elements
  int power_ = 1;             // the largest power of two that is not above the world size
  int extra_ = 0;
  int virtual_rank_ = -1;  // among the 2^k; -1: handed over
  Phase phase_ = Phase::kBeginPart;
  int distance_ = 1;
  int64_t done_ = 0;                    // elements
  int64_t part_count_ = 0;              // elements
  const std::byte* current_ = nullptr;  // this rank's value of the part so far
  std::byte* result_ = nullptr;         // where it ends
  transport::Operation send_, receive_;
  Event combined_;
};

}  // namespace lockstep::collectives
