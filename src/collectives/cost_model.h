#pragma once

#include <cstdint>

#include "src/collectives/descriptor.h"

namespace lockstep::collectives {

// What the algorithms cost by their formulas (docs/algorithms.md), in microseconds, for a message (the
// wake-up of its receiver included), a byte on the wire and a byte of arithmetic over TCP. Only ratios
// matter: where two algorithms cost the same. Each formula is continuous in bytes and grows by at most its
// slope with the world size, and so does the least of several: no choice makes the cost jump.
struct CostModel {
  static constexpr double kAlpha = 25;
  static constexpr double kBeta = 1.0 / 3000;
  static constexpr double kGamma = 1.0 / 6000;
  // What distant pairs of ranks that all exchange at once lose, compared with neighbours: nothing for two
  // ranks, up to half of the bandwidth for many.
  static double Contention(double world) { return 2 - 2 / world; }

  // `bytes`: of the whole vector, `world`: ranks, more than one.
  static double Ring(double bytes, double world, double steps_per_rank);
  static double RecursiveDoubling(double bytes, double world);
  static double HalvingDoubling(double bytes, double world);
  static double DoublingAllGather(double bytes, double world);
  static double BinomialTree(double bytes, double world);
  static double Chain(double bytes, double world);
  static double DirectBlocks(double bytes, double world);
  static double TreeBlocks(double bytes, double world);
  static double StrictScatter(double bytes, double world);
  static double GatheredReduce(double bytes, double world);
};

// The chunk that makes a chain of `world` ranks fastest for `bytes`: more chunks cost messages, fewer leave
// more ranks waiting. At most `largest`.
int64_t ChainChunkBytes(int64_t bytes, int world, int64_t largest);

}  // namespace lockstep::collectives
