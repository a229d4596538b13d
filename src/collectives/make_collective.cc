#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "src/collectives/collective.h"
#include "src/collectives/cost_model.h"
#include "src/collectives/direct_exchange.h"
#include "src/collectives/dissemination_barrier.h"
#include "src/collectives/doubling_allgather.h"
#include "src/collectives/gathered_reduce.h"
#include "src/collectives/halving_doubling.h"
#include "src/collectives/local_copy.h"
#include "src/collectives/partition.h"
#include "src/collectives/recursive_doubling.h"
#include "src/collectives/ring.h"
#include "src/collectives/sequence.h"
#include "src/collectives/small_reduce_scatter.h"
#include "src/collectives/strict_reduce.h"
#include "src/collectives/tree.h"
#include "src/collectives/tree_blocks.h"
#include "src/collectives/tree_broadcast.h"
#include "src/collectives/tree_reduce.h"

namespace lockstep::collectives {
namespace {

// The least staging memory that every algorithm can work with.
constexpr size_t kLeastScratch = 64 << 10;

// Two chunks a block at least, so that arithmetic and wire overlap in middling vectors too.
constexpr int64_t kChunksPerBlock = 2;
constexpr int64_t kSmallestRingChunk = 32 << 10;

// Blocks by counts where the call has them, else as even as it gets; chunks of so many elements.
Partition Blocks(const Context& context, const Arguments& arguments, int64_t total, int64_t chunk_elements) {
  if (!arguments.counts.empty()) return Partition(arguments.counts, chunk_elements);
  return Partition::Even(total, context.world_size(), chunk_elements);
}

std::unique_ptr<Collective> MakeRing(const Context& context, const Arguments& arguments, Ring::Part part,
                                     int64_t total) {
  const int64_t size = SizeOf(arguments.descriptor.dtype);
  const int64_t wanted =
      std::max(kSmallestRingChunk, total / context.world_size() / kChunksPerBlock * size / 64 * 64);
  const int64_t chunk = std::min(Ring::SlotBytes(context), wanted) / size;
  return std::make_unique<Ring>(context, arguments, part, Blocks(context, arguments, total, chunk));
}

std::unique_ptr<Collective> MakeAllReduce(const Context& context, const Arguments& arguments,
                                          Algorithm algorithm) {
  if (algorithm == Algorithm::kRecursiveDoubling)
    return std::make_unique<RecursiveDoubling>(context, arguments);
  if (algorithm == Algorithm::kHalvingDoubling) return std::make_unique<HalvingDoubling>(context, arguments);
  return MakeRing(context, arguments, Ring::Part::kAllReduce, arguments.input_count);
}

std::unique_ptr<Collective> MakeAllGather(const Context& context, const Arguments& arguments,
                                          Algorithm algorithm) {
  if (algorithm == Algorithm::kDirect) return DirectExchange::AllGather(context, arguments);
  if (algorithm == Algorithm::kRecursiveDoubling)
    return std::make_unique<DoublingAllGather>(
        context, arguments, Blocks(context, arguments, arguments.output_count, arguments.output_count + 1));
  return MakeRing(context, arguments, Ring::Part::kAllGather, arguments.output_count);
}

std::unique_ptr<Collective> MakeReduceScatter(const Context& context, const Arguments& arguments,
                                              Algorithm algorithm) {
  if (algorithm == Algorithm::kRecursiveDoubling && SmallReduceScatter::Fits(context, arguments)) {
    const Partition blocks = Blocks(context, arguments, arguments.input_count, arguments.input_count + 1);
    return std::make_unique<SmallReduceScatter>(context, arguments, blocks.block(context.rank()));
  }
  return MakeRing(context, arguments, Ring::Part::kReduceScatter, arguments.input_count);
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
  const double bytes = static_cast<double>(arguments.input_count) * static_cast<double>(SizeOf(dtype));
  if (GatheredReduce::Fits(context, arguments) && CostModel::GatheredReduce(bytes, context.world_size()) <=
                                                      CostModel::StrictScatter(bytes, context.world_size()))
    return std::make_unique<GatheredReduce>(context, arguments);
  const Range mine = blocks.block(context.rank());
  std::byte* own = arguments.output + mine.begin * SizeOf(dtype);
  Arguments gather = arguments;
  gather.input = own;
  return std::make_unique<Sequence>(
      std::make_unique<StrictReduce>(context, arguments, std::move(blocks), own),
      MakeRing(context, gather, Ring::Part::kAllGather, arguments.output_count));
}

// Broadcast and reduce: along a chain in chunks (kRing), or a binomial tree.
std::unique_ptr<Collective> MakeRooted(const Context& context, const Arguments& arguments,
                                       Algorithm algorithm) {
  const int world = context.world_size(), rank = context.rank(), root = arguments.descriptor.root;
  const bool chain = algorithm == Algorithm::kRing;
  const int64_t bytes = arguments.descriptor.count * SizeOf(arguments.descriptor.dtype);
  const int64_t chunk = chain ? ChainChunkBytes(bytes, world, context.chunk_bytes) : context.chunk_bytes;
  TreePlace place = chain ? Chain(rank, world, root) : BinomialTree(rank, world, root);
  if (arguments.descriptor.op == OpKind::kBroadcast)
    return std::make_unique<TreeBroadcast>(context, arguments, std::move(place), chunk);
  return std::make_unique<TreeReduce>(context, arguments, std::move(place), chunk);
}

std::unique_ptr<Collective> MakeByAlgorithm(const Context& context, const Arguments& arguments,
                                            Algorithm algorithm) {
  const bool tree = algorithm == Algorithm::kTree && TreeBlocks::Fits(context, arguments.descriptor);
  switch (arguments.descriptor.op) {
    case OpKind::kAllReduce:
      return MakeAllReduce(context, arguments, algorithm);
    case OpKind::kAllGather:
    case OpKind::kAllGatherV:
      return MakeAllGather(context, arguments, algorithm);
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return MakeReduceScatter(context, arguments, algorithm);
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      return MakeRooted(context, arguments, algorithm);
    case OpKind::kGather:
      if (tree) return std::make_unique<TreeBlocks>(context, arguments, TreeBlocks::Direction::kGather);
      return DirectExchange::Gather(context, arguments);
    case OpKind::kScatter:
      if (tree) return std::make_unique<TreeBlocks>(context, arguments, TreeBlocks::Direction::kScatter);
      return DirectExchange::Scatter(context, arguments);
    case OpKind::kGatherV:
      return DirectExchange::Gather(context, arguments);
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
