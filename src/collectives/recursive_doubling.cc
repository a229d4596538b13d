#include "src/collectives/recursive_doubling.h"

#include <algorithm>

namespace lockstep::collectives {

RecursiveDoubling::RecursiveDoubling(const Context& context, const Arguments& arguments)
    : context_(context),
      arguments_(arguments),
      element_bytes_(SizeOf(arguments.descriptor.dtype)),
      part_limit_(static_cast<int64_t>(context.scratch.size()) / element_bytes_) {
  const int world = context_.world_size(), rank = context_.rank();
  while (power_ * 2 <= world) power_ *= 2;
  extra_ = world - power_;
  if (rank >= 2 * extra_) {
    virtual_rank_ = rank - extra_;
  } else if (rank % 2 == 1) {
    virtual_rank_ = rank / 2;
  }
}

void RecursiveDoubling::Send(int peer, const std::byte* data) {
  context_.transport->PostSend(transport::Lane::kCollective, peer, context_.tag,
                               {data, static_cast<size_t>(PartBytes())}, &send_);
}

void RecursiveDoubling::Receive(int peer, std::byte* place) {
  context_.transport->PostReceive(transport::Lane::kCollective, peer, context_.tag,
                                  {place, static_cast<size_t>(PartBytes())}, &receive_);
}

absl::StatusOr<bool> RecursiveDoubling::Settled() {
  if (!send_.done() || !receive_.done()) return false;
  LOCKSTEP_RETURN_IF_ERROR(send_.status());
  LOCKSTEP_RETURN_IF_ERROR(receive_.status());
  return combined_.Done();
}

void RecursiveDoubling::BeginPart() {
  const int rank = context_.rank();
  part_count_ = std::min(part_limit_, arguments_.input_count - done_);
  current_ = arguments_.input + done_ * element_bytes_;
  result_ = arguments_.output + done_ * element_bytes_;
  distance_ = 1;
  if (virtual_rank_ < 0) {
    // The odd one answers only after it has taken the vector, so that the result may go where the input lies.
    Send(rank + 1, current_);
    Receive(rank + 1, result_);
    phase_ = Phase::kEndPart;
  } else if (rank < 2 * extra_) {
    Receive(rank - 1, context_.scratch.data());
    phase_ = Phase::kFoldIn;
  } else {
    BeginExchange();
  }
}

void RecursiveDoubling::BeginExchange() {
  const int partner = virtual_rank_ ^ distance_;
  const int peer = partner < extra_ ? 2 * partner + 1 : partner + extra_;
  Send(peer, current_);
  Receive(peer, context_.scratch.data());
  phase_ = Phase::kExchange;
}

void RecursiveDoubling::Combine(bool last) {
  const Descriptor& call = arguments_.descriptor;
  const void* const sources[] = {current_, context_.scratch.data()};
  const double divisor = last && call.reduce_op == ReduceOp::kAvg ? context_.world_size() : 1;
  context_.kernels->reduce(context_.stream, call.dtype, call.reduce_op, result_, {sources, 2}, part_count_,
                           divisor);
  combined_ = context_.stream.Record();
  current_ = result_;
}

absl::StatusOr<bool> RecursiveDoubling::Advance() {
  for (;;) {
    switch (phase_) {
      case Phase::kBeginPart:
        if (done_ == arguments_.input_count) {
          phase_ = Phase::kDone;
        } else {
          BeginPart();
        }
        break;
      case Phase::kFoldIn: {
        LOCKSTEP_ASSIGN_OR_RETURN(const bool settled, Settled());
        if (!settled) return false;
        Combine(/*last=*/false);
        phase_ = Phase::kCombine;
        break;
      }
      case Phase::kExchange: {
        LOCKSTEP_ASSIGN_OR_RETURN(const bool settled, Settled());
        if (!settled) return false;
        distance_ *= 2;
        Combine(/*last=*/distance_ == power_);
        phase_ = Phase::kCombine;
        break;
      }
      case Phase::kCombine:
        if (!combined_.Done()) return false;
        if (distance_ < power_) {
          BeginExchange();
          break;
        }
        if (context_.rank() < 2 * extra_) Send(context_.rank() - 1, current_);
        phase_ = Phase::kEndPart;
        break;
      case Phase::kEndPart: {
        LOCKSTEP_ASSIGN_OR_RETURN(const bool settled, Settled());
        if (!settled) return false;
        done_ += part_count_;
        phase_ = Phase::kBeginPart;
        break;
      }
      case Phase::kDone:
        return true;
    }
  }
}

}  // namespace lockstep::collectives
