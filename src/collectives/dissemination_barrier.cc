#include "src/collectives/dissemination_barrier.h"

namespace lockstep::collectives {

absl::StatusOr<bool> DisseminationBarrier::Advance() {
  const int world = context_.world_size(), rank = context_.rank();
  while (send_.done() && receive_.done()) {
    LOCKSTEP_RETURN_IF_ERROR(send_.status());
    LOCKSTEP_RETURN_IF_ERROR(receive_.status());
    distance_ = distance_ == 0 ? 1 : distance_ * 2;
    if (distance_ >= world) return true;
    context_.transport->PostSend(transport::Lane::kCollective, (rank + distance_) % world, context_.tag, {},
                                 &send_);
    context_.transport->PostReceive(transport::Lane::kCollective, (rank + world - distance_) % world,
                                    context_.tag, {}, &receive_);
  }
  return false;
}

}  // namespace lockstep::collectives
