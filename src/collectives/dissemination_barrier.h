#pragma once

#include "src/collectives/collective.h"

namespace lockstep::collectives {

// Barrier in ceil(log2 P) rounds: in round i each rank tells the one 2^i after it and hears from the one 2^i
// before it. Cost: ceil(log2 P) alpha. Source: Hensgen, Finkel, Manber, Two algorithms for barrier
// synchronization, 1988.
class DisseminationBarrier : public Collective {
 public:
  explicit DisseminationBarrier(const Context& context) : context_(context) {}
  absl::StatusOr<bool> Advance() override;

 private:
  Context context_;
  int distance_ = 0;  // of the round under way; 0: none begun
  transport::Operation send_, receive_;
};

}  // namespace lockstep::collectives
