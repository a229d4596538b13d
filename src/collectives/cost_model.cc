#include "src/collectives/cost_model.h"

#include <algorithm>
#include <cmath>

namespace lockstep::collectives {
namespace {

// Messages that a chain's chunk should at least be worth.
constexpr double kSmallestChunk = 16384;

double CeilLog2(double world) { return std::ceil(std::log2(world)); }
double FloorLog2(double world) { return std::floor(std::log2(world)); }

// Two more messages of everything where the world is no power of two.
double FoldIn(double bytes, double world) {
  if (std::exp2(FloorLog2(world)) == world) return 0;
  return 2 * (CostModel::kAlpha + bytes * CostModel::kBeta) + bytes * CostModel::kGamma;
}

double ChainChunk(double bytes, double world) {
  const double best = std::sqrt(bytes * CostModel::kAlpha / CostModel::kBeta / std::max(world - 2, 1.0));
  return std::min(bytes, std::max(best, kSmallestChunk));
}

}  // namespace

double CostModel::Ring(double bytes, double world, double steps_per_rank) {
  // Arithmetic is hidden behind the wire.
  return steps_per_rank * (world - 1) * (kAlpha + bytes / world * kBeta);
}

double CostModel::RecursiveDoubling(double bytes, double world) {
  return FloorLog2(world) * (kAlpha + bytes * (kBeta * Contention(world) + kGamma)) + FoldIn(bytes, world);
}

double CostModel::HalvingDoubling(double bytes, double world) {
  const double share = 1 - std::exp2(-FloorLog2(world));
  return 2 * FloorLog2(world) * kAlpha + bytes * share * (2 * kBeta * Contention(world) + kGamma) +
         FoldIn(bytes, world);
}

double CostModel::DoublingAllGather(double bytes, double world) {
  return CeilLog2(world) * kAlpha + bytes * (world - 1) / world * kBeta * Contention(world);
}

double CostModel::BinomialTree(double bytes, double world) {
  return CeilLog2(world) * (kAlpha + bytes * kBeta);
}

double CostModel::Chain(double bytes, double world) {
  if (bytes == 0) return (world - 1) * kAlpha;
  const double chunk = ChainChunk(bytes, world);
  return (world - 2 + std::max(bytes / chunk, 1.0)) * (kAlpha + chunk * kBeta);
}

double CostModel::DirectBlocks(double bytes, double world) {
  return (world - 1) * (kAlpha / 4 + bytes / world * kBeta);  // messages of one port overlap
}

double CostModel::TreeBlocks(double bytes, double world) {
  // Bytes are copied on the way, too.
  return CeilLog2(world) * kAlpha + bytes * (world - 1) / world * (kBeta * Contention(world) + kGamma);
}

double CostModel::StrictScatter(double bytes, double world) {
  return Ring(bytes, world, 2) + bytes * (world - 1) / world * kGamma;
}

double CostModel::GatheredReduce(double bytes, double world) {
  return CeilLog2(world) * kAlpha + bytes * (world - 1) * (kBeta * Contention(world) + kGamma);
}

int64_t ChainChunkBytes(int64_t bytes, int world, int64_t largest) {
  const auto chunk = static_cast<int64_t>(ChainChunk(static_cast<double>(bytes), world));
  return std::clamp<int64_t>(chunk / 64 * 64, std::min<int64_t>(4096, largest), largest);
}

}  // namespace lockstep::collectives
