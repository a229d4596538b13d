#pragma once

#include <vector>

#include "src/transport/sim/sim_network.h"
#include "src/transport/transport.h"

namespace lockstep::transport::sim {

// One rank's end of a SimNetwork. Nothing moves in Progress(): SimWorld runs the clock.
class SimTransport : public Transport {
 public:
  SimTransport(SimNetwork* network, int rank, int world_size)
      : network_(network), rank_(rank), world_size_(world_size) {}

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  void PostSend(Lane lane, int peer, const Tag& tag, absl::Span<const std::byte> data,
                Operation* operation) override;
  void PostReceive(Lane lane, int peer, const Tag& tag, absl::Span<std::byte> data,
                   Operation* operation) override;
  bool Progress() override { return false; }
  void AppendWaits(std::vector<pollfd>*) const override {}
  void Abort(const absl::Status& reason) override { network_->Close(rank_, reason); }
  Counters counters() const override { return network_->counters(rank_); }

  // The rank dies when it has posted this many sends; the last of them never leaves.
  void DieAfterSends(int64_t sends) { dies_after_sends_ = sends_ + sends; }

 private:
  SimNetwork* const network_;
  const int rank_;
  const int world_size_;
  int64_t sends_ = 0;
  int64_t dies_after_sends_ = -1;
};

}  // namespace lockstep::transport::sim
