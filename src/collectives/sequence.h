#pragma once

#include <memory>
#include <utility>

#include "src/collectives/collective.h"

namespace lockstep::collectives {

// Two collectives, one after the other.
class Sequence : public Collective {
 public:
  Sequence(std::unique_ptr<Collective> first, std::unique_ptr<Collective> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  absl::StatusOr<bool> Advance() override {
    if (!first_over_) {
      LOCKSTEP_ASSIGN_OR_RETURN(first_over_, first_->Advance());
      if (!first_over_) return false;
    }
    return second_->Advance();
  }

 private:
  const std::unique_ptr<Collective> first_, second_;
  bool first_over_ = false;
};

}  // namespace lockstep::collectives
