#include "src/collectives/tree_blocks.h"

#include <algorithm>

namespace lockstep::collectives {
namespace {

// Transports take what they send as it is; a Piece has one pointer for both directions.
std::byte* Writable(const std::byte* data) { return const_cast<std::byte*>(data); }

}  // namespace

bool TreeBlocks::Fits(const Context& context, const Descriptor& call) {
  return call.count <=
         static_cast<int64_t>(context.scratch.size()) / context.world_size() / SizeOf(call.dtype);
}

TreeBlocks::TreeBlocks(const Context& context, const Arguments& arguments, Direction direction)
    : context_(context),
      arguments_(arguments),
      direction_(direction),
      world_(context.world_size()),
      root_(arguments.descriptor.root),
      relative_((context.rank() - root_ + world_) % world_),
      block_bytes_(arguments.descriptor.count * SizeOf(arguments.descriptor.dtype)),
      own_(direction == Direction::kGather ? Writable(arguments.input) : arguments.output),
      whole_(direction == Direction::kGather ? arguments.output : Writable(arguments.input)) {
  const int reach = relative_ == 0 ? world_ : relative_ & -relative_;
  for (int bit = 1; bit < reach && relative_ + bit < world_; bit *= 2)
    AddPieces((context.rank() + bit) % world_, relative_ + bit, SubtreeSize(relative_ + bit), &down_);
  if (relative_ != 0)
    AddPieces((context.rank() - (relative_ & -relative_) + world_) % world_, relative_,
              SubtreeSize(relative_), &up_);
  operations_ = std::vector<transport::Operation>(std::max(up_.size(), down_.size()));
}

int TreeBlocks::SubtreeSize(int relative) const { return std::min(relative & -relative, world_ - relative); }

std::byte* TreeBlocks::Place(int relative) const {
  if (relative_ == 0) return whole_ + (relative + root_) % world_ * block_bytes_;
  // A leaf has nothing to keep for others.
  if (SubtreeSize(relative_) == 1) return own_;
  return context_.scratch.data() + (relative - relative_) * block_bytes_;
}

void TreeBlocks::AddPieces(int peer, int relative, int size, std::vector<Piece>* pieces) const {
  // The rank that is 0 in absolute terms begins a new piece.
  const int wrap = std::clamp(world_ - root_ - relative, 0, size);
  const int first = wrap == 0 ? size : wrap;
  pieces->push_back({peer, Place(relative), first * block_bytes_});
  if (first < size) pieces->push_back({peer, Place(relative + first), (size - first) * block_bytes_});
}

void TreeBlocks::Post(const std::vector<Piece>& pieces, bool send) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const auto bytes = static_cast<size_t>(piece.bytes);
    if (send) {
      context_.transport->PostSend(transport::Lane::kCollective, piece.peer, context_.tag,
                                   {piece.data, bytes}, &operations_[i]);
    } else {
      context_.transport->PostReceive(transport::Lane::kCollective, piece.peer, context_.tag,
                                      {piece.data, bytes}, &operations_[i]);
    }
  }
}

absl::StatusOr<bool> TreeBlocks::Posted() const {
  for (const transport::Operation& operation : operations_) {
    if (!operation.done()) return false;
    LOCKSTEP_RETURN_IF_ERROR(operation.status());
  }
  return true;
}

void TreeBlocks::CopyOwn() {
  std::byte* place = Place(relative_);
  if (place == own_ || block_bytes_ == 0) return;
  const bool gather = direction_ == Direction::kGather;
  context_.kernels->copy(context_.stream, gather ? place : own_, gather ? own_ : place, block_bytes_);
  copied_ = context_.stream.Record();
}

absl::StatusOr<bool> TreeBlocks::Advance() {
  const bool gather = direction_ == Direction::kGather;
  for (;;) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool posted, Posted());
    if (!posted || !copied_.Done()) return false;
    switch (phase_) {
      case Phase::kBegin:
        Post(gather ? down_ : up_, /*send=*/false);
        phase_ = Phase::kReceive;
        break;
      case Phase::kReceive:
        CopyOwn();
        phase_ = Phase::kCopyOwn;
        break;
      case Phase::kCopyOwn:
        Post(gather ? up_ : down_, /*send=*/true);
        phase_ = Phase::kSend;
        break;
      case Phase::kSend:
        phase_ = Phase::kDone;
        break;
      case Phase::kDone:
        return true;
    }
  }
}

}  // namespace lockstep::collectives
