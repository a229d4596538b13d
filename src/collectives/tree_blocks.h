#pragma once

#include <cstdint>
#include <vector>

#include "src/collectives/collective.h"
#include "src/collectives/partition.h"

namespace lockstep::collectives {

// Gather or scatter of equal blocks along a binomial tree: for blocks so small that the root's P-1 messages
// cost more than sending bytes several times.
//
// Ranks are counted from the root. A rank's subtree is a run of ranks that begins with itself, and one
// message carries the blocks of a subtree; two where the run goes over the last rank to rank 0, so that what
// the root sends and receives lies side by side in its buffer. Ranks between root and leaves keep their
// subtree's blocks in the staging memory meanwhile.
//
// Cost for n bytes at the root: ceil(log2 P) alpha + n (P-1)/P beta. Memory: n/2. Source: Chan, Heimlich,
// Purkayastha, van de Geijn, Collective communication: theory, practice, and experience, 2007.
class TreeBlocks : public Collective {
 public:
  enum class Direction { kGather, kScatter };
  // Fits() must hold.
  TreeBlocks(const Context& context, const Arguments& arguments, Direction direction);
  // Whether the staging memory has room for the blocks. The same on every rank.
  static bool Fits(const Context& context, const Descriptor& call);
  absl::StatusOr<bool> Advance() override;

 private:
  enum class Phase { kBegin, kReceive, kCopyOwn, kSend, kDone };
  struct Piece {
    int peer = 0;
    std::byte* data = nullptr;
    int64_t bytes = 0;
  };
  // The pieces that hold the blocks of `size` ranks from `relative` on.
  void AddPieces(int peer, int relative, int size, std::vector<Piece>* pieces) const;
  // Where this rank keeps the block of a rank of its subtree.
  std::byte* Place(int relative) const;
  int SubtreeSize(int relative) const;
  void Post(const std::vector<Piece>& pieces, bool send);
  absl::StatusOr<bool> Posted() const;
  void CopyOwn();

  Context context_;
  const Arguments arguments_;
  const Direction direction_;
  const int world_;
  const int root_;
  const int relative_;  // this rank, counted from the root
  const int64_t block_bytes_;
  std::byte* const own_;    // the block as the user has it, or wants it
  std::byte* const whole_;  // at the root: all blocks by rank
  std::vector<Piece> up_, down_;
  std::vector<transport::Operation> operations_;
  Phase phase_ = Phase::kBegin;
  Event copied_;
};

}  // namespace lockstep::collectives
