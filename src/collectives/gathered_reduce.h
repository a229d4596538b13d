#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/collectives/collective.h"

namespace lockstep::collectives {

// Allreduce in rank order for what is small: everybody gets every input, and folds them in order by itself.
// Each element is the left fold over ranks 0..P-1, rounded once: the bits of StrictReduce.
//
// Cost for n bytes: ceil(log2 P) alpha + n (P-1) (beta + gamma). Memory: P n.
class GatheredReduce : public Collective {
 public:
  // Fits() must hold.
  GatheredReduce(const Context& context, const Arguments& arguments);
  static bool Fits(const Context& context, const Arguments& arguments);
  absl::StatusOr<bool> Advance() override;

 private:
  Context context_;
  const Arguments arguments_;
  std::unique_ptr<Collective> gather_;
  bool gathered_ = false;
  std::vector<const void*> sources_;  // in the staging memory, by rank
  Event folded_;
};

}  // namespace lockstep::collectives
