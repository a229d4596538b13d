#include <algorithm>

#include "src/collectives/collective.h"
#include "src/collectives/cost_model.h"

namespace lockstep::collectives {
namespace {

struct Candidate {
  Algorithm algorithm;
  double cost;
};

Algorithm Cheapest(std::initializer_list<Candidate> candidates) {
  return std::min_element(candidates.begin(), candidates.end(),
                          [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; })
      ->algorithm;
}

bool Fits(OpKind op, Algorithm algorithm) {
  switch (op) {
    case OpKind::kAllReduce:
      return algorithm == Algorithm::kRing || algorithm == Algorithm::kRecursiveDoubling ||
             algorithm == Algorithm::kHalvingDoubling;
    case OpKind::kAllGather:
    case OpKind::kAllGatherV:
      return algorithm == Algorithm::kRing || algorithm == Algorithm::kRecursiveDoubling ||
             algorithm == Algorithm::kDirect;
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return algorithm == Algorithm::kRing || algorithm == Algorithm::kRecursiveDoubling;
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      return algorithm == Algorithm::kTree || algorithm == Algorithm::kRing;
    case OpKind::kGather:
    case OpKind::kScatter:
      return algorithm == Algorithm::kTree || algorithm == Algorithm::kDirect;
    default:
      return algorithm == Algorithm::kDirect;
  }
}

// Bytes of the vector of an allreduce, or of all blocks together.
double TotalBytes(const Descriptor& call, double world) {
  const double bytes = static_cast<double>(call.count) * static_cast<double>(SizeOf(call.dtype));
  switch (call.op) {
    case OpKind::kAllGather:
    case OpKind::kReduceScatter:
    case OpKind::kGather:
    case OpKind::kScatter:
      return bytes * world;
    default:
      return bytes;
  }
}

}  // namespace

Algorithm Choose(const Descriptor& call, int world_size) {
  if (call.algorithm != Algorithm::kAuto && Fits(call.op, call.algorithm)) return call.algorithm;
  if (world_size < 2) return Algorithm::kDirect;
  const double world = world_size, bytes = TotalBytes(call, world);
  switch (call.op) {
    case OpKind::kAllReduce:
      return Cheapest({{Algorithm::kRecursiveDoubling, CostModel::RecursiveDoubling(bytes, world)},
                       {Algorithm::kHalvingDoubling, CostModel::HalvingDoubling(bytes, world)},
                       {Algorithm::kRing, CostModel::Ring(bytes, world, 2)}});
    case OpKind::kAllGather:
    case OpKind::kAllGatherV:
      return Cheapest({{Algorithm::kRecursiveDoubling, CostModel::DoublingAllGather(bytes, world)},
                       {Algorithm::kRing, CostModel::Ring(bytes, world, 1)}});
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return Cheapest({{Algorithm::kRecursiveDoubling, CostModel::RecursiveDoubling(bytes, world)},
                       {Algorithm::kRing, CostModel::Ring(bytes, world, 1)}});
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      return Cheapest({{Algorithm::kTree, CostModel::BinomialTree(bytes, world)},
                       {Algorithm::kRing, CostModel::Chain(bytes, world)}});
    case OpKind::kGather:
    case OpKind::kScatter:
      return Cheapest({{Algorithm::kTree, CostModel::TreeBlocks(bytes, world)},
                       {Algorithm::kDirect, CostModel::DirectBlocks(bytes, world)}});
    default:
      return Algorithm::kDirect;
  }
}

}  // namespace lockstep::collectives
