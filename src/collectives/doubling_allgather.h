#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/collectives/collective.h"
#include "src/collectives/partition.h"

namespace lockstep::collectives {

// Allgather(v) in ceil(log2 P) rounds, any world size: for what is so small that messages cost more than
// bytes.
//
// Before the round of distance d each rank r has the blocks r, r+1, ..., r+d-1 (modulo P); it hands as many
// of them as are still missing there to rank r-d and gets the next ones from rank r+d. Blocks go straight to
// their places in the output, in two messages where they run over the end of it, so that nothing is rotated
// afterwards.
//
// Cost for n bytes in all: ceil(log2 P) alpha + n (P-1)/P beta. Memory: none. Source: Bruck, Ho, Kipnis,
// Upfal, Weathersby, Efficient algorithms for all-to-all communications in multiport message-passing systems,
// 1997.
class DoublingAllGather : public Collective {
 public:
  // `blocks` in elements, one a rank.
  DoublingAllGather(const Context& context, const Arguments& arguments, Partition blocks);
  absl::StatusOr<bool> Advance() override;

 private:
  void BeginRound();
  // The blocks from `first` on, modulo P, as runs of the output in bytes.
  std::array<Range, 2> Runs(int first, int blocks) const;

  Context context_;
  const Arguments arguments_;
  const Partition blocks_;
  const int64_t element_bytes_;
  bool own_copied_ = false;
  Event copied_;
  int distance_ = 0;  // of the round under way; 0: none begun
  std::array<transport::Operation, 2> sends_, receives_;
};

}  // namespace lockstep::collectives
