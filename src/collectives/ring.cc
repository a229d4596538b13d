#include "src/collectives/ring.h"

#include <algorithm>
#include <utility>

namespace lockstep::collectives {

Ring::Ring(const Context& context, const Arguments& arguments, Part part, Partition partition)
    : context_(context),
      arguments_(arguments),
      part_(part),
      partition_(std::move(partition)),
      world_(context.world_size()),
      rank_(context.rank()),
      element_bytes_(SizeOf(arguments.descriptor.dtype)),
      first_step_(part == Part::kAllGather ? world_ - 1 : 0),
      steps_((part == Part::kAllReduce ? 2 : 1) * (world_ - 1)),
      lag_(std::min(partition_.chunks(), part == Part::kReduceScatter ? kWindow
                                         : part == Part::kAllReduce   ? 2 * kWindow
                                                                      : partition_.chunks())),
      total_((partition_.chunks() + lag_ - 1) / lag_ * lag_ * steps_),
      slot_bytes_(SlotBytes(context)) {}

int64_t Ring::SlotBytes(const Context& context) {
  const int64_t room = static_cast<int64_t>(context.scratch.size()) / kSlots;
  return std::min(context.chunk_bytes, room) / 64 * 64;
}

Range Ring::ChunkOf(int64_t block, int64_t index) const {
  const int64_t chunk = Chunk(index);
  if (chunk >= partition_.chunks()) return {};  // the last segment may be short
  return partition_.chunk(static_cast<int>((block % world_ + 2 * world_) % world_), chunk);
}

Range Ring::ReceiveRange(int64_t index) const { return ChunkOf((rank_ - 2 - Step(index)) % world_, index); }

Range Ring::SendRange(int64_t index) const { return ChunkOf((rank_ - 1 - Step(index)) % world_, index); }

std::byte* Ring::SlotMemory(int64_t index) const {
  return context_.scratch.data() + (index % kSlots) * slot_bytes_;
}

std::byte* Ring::Combined(int64_t index) const {
  const Range range = ReceiveRange(index);
  if (part_ != Part::kReduceScatter) return arguments_.output + range.begin * element_bytes_;
  if (Step(index) < world_ - 2) return SlotMemory(index);
  return arguments_.output + (range.begin - partition_.block(static_cast<int>(rank_)).begin) * element_bytes_;
}

const std::byte* Ring::SendSource(int64_t index) const {
  if (StepInSegment(index) > 0) return Combined(index - lag_);  // passes on what the step before received
  const Range range = SendRange(index);
  const int64_t begin = part_ == Part::kAllGather ? partition_.block(static_cast<int>(rank_)).begin : 0;
  return arguments_.input + (range.begin - begin) * element_bytes_;
}

void Ring::CopyOwn() {
  own_copy_begun_ = true;
  const Range mine = partition_.block(static_cast<int>(rank_));
  std::byte* place = arguments_.output + mine.begin * element_bytes_;
  if (part_ != Part::kAllGather || place == arguments_.input || mine.count == 0) return;
  context_.kernels->copy(context_.stream, place, arguments_.input, mine.count * element_bytes_);
  own_copied_ = context_.stream.Record();
}

absl::StatusOr<bool> Ring::Advance() {
  for (bool again = true; again;) {
    again = PostReceives();
    LOCKSTEP_ASSIGN_OR_RETURN(const bool taken, TakeReceives());
    again |= taken;
    again |= PostSends();
    LOCKSTEP_ASSIGN_OR_RETURN(const bool retired, RetireSends());
    again |= retired;
    // While the first messages are under way.
    if (!own_copy_begun_) CopyOwn();
  }
  return receives_taken_ == total_ && sends_done_ == total_ && own_copied_.Done();
}

bool Ring::PostReceives() {
  const int64_t before = receives_posted_;
  while (receives_posted_ < total_ && receives_posted_ - receives_taken_ < kWindow) {
    const int64_t index = receives_posted_, previous = index - kSlots;
    // A reduce-scatter's slot also holds what the next step sends.
    if (part_ == Part::kReduceScatter && previous >= 0 && StepInSegment(previous) < steps_ - 1 &&
        sends_done_ <= previous + lag_)
      break;
    const Range range = ReceiveRange(index);
    Slot& slot = receives_[static_cast<size_t>(index % kSlots)];
    slot.combining = false;
    if (range.count > 0) {
      std::byte* place = Reduces(index) ? SlotMemory(index) : Combined(index);
      context_.transport->PostReceive(
          transport::Lane::kCollective, static_cast<int>((rank_ + world_ - 1) % world_), context_.tag,
          {place, static_cast<size_t>(range.count * element_bytes_)}, &slot.operation);
    }
    ++receives_posted_;
  }
  return receives_posted_ != before;
}

absl::StatusOr<bool> Ring::TakeReceives() {
  const int64_t before = receives_taken_;
  while (receives_taken_ < receives_posted_) {
    const int64_t index = receives_taken_;
    const Range range = ReceiveRange(index);
    Slot& slot = receives_[static_cast<size_t>(index % kSlots)];
    if (range.count > 0) {
      if (!slot.operation.done()) break;
      LOCKSTEP_RETURN_IF_ERROR(slot.operation.status());
      if (Reduces(index)) {
        if (!slot.combining) {
          const bool last = Step(index) == world_ - 2;
          const void* const sources[] = {SlotMemory(index), arguments_.input + range.begin * element_bytes_};
          const double divisor =
              last && arguments_.descriptor.reduce_op == ReduceOp::kAvg ? static_cast<double>(world_) : 1;
          context_.kernels->reduce(context_.stream, arguments_.descriptor.dtype,
                                   arguments_.descriptor.reduce_op, Combined(index), {sources, 2},
                                   range.count, divisor);
          slot.combined = context_.stream.Record();
          slot.combining = true;
        }
        if (!slot.combined.Done()) break;
      }
    }
    ++receives_taken_;
  }
  return receives_taken_ != before;
}

bool Ring::PostSends() {
  const int64_t before = sends_posted_;
  while (sends_posted_ < total_ && sends_posted_ - sends_done_ < kWindow) {
    const int64_t index = sends_posted_;
    if (StepInSegment(index) > 0 && receives_taken_ <= index - lag_) break;
    const Range range = SendRange(index);
    if (range.count > 0)
      context_.transport->PostSend(transport::Lane::kCollective, static_cast<int>((rank_ + 1) % world_),
                                   context_.tag,
                                   {SendSource(index), static_cast<size_t>(range.count * element_bytes_)},
                                   &sends_[static_cast<size_t>(index % kWindow)]);
    ++sends_posted_;
  }
  return sends_posted_ != before;
}

absl::StatusOr<bool> Ring::RetireSends() {
  const int64_t before = sends_done_;
  while (sends_done_ < sends_posted_) {
    const transport::Operation& send = sends_[static_cast<size_t>(sends_done_ % kWindow)];
    if (SendRange(sends_done_).count > 0) {
      if (!send.done()) break;
      LOCKSTEP_RETURN_IF_ERROR(send.status());
    }
    ++sends_done_;
  }
  return sends_done_ != before;
}

}  // namespace lockstep::collectives
