#pragma once

#include <cstdint>
#include <vector>

#include "src/collectives/collective.h"
#include "src/collectives/partition.h"

namespace lockstep::collectives {

// Reduction in rank order: every element is the left fold over ranks 0..P-1, in f32 (f64 in f64), rounded
// once.
//
// Each rank owns a block of the result (with a root, the root owns it all). Everybody sends the owner its
// part of the block, and the owner folds what arrives in the order of ranks, a chunk at a time. What is
// folded never depends on how the vector was cut, so the bits depend on nothing but the inputs. Receives are
// posted well ahead, from all ranks at once where the staging memory has room.
//
// Cost for n bytes: (P-1) alpha + n (P-1)/P (beta + gamma), without the allgather that follows in an
// allreduce. Memory: as many chunks as are posted ahead, and one of accumulators.
class StrictReduce : public Collective {
 public:
  // `partition` gives the owners' blocks; `output` is where this rank's own block goes.
  StrictReduce(const Context& context, const Arguments& arguments, Partition partition, std::byte* output);
  // The largest chunk that the staging memory has room for, in elements.
  static int64_t ChunkElements(const Context& context, DType dtype);

  absl::StatusOr<bool> Advance() override;

 private:
  static constexpr int64_t kSendWindow = 8;
  // Receives go through the chunks of the own block and, in each, through the ranks; sends through the chunks
  // and, in each, through the other owners, from the next rank on.
  Range ReceiveRange(int64_t index) const { return partition_.chunk(rank_, index / world_); }
  int Source(int64_t index) const { return static_cast<int>(index % world_); }
  Range SendRange(int64_t index) const { return partition_.chunk(Target(index), index / (world_ - 1)); }
  int Target(int64_t index) const { return static_cast<int>((rank_ + 1 + index % (world_ - 1)) % world_); }
  std::byte* SlotMemory(int64_t index) const {
    return context_.scratch.data() + index % window_ * slot_bytes_;
  }
  bool PostReceives();
  absl::StatusOr<bool> FoldNext();
  absl::StatusOr<bool> MoveSends();
  void Fold(int64_t index, const std::byte* source);

  Context context_;
  const Arguments arguments_;
  const Partition partition_;
  std::byte* const output_;
  const int world_;
  const int rank_;
  const int64_t element_bytes_;
  const int64_t slot_bytes_;
  const int64_t window_;  // receives posted ahead, with a slot each
  std::byte* const accumulator_;
  const int64_t receives_;  // of all ranks' parts of the own block, this rank's own included
  const int64_t sends_;
  int64_t posted_ = 0, folded_ = 0, sends_posted_ = 0, sends_done_ = 0;
  bool folding_ = false;
  Event fold_;
  std::vector<transport::Operation> receive_operations_, send_operations_;
};

}  // namespace lockstep::collectives
