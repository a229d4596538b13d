#include "src/collectives/tree_broadcast.h"

#include <algorithm>
#include <utility>

namespace lockstep::collectives {

TreeBroadcast::TreeBroadcast(const Context& context, const Arguments& arguments, TreePlace place,
                             int64_t chunk_bytes)
    : context_(context),
      arguments_(arguments),
      place_(std::move(place)),
      bytes_(arguments.output_count * SizeOf(arguments.descriptor.dtype)),
      chunk_bytes_(chunk_bytes),
      chunks_((bytes_ + chunk_bytes_ - 1) / chunk_bytes_),
      receives_(kWindow),
      sends_(kWindow * place_.children.size()) {
  if (place_.parent < 0) received_ = receives_posted_ = chunks_;
}

int64_t TreeBroadcast::ChunkBytes(int64_t index) const {
  return std::min(chunk_bytes_, bytes_ - index * chunk_bytes_);
}

absl::StatusOr<bool> TreeBroadcast::Advance() {
  for (bool again = true; again;) {
    LOCKSTEP_ASSIGN_OR_RETURN(again, Receive());
    LOCKSTEP_ASSIGN_OR_RETURN(const bool forwarded, Forward());
    again |= forwarded;
  }
  return received_ == chunks_ && sent_ == chunks_;
}

absl::StatusOr<bool> TreeBroadcast::Receive() {
  bool moved = false;
  for (; received_ < receives_posted_; ++received_, moved = true) {
    const transport::Operation& receive = receives_[static_cast<size_t>(received_ % kWindow)];
    if (!receive.done()) break;
    LOCKSTEP_RETURN_IF_ERROR(receive.status());
  }
  for (; receives_posted_ < chunks_ && receives_posted_ - received_ < kWindow;
       ++receives_posted_, moved = true)
    context_.transport->PostReceive(
        transport::Lane::kCollective, place_.parent, context_.tag,
        {ChunkMemory(receives_posted_), static_cast<size_t>(ChunkBytes(receives_posted_))},
        &receives_[static_cast<size_t>(receives_posted_ % kWindow)]);
  return moved;
}

absl::StatusOr<bool> TreeBroadcast::Forward() {
  bool moved = false;
  for (; sent_ < sends_posted_; ++sent_, moved = true)
    for (size_t child = 0; child < place_.children.size(); ++child) {
      if (!SendOf(sent_, child).done()) return moved;
      LOCKSTEP_RETURN_IF_ERROR(SendOf(sent_, child).status());
    }
  for (; sends_posted_ < received_ && sends_posted_ - sent_ < kWindow; ++sends_posted_, moved = true)
    for (size_t child = 0; child < place_.children.size(); ++child)
      context_.transport->PostSend(
          transport::Lane::kCollective, place_.children[child], context_.tag,
          {ChunkMemory(sends_posted_), static_cast<size_t>(ChunkBytes(sends_posted_))},
          &SendOf(sends_posted_, child));
  return moved;
}

}  // namespace lockstep::collectives
