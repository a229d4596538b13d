#include "src/transport/sim/sim_transport.h"

namespace lockstep::transport::sim {

void SimTransport::PostSend(Lane lane, int peer, const Tag& tag, absl::Span<const std::byte> data,
                            Operation* operation) {
  // A send never writes: an Operation has one pointer for both directions.
  operation->Post(peer, tag, const_cast<std::byte*>(data.data()), static_cast<int64_t>(data.size()));
  if (++sends_ == dies_after_sends_) network_->ScheduleLoss(rank_);
  network_->PostSend(lane, rank_, peer, operation);
}

void SimTransport::PostReceive(Lane lane, int peer, const Tag& tag, absl::Span<std::byte> data,
                               Operation* operation) {
  operation->Post(peer, tag, data.data(), static_cast<int64_t>(data.size()));
  network_->PostReceive(lane, peer, rank_, operation);
}

}  // namespace lockstep::transport::sim
