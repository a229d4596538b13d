#include "examples/nn/vector_kernels_variants.h"

namespace lockstep::nn {
namespace {

#include "examples/nn/vector_kernels.inc"

}  // namespace

VectorKernels Avx512Kernels() { return Table("avx512"); }

}  // namespace lockstep::nn
