#include "examples/nn/vector_kernels.h"

#include "examples/nn/vector_kernels_variants.h"

namespace lockstep::nn {

std::vector<VectorKernels> SupportedVectorKernels() {
  std::vector<VectorKernels> supported = {BaselineKernels()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) supported.push_back(Avx2Kernels());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    supported.push_back(Avx512Kernels());
  }
#endif
  return supported;
}

const VectorKernels& BestVectorKernels() {
  static const VectorKernels best = SupportedVectorKernels().back();
  return best;
}

}  // namespace lockstep::nn
