#include "src/collectives/direct_exchange.h"

#include <algorithm>
#include <utility>

namespace lockstep::collectives {
namespace {

using Transfer = DirectExchange::Transfer;

Transfer Send(int peer, const std::byte* source, int64_t bytes) {
  return {peer, source, nullptr, bytes, true};
}
Transfer Receive(int peer, std::byte* destination, int64_t bytes) {
  return {peer, nullptr, destination, bytes, false};
}

// Byte offset and length of each rank's part: by counts, or all of `even` elements.
class Layout {
 public:
  Layout(const std::vector<int64_t>& counts, int64_t even, int world, int64_t element_bytes) {
    int64_t offset = 0;
    for (int rank = 0; rank < world; ++rank) {
      const int64_t bytes = (counts.empty() ? even : counts[static_cast<size_t>(rank)]) * element_bytes;
      parts_.emplace_back(offset, bytes);
      offset += bytes;
    }
  }
  int64_t offset(int rank) const { return parts_[static_cast<size_t>(rank)].first; }
  int64_t bytes(int rank) const { return parts_[static_cast<size_t>(rank)].second; }

 private:
  std::vector<std::pair<int64_t, int64_t>> parts_;
};

}  // namespace

DirectExchange::DirectExchange(const Context& context, std::vector<Transfer> transfers, Transfer own)
    : context_(context),
      transfers_(std::move(transfers)),
      own_(own),
      operations_(std::min(kWindow, transfers_.size())) {}

std::unique_ptr<Collective> DirectExchange::Gather(const Context& context, const Arguments& arguments) {
  const int world = context.world_size(), rank = context.rank(), root = arguments.descriptor.root;
  const int64_t size = SizeOf(arguments.descriptor.dtype);
  std::vector<Transfer> transfers;
  Transfer own;
  if (rank != root) {
    transfers.push_back(Send(root, arguments.input, arguments.input_count * size));
  } else {
    const Layout layout(arguments.counts, arguments.input_count, world, size);
    for (int step = 1; step < world; ++step) {
      const int peer = (root + step) % world;
      transfers.push_back(Receive(peer, arguments.output + layout.offset(peer), layout.bytes(peer)));
    }
    own = {rank, arguments.input, arguments.output + layout.offset(rank), layout.bytes(rank), false};
  }
  return std::unique_ptr<Collective>(new DirectExchange(context, std::move(transfers), own));
}

std::unique_ptr<Collective> DirectExchange::Scatter(const Context& context, const Arguments& arguments) {
  const int world = context.world_size(), rank = context.rank(), root = arguments.descriptor.root;
  const int64_t size = SizeOf(arguments.descriptor.dtype);
  std::vector<Transfer> transfers;
  Transfer own;
  if (rank != root) {
    transfers.push_back(Receive(root, arguments.output, arguments.output_count * size));
  } else {
    const Layout layout(arguments.counts, arguments.output_count, world, size);
    for (int step = 1; step < world; ++step) {
      const int peer = (root + step) % world;
      transfers.push_back(Send(peer, arguments.input + layout.offset(peer), layout.bytes(peer)));
    }
    own = {rank, arguments.input + layout.offset(rank), arguments.output, layout.bytes(rank), false};
  }
  return std::unique_ptr<Collective>(new DirectExchange(context, std::move(transfers), own));
}

std::unique_ptr<Collective> DirectExchange::AllToAll(const Context& context, const Arguments& arguments) {
  const int world = context.world_size(), rank = context.rank();
  const int64_t size = SizeOf(arguments.descriptor.dtype);
  const Layout out(arguments.counts, arguments.input_count / world, world, size);
  const Layout in(arguments.recv_counts, arguments.output_count / world, world, size);
  std::vector<Transfer> transfers;
  for (int step = 1; step < world; ++step) {
    const int to = (rank + step) % world, from = (rank + world - step) % world;
    transfers.push_back(Receive(from, arguments.output + in.offset(from), in.bytes(from)));
    transfers.push_back(Send(to, arguments.input + out.offset(to), out.bytes(to)));
  }
  const Transfer own = {rank, arguments.input + out.offset(rank), arguments.output + in.offset(rank),
                        in.bytes(rank), false};
  return std::unique_ptr<Collective>(new DirectExchange(context, std::move(transfers), own));
}

std::unique_ptr<Collective> DirectExchange::AllGather(const Context& context, const Arguments& arguments) {
  const int world = context.world_size(), rank = context.rank();
  const int64_t size = SizeOf(arguments.descriptor.dtype);
  const Layout layout(arguments.counts, arguments.input_count, world, size);
  std::vector<Transfer> transfers;
  for (int step = 1; step < world; ++step) {
    const int to = (rank + step) % world, from = (rank + world - step) % world;
    transfers.push_back(Receive(from, arguments.output + layout.offset(from), layout.bytes(from)));
    transfers.push_back(Send(to, arguments.input, layout.bytes(rank)));
  }
  const Transfer own = {rank, arguments.input, arguments.output + layout.offset(rank), layout.bytes(rank),
                        false};
  return std::unique_ptr<Collective>(new DirectExchange(context, std::move(transfers), own));
}

absl::StatusOr<bool> DirectExchange::Advance() {
  if (!own_copied_) {
    own_copied_ = true;
    if (own_.destination != nullptr && own_.destination != own_.source && own_.bytes > 0) {
      context_.kernels->copy(context_.stream, own_.destination, own_.source, own_.bytes);
      copied_ = context_.stream.Record();
    }
  }
  for (;;) {
    for (; posted_ < transfers_.size() && posted_ - done_ < operations_.size(); ++posted_) {
      const Transfer& transfer = transfers_[posted_];
      transport::Operation* operation = &operations_[posted_ % operations_.size()];
      const auto bytes = static_cast<size_t>(transfer.bytes);
      if (transfer.is_send) {
        context_.transport->PostSend(transport::Lane::kCollective, transfer.peer, context_.tag,
                                     {transfer.source, bytes}, operation);
      } else {
        context_.transport->PostReceive(transport::Lane::kCollective, transfer.peer, context_.tag,
                                        {transfer.destination, bytes}, operation);
      }
    }
    if (done_ == transfers_.size()) return copied_.Done();
    const transport::Operation& oldest = operations_[done_ % operations_.size()];
    if (!oldest.done()) return false;
    LOCKSTEP_RETURN_IF_ERROR(oldest.status());
    ++done_;
  }
}

}  // namespace lockstep::collectives
