#include <cmath>

#include "src/collectives/collective.h"

namespace lockstep::collectives {
namespace {

// A message and a byte over TCP between hosts of a cluster, and a byte of arithmetic, in microseconds. Only
// ratios matter here: where two algorithms cost the same.
constexpr double kAlpha = 15, kBeta = 1.0 / 3000, kGamma = 1.0 / 6000;

double Log2Ceil(double p) { return std::ceil(std::log2(p)); }

Algorithm AllReduceFor(double bytes, double p) {
  const double doubling = Log2Ceil(p) * (kAlpha + bytes * (kBeta + kGamma));
  const double ring = 2 * (p - 1) * kAlpha + bytes * (p - 1) / p * (2 * kBeta + kGamma);
  return doubling <= ring ? Algorithm::kRecursiveDoubling : Algorithm::kRing;
}

Algorithm AllGatherFor(double bytes, double p) {
  // The bytes are the same; direct messages all start at once, but each rank then talks to all others.
  return bytes <= 16384 && p <= 64 ? Algorithm::kDirect : Algorithm::kRing;
}

Algorithm RootedFor(double bytes, double p) {
  const double tree = Log2Ceil(p) * (kAlpha + bytes * kBeta);
  const double chain = p * kAlpha + bytes * kBeta + p * 262144 * kBeta;
  return tree <= chain ? Algorithm::kTree : Algorithm::kRing;
}

bool Fits(OpKind op, Algorithm algorithm) {
  switch (op) {
    case OpKind::kAllReduce:
      return algorithm == Algorithm::kRing || algorithm == Algorithm::kRecursiveDoubling;
    case OpKind::kAllGather:
    case OpKind::kAllGatherV:
      return algorithm == Algorithm::kRing || algorithm == Algorithm::kDirect;
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return algorithm == Algorithm::kRing;
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      return algorithm == Algorithm::kTree || algorithm == Algorithm::kRing;
    default:
      return algorithm == Algorithm::kDirect;
  }
}

}  // namespace

Algorithm Choose(const Descriptor& call, int world_size) {
  if (call.algorithm != Algorithm::kAuto && Fits(call.op, call.algorithm)) return call.algorithm;
  const double bytes = static_cast<double>(call.count) * static_cast<double>(SizeOf(call.dtype));
  const double p = world_size;
  switch (call.op) {
    case OpKind::kAllReduce:
      return AllReduceFor(bytes, p);
    case OpKind::kAllGather:
      return AllGatherFor(bytes, p);
    case OpKind::kAllGatherV:
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return Algorithm::kRing;
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      return RootedFor(bytes, p);
    default:
      return Algorithm::kDirect;
  }
}

}  // namespace lockstep::collectives
