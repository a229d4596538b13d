#include "tests/collectives/conformance.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::conformance {
namespace {

constexpr OpKind kOps[] = {OpKind::kAllReduce,      OpKind::kReduce,    OpKind::kReduceScatter,
                           OpKind::kReduceScatterV, OpKind::kAllGather, OpKind::kAllGatherV,
                           OpKind::kBroadcast,      OpKind::kGather,    OpKind::kGatherV,
                           OpKind::kScatter,        OpKind::kScatterV,  OpKind::kAllToAll,
                           OpKind::kAllToAllV,      OpKind::kBarrier};
// From here on, a case runs in place or out of place, not both.
constexpr int64_t kLargeCount = 10000;

// Vectors of all blocks together stay about as long as the vector of an allreduce.
int64_t BlockFor(OpKind op, int64_t count, int world_size) {
  const bool whole = op == OpKind::kAllReduce || op == OpKind::kReduce || op == OpKind::kBroadcast;
  return whole || count < kLargeCount ? count : count / world_size + 1;
}

std::vector<Algorithm> AlgorithmsFor(OpKind op) {
  switch (op) {
    case OpKind::kAllReduce:
      return {Algorithm::kRing, Algorithm::kRecursiveDoubling, Algorithm::kHalvingDoubling, Algorithm::kAuto};
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return {Algorithm::kRing, Algorithm::kRecursiveDoubling, Algorithm::kAuto};
    case OpKind::kAllGather:
    case OpKind::kAllGatherV:
      return {Algorithm::kRing, Algorithm::kRecursiveDoubling, Algorithm::kDirect};
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      return {Algorithm::kRing, Algorithm::kTree, Algorithm::kAuto};
    case OpKind::kGather:
    case OpKind::kScatter:
      return {Algorithm::kDirect, Algorithm::kTree};
    default:
      return {Algorithm::kAuto};
  }
}

std::vector<ReduceOp> ReduceOpsFor(OpKind op, DType dtype) {
  if (!Reduces(op)) return {ReduceOp::kSum};
  std::vector<ReduceOp> ops = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProd};
  if (IsFloatingPoint(dtype)) ops.push_back(ReduceOp::kAvg);
  return ops;
}

// The cases of one operation on one set of data: algorithms, counts, and variants in turn.
int64_t ForEachVariant(const Matrix& matrix, Case one, const Data& data,
                       absl::FunctionRef<void(const Case&, const Data&)> body) {
  int64_t cases = 0;
  for (int64_t count : matrix.counts) {
    one.count = BlockFor(one.op, count, one.world_size);
    for (Algorithm algorithm : AlgorithmsFor(one.op)) {
      one.algorithm = algorithm;
      for (Determinism determinism : {Determinism::kFast, Determinism::kStrict}) {
        if (determinism == Determinism::kStrict && !Reduces(one.op)) continue;
        one.determinism = determinism;
        const uint64_t hash = Mix(one.seed, static_cast<uint64_t>(count),
                                  static_cast<uint64_t>(algorithm) * 2 + static_cast<uint64_t>(determinism));
        one.root = static_cast<int>(hash % static_cast<uint64_t>(one.world_size));
        const bool both = count < kLargeCount;
        const bool can =
            one.op != OpKind::kAllToAll && one.op != OpKind::kAllToAllV && one.op != OpKind::kBroadcast;
        for (bool in_place : {false, true}) {
          if (in_place ? !can || (!both && (hash >> 20) % 2 == 0) : can && !both && (hash >> 20) % 2 == 1)
            continue;
          one.in_place = in_place;
          one.misalignment =
              (hash >> (in_place ? 30 : 31)) % 2 == 0 ? 0 : 1 + static_cast<int>((hash >> 40) % 7);
          body(one, data);
          ++cases;
        }
        if (one.op == OpKind::kBarrier) return cases;
      }
    }
  }
  return cases;
}

}  // namespace

bool HasRoot(OpKind op) {
  return op == OpKind::kBroadcast || op == OpKind::kReduce || op == OpKind::kGather ||
         op == OpKind::kGatherV || op == OpKind::kScatter || op == OpKind::kScatterV;
}

