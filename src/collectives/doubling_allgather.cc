#include "src/collectives/doubling_allgather.h"

#include <algorithm>
#include <utility>

namespace lockstep::collectives {

DoublingAllGather::DoublingAllGather(const Context& context, const Arguments& arguments, Partition blocks)
    : context_(context),
      arguments_(arguments),
      blocks_(std::move(blocks)),
      element_bytes_(SizeOf(arguments.descriptor.dtype)) {}

std::array<Range, 2> DoublingAllGather::Runs(int first, int blocks) const {
  const int world = context_.world_size();
  first %= world;
  const auto run = [&](int begin, int end) -> Range {
    if (begin >= end) return {};
    const Range front = blocks_.block(begin), back = blocks_.block(end - 1);
    return {front.begin * element_bytes_, (back.begin + back.count - front.begin) * element_bytes_};
  };
  return {run(first, std::min(first + blocks, world)), run(0, first + blocks - world)};
}

void DoublingAllGather::BeginRound() {
  const int world = context_.world_size(), rank = context_.rank();
  const int moved = std::min(distance_, world - distance_);
  const std::array<Range, 2> outgoing = Runs(rank, moved), incoming = Runs(rank + distance_, moved);
  for (size_t i = 0; i < 2; ++i) {
    if (outgoing[i].count > 0)
      context_.transport->PostSend(
          transport::Lane::kCollective, (rank + world - distance_) % world, context_.tag,
          {arguments_.output + outgoing[i].begin, static_cast<size_t>(outgoing[i].count)}, &sends_[i]);
    if (incoming[i].count > 0)
      context_.transport->PostReceive(
          transport::Lane::kCollective, (rank + distance_) % world, context_.tag,
          {arguments_.output + incoming[i].begin, static_cast<size_t>(incoming[i].count)}, &receives_[i]);
  }
}

absl::StatusOr<bool> DoublingAllGather::Advance() {
  if (!own_copied_) {
    own_copied_ = true;
    const Range mine = blocks_.block(context_.rank());
    std::byte* place = arguments_.output + mine.begin * element_bytes_;
    if (place != arguments_.input && mine.count > 0) {
      context_.kernels->copy(context_.stream, place, arguments_.input, mine.count * element_bytes_);
      copied_ = context_.stream.Record();
    }
  }
  while (copied_.Done()) {
    for (const std::array<transport::Operation, 2>* operations : {&sends_, &receives_})
      for (const transport::Operation& operation : *operations) {
        if (!operation.done()) return false;
        LOCKSTEP_RETURN_IF_ERROR(operation.status());
      }
    distance_ = distance_ == 0 ? 1 : 2 * distance_;
    if (distance_ >= context_.world_size()) return true;
    BeginRound();
  }
  return false;
}

}  // namespace lockstep::collectives
