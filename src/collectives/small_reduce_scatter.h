#pragma once

#include <memory>

#include "src/collectives/collective.h"
#include "src/collectives/partition.h"

namespace lockstep::collectives {

// Reduce-scatter(v) of what is small: an allreduce by recursive doubling into the staging memory, of which
// this rank keeps its block.
//
// Cost for n bytes: as RecursiveDoubling. Memory: 2 n.
class SmallReduceScatter : public Collective {
 public:
  // Fits() must hold. `mine`: this rank's block, in elements.
  SmallReduceScatter(const Context& context, const Arguments& arguments, Range mine);
  static bool Fits(const Context& context, const Arguments& arguments);
  absl::StatusOr<bool> Advance() override;

 private:
  Context context_;
  const Arguments arguments_;
  const Range mine_;
  std::byte* const sum_;  // in the staging memory
  std::unique_ptr<Collective> allreduce_;
  bool reduced_ = false;
  Event copied_;
};

}  // namespace lockstep::collectives