std::string ToString(const Case& one) {
  std::string text = absl::StrCat(Name(one.op), " ", Name(one.dtype), " x ", one.count);
  if (Reduces(one.op)) absl::StrAppend(&text, " ", Name(one.reduce_op));
  if (one.determinism == Determinism::kStrict) absl::StrAppend(&text, " strict");
  absl::StrAppend(&text, " by ", Name(one.algorithm), " on ", one.world_size, " ranks");
  if (HasRoot(one.op)) absl::StrAppend(&text, " root ", one.root);
  absl::StrAppend(&text, one.in_place ? " in place" : "", " misaligned by ", one.misalignment, " seed ",
                  one.seed);
  return text;
}

int64_t DataCount(const Case& one) {
  const bool whole =
      one.op == OpKind::kAllReduce || one.op == OpKind::kReduce || one.op == OpKind::kBroadcast;
  return whole ? one.count : one.count * one.world_size;
}

int64_t ForEachCase(const Matrix& matrix, absl::FunctionRef<void(const Case&, const Data&)> body) {
  std::vector<DType> dtypes = matrix.dtypes;
  if (dtypes.empty())
    for (int i = 0; i < kDTypeCount; ++i) dtypes.push_back(static_cast<DType>(i));
  const std::vector<OpKind> ops =
      matrix.ops.empty() ? std::vector<OpKind>(std::begin(kOps), std::end(kOps)) : matrix.ops;
  int64_t cases = 0;
  for (int world_size : matrix.world_sizes) {
    int64_t longest = 0;
    for (int64_t count : matrix.counts)
      for (OpKind op : ops) {
        Case one{.op = op, .world_size = world_size, .count = BlockFor(op, count, world_size)};
        longest = std::max(longest, DataCount(one));
      }
    for (DType dtype : dtypes)
      for (int kind = 0; kind <= kReduceOpCount; ++kind) {
        // The last kind: operations that only move data.
        const bool moves = kind == kReduceOpCount;
        const ReduceOp reduce_op = moves ? ReduceOp::kSum : static_cast<ReduceOp>(kind);
        const Data data(dtype, reduce_op, moves ? Pattern::kRaw : matrix.pattern, world_size, longest,
                        matrix.seed);
        for (OpKind op : ops) {
          const std::vector<ReduceOp> fitting = ReduceOpsFor(op, dtype);
          if (Reduces(op) == moves || std::find(fitting.begin(), fitting.end(), reduce_op) == fitting.end())
            continue;
          const uint64_t seed =
              Mix(matrix.seed, static_cast<uint64_t>(op) * 16 + static_cast<uint64_t>(dtype),
                  static_cast<uint64_t>(kind) * 4096 + static_cast<uint64_t>(world_size));
          cases += ForEachVariant(
              matrix,
              {.op = op, .dtype = dtype, .reduce_op = reduce_op, .world_size = world_size, .seed = seed},
              data, body);
        }
      }
  }
  return cases;
}

Case RandomCase(uint64_t seed, int world_size, int64_t largest_count) {
  const auto draw = [&](uint64_t what, uint64_t bound) { return Mix(seed, what, 77) % bound; };
  Case one;
  one.op = kOps[draw(1, std::size(kOps))];
  one.dtype = static_cast<DType>(draw(2, kDTypeCount));
  const std::vector<ReduceOp> reduce_ops = ReduceOpsFor(one.op, one.dtype);
  one.reduce_op = reduce_ops[draw(3, reduce_ops.size())];
  const std::vector<Algorithm> algorithms = AlgorithmsFor(one.op);
  one.algorithm = algorithms[draw(4, algorithms.size())];
  if (Reduces(one.op) && draw(5, 4) == 0) one.determinism = Determinism::kStrict;
  one.world_size = world_size;
  one.root = static_cast<int>(draw(6, static_cast<uint64_t>(world_size)));
  // Short, middling and long ones alike.
  const int64_t scale = std::max<int64_t>(1, largest_count >> (2 * draw(7, 8)));
  one.count = BlockFor(one.op, static_cast<int64_t>(draw(8, static_cast<uint64_t>(scale) + 1)), world_size);
  one.in_place = draw(9, 2) == 0 && one.op != OpKind::kAllToAll && one.op != OpKind::kAllToAllV;
  one.misalignment = static_cast<int>(draw(10, 8));
  one.seed = seed;
  return one;
}

Data DataFor(const Case& one, Pattern pattern) {
  return Data(one.dtype, one.reduce_op, Reduces(one.op) ? pattern : Pattern::kRaw, one.world_size,
              DataCount(one), one.seed);
}

}  // namespace lockstep::conformance
