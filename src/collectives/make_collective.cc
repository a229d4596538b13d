#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "src/collectives/collective.h"
#include "src/collectives/direct_exchange.h"
#include "src/collectives/dissemination_barrier.h"
#include "src/collectives/local_copy.h"
#include "src/collectives/partition.h"
#include "src/collectives/recursive_doubling.h"
#include "src/collectives/ring.h"
#include "src/collectives/sequence.h"
#include "src/collectives/strict_reduce.h"
#include "src/collectives/tree.h"
#include "src/collectives/tree_broadcast.h"
#include "src/collectives/tree_reduce.h"

namespace lockstep::collectives {
namespace {

// The least staging memory that every algorithm can work with.
constexpr size_t kLeastScratch = 64 << 10;

int64_t RingChunk(const Context& context, DType dtype) {
  const int64_t room = static_cast<int64_t>(context.scratch.size()) / Ring::kSlots / 64 * 64;
  return std::min(context.chunk_bytes, room) / SizeOf(dtype);
}

// Blocks by counts where the call has them, else as even as it gets.
Partition Blocks(const Context& context, const Arguments& arguments, int64_t total, int64_t chunk) {
  if (!arguments.counts.empty()) return Partition(arguments.counts, chunk);
  return Partition::Even(total, context.world_size(), chunk);
}

std::unique_ptr<Collective> MakeRing(const Context& context, const Arguments& arguments, Ring::Part part,
                                     int64_t total) {
  const int64_t chunk = RingChunk(context, arguments.descriptor.dtype);
  return std::make_unique<Ring>(context, arguments, part, Blocks(context, arguments, total, chunk));
}

std::unique_ptr<Collective> MakeStrict(const Context& context, const Arguments& arguments) {
  const OpKind op = arguments.descriptor.op;
  const DType dtype = arguments.descriptor.dtype;
  const int64_t chunk = StrictReduce::ChunkElements(context, dtype);
  if (op == OpKind::kReduce) {
    std::vector<int64_t> owners(static_cast<size_t>(context.world_size()));
    owners[static_cast<size_t>(arguments.descriptor.root)] = arguments.input_count;
    return std::make_unique<StrictReduce>(context, arguments, Partition(owners, chunk), arguments.output);
  }
  Partition blocks = Blocks(context, arguments, arguments.input_count, chunk);
  if (op != OpKind::kAllReduce)
    return std::make_unique<StrictReduce>(context, arguments, std::move(blocks), arguments.output);
  const Range mine = blocks.block(context.rank());
  std::byte* own = arguments.output + mine.begin * SizeOf(dtype);
  Arguments gather = arguments;
  gather.input = own;
  return std::make_unique<Sequence>(
      std::make_unique<StrictReduce>(context, arguments, std::move(blocks), own),
      MakeRing(context, gather, Ring::Part::kAllGather, arguments.output_count));
}

std::unique_ptr<Collective> MakeByAlgorithm(const Context& context, const Arguments& arguments,
                                            Algorithm algorithm) {
  const int world = context.world_size(), rank = context.rank(), root = arguments.descriptor.root;
  const bool ring = algorithm == Algorithm::kRing;
  switch (arguments.descriptor.op) {
    case OpKind::kAllReduce:
      if (!ring) return std::make_unique<RecursiveDoubling>(context, arguments);
      return MakeRing(context, arguments, Ring::Part::kAllReduce, arguments.input_count);
    case OpKind::kAllGather:
    case OpKind::kAllGatherV:
      if (!ring) return DirectExchange::AllGather(context, arguments);
      return MakeRing(context, arguments, Ring::Part::kAllGather, arguments.output_count);
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return MakeRing(context, arguments, Ring::Part::kReduceScatter, arguments.input_count);
    case OpKind::kBroadcast:
      return std::make_unique<TreeBroadcast>(
          context, arguments, ring ? Chain(rank, world, root) : BinomialTree(rank, world, root));
    case OpKind::kReduce:
      return std::make_unique<TreeReduce>(context, arguments,
                                          ring ? Chain(rank, world, root) : BinomialTree(rank, world, root));
    case OpKind::kGather:
    case OpKind::kGatherV:
      return DirectExchange::Gather(context, arguments);
    case OpKind::kScatter:
    case OpKind::kScatterV:
      return DirectExchange::Scatter(context, arguments);
    case OpKind::kAllToAll:
    case OpKind::kAllToAllV:
      return DirectExchange::AllToAll(context, arguments);
    case OpKind::kBarrier:
    case OpKind::kSend:
    case OpKind::kRecv:
      break;
  }
  return std::make_unique<DisseminationBarrier>(context);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Collective>> MakeCollective(const Context& context, const Arguments& arguments,
                                                           Algorithm algorithm) {
  if (context.world_size() == 1) return std::make_unique<LocalCopy>(context, arguments);
  if (context.scratch.size() < kLeastScratch)
    return absl::ResourceExhaustedError(absl::StrCat("staging memory of ", context.scratch.size(),
                                                     " bytes is too small (at least ", kLeastScratch,
                                                     " are needed); raise LOCKSTEP_BUFFER_BYTES"));
  if (arguments.descriptor.determinism == Determinism::kStrict) return MakeStrict(context, arguments);
  return MakeByAlgorithm(context, arguments, algorithm);
}

}  // namespace lockstep::collectives
