#pragma once

#include <cstdint>

namespace lockstep::transport::sim {

// SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014): the same numbers on
// every platform, unlike the distributions of <random>.
class SimRandom {
 public:
  explicit SimRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Below `bound`, which is not 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // In [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace lockstep::transport::sim
