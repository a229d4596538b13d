#pragma once

#include <cstdint>
#include <vector>

#include "src/collectives/collective.h"
#include "src/collectives/tree.h"

namespace lockstep::collectives {

// Reduce up a tree, in chunks: each rank combines what its children send with its own, in the order of its
// children, and sends the sum on.
//
// Cost for n bytes: log2(P) (alpha + n beta + n gamma) up a binomial tree; P alpha + n beta + n gamma and P
// chunks up a chain. Memory: a chunk for each child and one for the sum, kWindow times.
class TreeReduce : public Collective {
 public:
  // Chunks are of `chunk_bytes`, or less where the staging memory is small.
  TreeReduce(const Context& context, const Arguments& arguments, TreePlace place, int64_t chunk_bytes);
  absl::StatusOr<bool> Advance() override;

 private:
  static constexpr int64_t kWindow = 4;
  struct Lane {
    std::vector<transport::Operation> receives;  // one a child
    transport::Operation send;
    Event combined;
    bool posted = false, combining = false, sending = false;
    std::byte* memory = nullptr;  // a chunk for each child, then one for the sum
  };
  void Post(int64_t index, Lane& lane);
  void Combine(int64_t index, Lane& lane);
  // True when chunk `index` is over and its lane free.
  absl::StatusOr<bool> AdvanceChunk(int64_t index);
  int64_t Elements(int64_t index) const;
  std::byte* Sum(int64_t index, Lane& lane) const;

  Context context_;
  const Arguments arguments_;
  const TreePlace place_;
  const int64_t element_bytes_;
  const int64_t chunk_elements_;
  const int64_t chunks_;
  int64_t done_ = 0;
  std::vector<Lane> lanes_;
  std::vector<const void*> sources_;
};

}  // namespace lockstep::collectives
