#pragma once

#include <array>
#include <cstdint>

#include "src/collectives/collective.h"
#include "src/collectives/partition.h"

namespace lockstep::collectives {

// Pipelined ring: allreduce, reduce-scatter(v) and allgather(v) in one schedule.
//
// In step t each rank r sends block r-1-t to its successor and receives block r-2-t from its predecessor. In
// the first P-1 steps what arrives is combined with this rank's own and goes on in the next step, so that
// after them rank r holds the sum of block r; in the next P-1 steps finished blocks go round. Reduce-scatter
// is the first half, allgather the second. Blocks are cut into chunks that are sent on as soon as they are
// combined, while they are in the cache.
//
// Cost of allreduce for n bytes: 2(P-1) alpha + 2 n (P-1)/P beta + n (P-1)/P gamma, and a chunk's time at
// each end. Memory: kSlots chunks. The order of summation of block b is b+1, b+2, ..., b: the same bits every
// time and everywhere. Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
// workstations, 2009.
class Ring : public Collective {
 public:
  enum class Part { kAllReduce, kReduceScatter, kAllGather };
  Ring(const Context& context, const Arguments& arguments, Part part, Partition partition);
  absl::StatusOr<bool> Advance() override;

  // Chunks in flight each way, and staging slots.
  static constexpr int64_t kWindow = 4;
  static constexpr int64_t kSlots = 2 * kWindow;
  // The largest chunk that the staging memory has room for.
  static int64_t SlotBytes(const Context& context);

 private:
  struct Slot {
    transport::Operation operation;
    Event combined;
    bool combining = false;
  };
  // The schedule goes through segments of `lag_` chunks of every block, through the steps of a segment, and
  // through its chunks in each step. What a step receives is sent `lag_` places later, in the next step: soon
  // enough to be in the cache still, late enough to leave the wire no pause. A reduce-scatter keeps it in a
  // slot meanwhile. An allgather calculates nothing and is one segment.
  int64_t StepInSegment(int64_t index) const { return index / lag_ % steps_; }
  int64_t Step(int64_t index) const { return first_step_ + StepInSegment(index); }
  int64_t Chunk(int64_t index) const { return index / (lag_ * steps_) * lag_ + index % lag_; }
  Range ChunkOf(int64_t block, int64_t index) const;
  Range ReceiveRange(int64_t index) const;
  Range SendRange(int64_t index) const;
  bool Reduces(int64_t index) const { return Step(index) < world_ - 1; }
  std::byte* SlotMemory(int64_t index) const;
  // Where the combined chunk of receive `index` lies: the output, or its slot when the output has no room for
  // it.
  std::byte* Combined(int64_t index) const;
  const std::byte* SendSource(int64_t index) const;

  void CopyOwn();
  bool PostReceives();
  absl::StatusOr<bool> TakeReceives();
  bool PostSends();
  absl::StatusOr<bool> RetireSends();

  Context context_;
  const Arguments arguments_;
  const Part part_;
  const Partition partition_;
  const int64_t world_;
  const int64_t rank_;
  const int64_t element_bytes_;
  const int64_t first_step_;
  const int64_t steps_;
  const int64_t lag_;
  const int64_t total_;  // chunks of the whole schedule, each way
  const int64_t slot_bytes_;
  bool own_copy_begun_ = false;  // allgather: of this rank's block to the output
  Event own_copied_;
  int64_t receives_posted_ = 0, receives_taken_ = 0;
  int64_t sends_posted_ = 0, sends_done_ = 0;
  std::array<Slot, kSlots> receives_;
  std::array<transport::Operation, kWindow> sends_;
};

}  // namespace lockstep::collectives
