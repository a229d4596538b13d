#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/loops.h"
#include "lockstep/dtype.h"

namespace lockstep::kernels {

// What the kernels' tests run over: each dtype on each instruction set that the processor has.
struct KernelCase {
  DType dtype;
  const Loops* loops;
};
std::vector<KernelCase> AllKernelCases();
std::string NameOf(const KernelCase& kernel_case);

// `count` elements that lie where nothing is aligned to more than a byte, with guard bytes around them.
class Elements {
 public:
  Elements(DType dtype, int64_t count, int misalignment);
  char* data() { return bytes_.data() + begin_; }
  const char* data() const { return bytes_.data() + begin_; }
  int64_t bytes() const { return bytes_count_; }
  // False if something wrote beside the elements.
  bool GuardsHold() const;

 private:
  int64_t begin_, bytes_count_;
  std::vector<char> bytes_;
};

// Elements of every kind, by seed: all magnitudes, special values (NaNs with payloads, infinities, subnormal
// numbers, both zeros, the extremes of integers), and numbers close enough to each other for rounding to
// matter.
void FillWithEverything(Elements& run, DType dtype, uint64_t seed);

// "" when both hold the same bytes; else where they differ first.
std::string Difference(const char* got, const std::vector<char>& expected, DType dtype);

}  // namespace lockstep::kernels
