#include "examples/nn/vector_kernels.h"

#include "examples/nn/vector_kernels_variants.h"

namespace lockstep::nn {
namespace {

VectorKernels Choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return Avx512Kernels();
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2Kernels();
#endif
  return BaselineKernels();
}

}  // namespace

const VectorKernels& BestVectorKernels() {
  static const VectorKernels best = Choose();
  return best;
}

}  // namespace lockstep::nn
