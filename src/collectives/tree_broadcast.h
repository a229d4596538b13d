#pragma once

#include <cstdint>
#include <vector>

#include "src/collectives/collective.h"
#include "src/collectives/tree.h"

namespace lockstep::collectives {

// Broadcast down a tree, in chunks: a chunk goes on to the children as soon as it is here.
//
// Cost for n bytes: log2(P) (alpha + n beta) down a binomial tree, P alpha + n beta and P chunks down a
// chain.
class TreeBroadcast : public Collective {
 public:
  TreeBroadcast(const Context& context, const Arguments& arguments, TreePlace place, int64_t chunk_bytes);
  absl::StatusOr<bool> Advance() override;

 private:
  static constexpr int64_t kWindow = 4;
  int64_t ChunkBytes(int64_t index) const;
  std::byte* ChunkMemory(int64_t index) const { return arguments_.output + index * chunk_bytes_; }
  transport::Operation& SendOf(int64_t index, size_t child) {
    return sends_[static_cast<size_t>(index % kWindow) * place_.children.size() + child];
  }
  absl::StatusOr<bool> Receive();
  absl::StatusOr<bool> Forward();

  Context context_;
  const Arguments arguments_;
  const TreePlace place_;
  const int64_t bytes_;
  const int64_t chunk_bytes_;
  const int64_t chunks_;
  int64_t receives_posted_ = 0, received_ = 0;
  int64_t sends_posted_ = 0, sent_ = 0;
  std::vector<transport::Operation> receives_;
  std::vector<transport::Operation> sends_;
};

}  // namespace lockstep::collectives
