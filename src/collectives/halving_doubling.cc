#include "src/collectives/halving_doubling.h"

#include <algorithm>

namespace lockstep::collectives {

HalvingDoubling::HalvingDoubling(const Context& context, const Arguments& arguments)
    : context_(context),
      arguments_(arguments),
      element_bytes_(SizeOf(arguments.descriptor.dtype)),
      part_limit_(static_cast<int64_t>(context.scratch.size()) / element_bytes_) {
  const int world = context_.world_size(), rank = context_.rank();
  for (; power_ * 2 <= world; power_ *= 2) ++depth_;
  extra_ = world - power_;
  if (rank >= 2 * extra_) {
    virtual_rank_ = rank - extra_;
  } else if (rank % 2 == 1) {
    virtual_rank_ = rank / 2;
  }
}

void HalvingDoubling::Send(int peer, const std::byte* base, Range range) {
  if (range.count == 0) return;
  context_.transport->PostSend(
      transport::Lane::kCollective, peer, context_.tag,
      {base + range.begin * element_bytes_, static_cast<size_t>(range.count * element_bytes_)}, &send_);
}

void HalvingDoubling::Receive(int peer, std::byte* place, Range range) {
  if (range.count == 0) return;
  context_.transport->PostReceive(transport::Lane::kCollective, peer, context_.tag,
                                  {place, static_cast<size_t>(range.count * element_bytes_)}, &receive_);
}

absl::StatusOr<bool> HalvingDoubling::Exchanged() {
  if (!send_.done() || !receive_.done()) return false;
  LOCKSTEP_RETURN_IF_ERROR(send_.status());
  LOCKSTEP_RETURN_IF_ERROR(receive_.status());
  return true;
}

int HalvingDoubling::Peer() const {
  const int partner = virtual_rank_ ^ (power_ >> (level_ + 1));
  return partner < extra_ ? 2 * partner + 1 : partner + extra_;
}

Range HalvingDoubling::Other() const {
  const Range whole = levels_[static_cast<size_t>(level_)], kept = levels_[static_cast<size_t>(level_ + 1)];
  const bool keeps_lower = (virtual_rank_ & (power_ >> (level_ + 1))) == 0;
  return {keeps_lower ? kept.begin + kept.count : whole.begin, whole.count - kept.count};
}

void HalvingDoubling::BeginPart() {
  const int rank = context_.rank();
  part_count_ = std::min(part_limit_, arguments_.input_count - done_);
  current_ = arguments_.input + done_ * element_bytes_;
  result_ = arguments_.output + done_ * element_bytes_;
  level_ = 0;
  levels_[0] = Whole();
  if (virtual_rank_ < 0) {
    Send(rank + 1, current_, Whole());
    Receive(rank + 1, result_, Whole());
    phase_ = Phase::kEndPart;
  } else if (rank < 2 * extra_) {
    Receive(rank - 1, context_.scratch.data(), Whole());
    phase_ = Phase::kFoldIn;
  } else {
    BeginHalving();
  }
}

void HalvingDoubling::BeginHalving() {
  const Range whole = levels_[static_cast<size_t>(level_)];
  const int64_t lower = whole.count / 2;
  const bool keeps_lower = (virtual_rank_ & (power_ >> (level_ + 1))) == 0;
  Range& kept = levels_[static_cast<size_t>(level_ + 1)];
  kept = keeps_lower ? Range{whole.begin, lower} : Range{whole.begin + lower, whole.count - lower};
  Send(Peer(), current_, Other());
  Receive(Peer(), context_.scratch.data(), kept);
  phase_ = Phase::kHalve;
}

void HalvingDoubling::BeginDoubling() {
  Send(Peer(), result_, levels_[static_cast<size_t>(level_ + 1)]);
  Receive(Peer(), result_ + Other().begin * element_bytes_, Other());
  phase_ = Phase::kDouble;
}

void HalvingDoubling::Combine(Range range, bool last) {
  const Descriptor& call = arguments_.descriptor;
  const int64_t offset = range.begin * element_bytes_;
  const void* const sources[] = {current_ + offset, context_.scratch.data()};
  const double divisor = last && call.reduce_op == ReduceOp::kAvg ? context_.world_size() : 1;
  if (range.count > 0) {
    context_.kernels->reduce(context_.stream, call.dtype, call.reduce_op, result_ + offset, {sources, 2},
                             range.count, divisor);
    combined_ = context_.stream.Record();
  }
  current_ = result_;
}

absl::StatusOr<bool> HalvingDoubling::Advance() {
  for (;;) {
    if (phase_ == Phase::kDone) return true;
    if (phase_ == Phase::kBeginPart) {
      if (done_ < arguments_.input_count) {
        BeginPart();
      } else {
        phase_ = Phase::kDone;
      }
      continue;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const bool exchanged, Exchanged());
    if (!exchanged || !combined_.Done()) return false;
    switch (phase_) {
      case Phase::kFoldIn:
        Combine(Whole(), /*last=*/false);
        level_ = -1;
        phase_ = Phase::kCombine;
        break;
      case Phase::kHalve:
        Combine(levels_[static_cast<size_t>(level_ + 1)], /*last=*/level_ + 1 == depth_);
        phase_ = Phase::kCombine;
        break;
      case Phase::kCombine:
        if (++level_ < depth_) {
          BeginHalving();
        } else {
          --level_;
          BeginDoubling();
        }
        break;
      case Phase::kDouble:
        if (--level_ >= 0) {
          BeginDoubling();
        } else {
          if (context_.rank() < 2 * extra_) Send(context_.rank() - 1, result_, Whole());
          phase_ = Phase::kEndPart;
        }
        break;
      default:  // kEndPart
        done_ += part_count_;
        phase_ = Phase::kBeginPart;
        break;
    }
  }
}

}  // namespace lockstep::collectives
