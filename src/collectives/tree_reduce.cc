#include "src/collectives/tree_reduce.h"

#include <algorithm>
#include <utility>

namespace lockstep::collectives {
namespace {

// As large as asked for, as far as the staging memory of all lanes allows. The same on every rank, whatever
// the number of its own children.
int64_t ChunkElements(int64_t chunk_bytes, const Context& context, int64_t element_bytes,
                      int64_t chunks_at_once) {
  const int64_t room = static_cast<int64_t>(context.scratch.size()) / chunks_at_once;
  return std::max<int64_t>(1, std::min(chunk_bytes, room / 64 * 64) / element_bytes);
}

}  // namespace

TreeReduce::TreeReduce(const Context& context, const Arguments& arguments, TreePlace place,
                       int64_t chunk_bytes)
    : context_(context),
      arguments_(arguments),
      place_(std::move(place)),
      element_bytes_(SizeOf(arguments.descriptor.dtype)),
      chunk_elements_(
          ChunkElements(chunk_bytes, context, element_bytes_, kWindow * (place_.most_children + 1))),
      chunks_((arguments.input_count + chunk_elements_ - 1) / chunk_elements_),
      lanes_(kWindow) {
  std::byte* memory = context_.scratch.data();
  for (Lane& lane : lanes_) {
    lane.receives = std::vector<transport::Operation>(place_.children.size());
    lane.memory = memory;
    memory += static_cast<int64_t>(place_.children.size() + 1) * chunk_elements_ * element_bytes_;
  }
  sources_.reserve(place_.children.size() + 1);
}

int64_t TreeReduce::Elements(int64_t index) const {
  return std::min(chunk_elements_, arguments_.input_count - index * chunk_elements_);
}

std::byte* TreeReduce::Sum(int64_t index, Lane& lane) const {
  if (place_.parent < 0) return arguments_.output + index * chunk_elements_ * element_bytes_;
  return lane.memory + static_cast<int64_t>(place_.children.size()) * chunk_elements_ * element_bytes_;
}

absl::StatusOr<bool> TreeReduce::Advance() {
  for (;;) {
    // The window's chunks are posted ahead; they end in order.
    for (int64_t index = done_; index < std::min(chunks_, done_ + kWindow); ++index) {
      Lane& lane = lanes_[static_cast<size_t>(index % kWindow)];
      if (!lane.posted) Post(index, lane);
    }
    if (done_ == chunks_) return true;
    LOCKSTEP_ASSIGN_OR_RETURN(const bool over, AdvanceChunk(done_));
    if (!over) return false;
    lanes_[static_cast<size_t>(done_ % kWindow)].posted = false;
    ++done_;
  }
}

void TreeReduce::Post(int64_t index, Lane& lane) {
  lane.posted = true;
  lane.combining = lane.sending = false;
  const auto bytes = static_cast<size_t>(Elements(index) * element_bytes_);
  for (size_t child = 0; child < place_.children.size(); ++child)
    context_.transport->PostReceive(
        transport::Lane::kCollective, place_.children[child], context_.tag,
        {lane.memory + static_cast<int64_t>(child) * chunk_elements_ * element_bytes_, bytes},
        &lane.receives[child]);
}

void TreeReduce::Combine(int64_t index, Lane& lane) {
  const Descriptor& call = arguments_.descriptor;
  sources_.assign(1, arguments_.input + index * chunk_elements_ * element_bytes_);
  for (size_t child = 0; child < place_.children.size(); ++child)
    sources_.push_back(lane.memory + static_cast<int64_t>(child) * chunk_elements_ * element_bytes_);
  const double divisor = place_.parent < 0 && call.reduce_op == ReduceOp::kAvg ? context_.world_size() : 1;
  context_.kernels->reduce(context_.stream, call.dtype, call.reduce_op, Sum(index, lane), sources_,
                           Elements(index), divisor);
  lane.combined = context_.stream.Record();
  lane.combining = true;
}

absl::StatusOr<bool> TreeReduce::AdvanceChunk(int64_t index) {
  Lane& lane = lanes_[static_cast<size_t>(index % kWindow)];
  for (const transport::Operation& receive : lane.receives) {
    if (!receive.done()) return false;
    LOCKSTEP_RETURN_IF_ERROR(receive.status());
  }
  const bool leaf = place_.children.empty();
  if (!leaf && !lane.combining) Combine(index, lane);
  if (!leaf && !lane.combined.Done()) return false;
  if (place_.parent < 0) return true;
  if (!lane.sending) {
    const std::byte* data =
        leaf ? arguments_.input + index * chunk_elements_ * element_bytes_ : Sum(index, lane);
    context_.transport->PostSend(transport::Lane::kCollective, place_.parent, context_.tag,
                                 {data, static_cast<size_t>(Elements(index) * element_bytes_)}, &lane.send);
    lane.sending = true;
  }
  if (!lane.send.done()) return false;
  LOCKSTEP_RETURN_IF_ERROR(lane.send.status());
  return true;
}

}  // namespace lockstep::collectives
