#include "src/collectives/strict_reduce.h"

#include <algorithm>
#include <utility>

namespace lockstep::collectives {
namespace {

// An accumulator is at most this many times an element: f32 for f8.
constexpr int64_t kAccumulatorFactor = 4;

// Two chunks from everybody, as far as that is sensible.
int64_t Window(const Context& context) { return std::min<int64_t>(2 * context.world_size(), 64); }

}  // namespace

int64_t StrictReduce::ChunkElements(const Context& context, DType dtype) {
  const int64_t room =
      static_cast<int64_t>(context.scratch.size()) / (Window(context) + kAccumulatorFactor) / 64 * 64;
  return std::min(context.chunk_bytes, room) / SizeOf(dtype);
}

StrictReduce::StrictReduce(const Context& context, const Arguments& arguments, Partition partition,
                           std::byte* output)
    : context_(context),
      arguments_(arguments),
      partition_(std::move(partition)),
      output_(output),
      world_(context.world_size()),
      rank_(context.rank()),
      element_bytes_(SizeOf(arguments.descriptor.dtype)),
      slot_bytes_((ChunkElements(context, arguments.descriptor.dtype) * element_bytes_ + 63) / 64 * 64),
      window_(Window(context)),
      accumulator_(context.scratch.data() + window_ * slot_bytes_),
      receives_(partition_.chunks() * world_),
      sends_(partition_.chunks() * (world_ - 1)),
      receive_operations_(static_cast<size_t>(window_)),
      send_operations_(kSendWindow) {}

absl::StatusOr<bool> StrictReduce::Advance() {
  for (bool again = true; again;) {
    again = PostReceives();
    LOCKSTEP_ASSIGN_OR_RETURN(const bool folded, FoldNext());
    LOCKSTEP_ASSIGN_OR_RETURN(const bool sent, MoveSends());
    again |= folded || sent;
  }
  return folded_ == receives_ && sends_done_ == sends_;
}

bool StrictReduce::PostReceives() {
  const int64_t before = posted_;
  for (; posted_ < receives_ && posted_ - folded_ < window_; ++posted_) {
    const Range range = ReceiveRange(posted_);
    if (range.count == 0 || Source(posted_) == rank_) continue;
    context_.transport->PostReceive(transport::Lane::kCollective, Source(posted_), context_.tag,
                                    {SlotMemory(posted_), static_cast<size_t>(range.count * element_bytes_)},
                                    &receive_operations_[static_cast<size_t>(posted_ % window_)]);
  }
  return posted_ != before;
}

absl::StatusOr<bool> StrictReduce::FoldNext() {
  const int64_t before = folded_;
  for (; folded_ < posted_; ++folded_, folding_ = false) {
    const Range range = ReceiveRange(folded_);
    if (range.count == 0) continue;
    if (!folding_) {
      const transport::Operation& receive = receive_operations_[static_cast<size_t>(folded_ % window_)];
      if (Source(folded_) != rank_) {
        if (!receive.done()) break;
        LOCKSTEP_RETURN_IF_ERROR(receive.status());
      }
      Fold(folded_,
           Source(folded_) == rank_ ? arguments_.input + range.begin * element_bytes_ : SlotMemory(folded_));
    }
    if (!fold_.Done()) break;
  }
  return folded_ != before;
}

void StrictReduce::Fold(int64_t index, const std::byte* source) {
  const Descriptor& call = arguments_.descriptor;
  const Range range = ReceiveRange(index);
  if (Source(index) == 0) {
    context_.kernels->fold_first(context_.stream, call.dtype, accumulator_, source, range.count);
  } else {
    context_.kernels->fold(context_.stream, call.dtype, call.reduce_op, accumulator_, source, range.count);
  }
  if (Source(index) == world_ - 1) {
    const int64_t offset = (range.begin - partition_.block(rank_).begin) * element_bytes_;
    context_.kernels->fold_finish(context_.stream, call.dtype, output_ + offset, accumulator_, range.count,
                                  call.reduce_op == ReduceOp::kAvg ? world_ : 1);
  }
  fold_ = context_.stream.Record();
  folding_ = true;
}

absl::StatusOr<bool> StrictReduce::MoveSends() {
  bool moved = false;
  for (; sends_done_ < sends_posted_; ++sends_done_, moved = true) {
    if (SendRange(sends_done_).count == 0) continue;
    const transport::Operation& send = send_operations_[static_cast<size_t>(sends_done_ % kSendWindow)];
    if (!send.done()) break;
    LOCKSTEP_RETURN_IF_ERROR(send.status());
  }
  for (; sends_posted_ < sends_ && sends_posted_ - sends_done_ < kSendWindow; ++sends_posted_, moved = true) {
    const Range range = SendRange(sends_posted_);
    if (range.count == 0) continue;
    context_.transport->PostSend(
        transport::Lane::kCollective, Target(sends_posted_), context_.tag,
        {arguments_.input + range.begin * element_bytes_, static_cast<size_t>(range.count * element_bytes_)},
        &send_operations_[static_cast<size_t>(sends_posted_ % kSendWindow)]);
  }
  return moved;
}

}  // namespace lockstep::collectives
