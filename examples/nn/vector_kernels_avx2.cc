#include "examples/nn/vector_kernels_variants.h"

namespace lockstep::nn {
namespace {

#include "examples/nn/vector_kernels.inc"

}  // namespace

VectorKernels Avx2Kernels() { return Table("avx2"); }

}  // namespace lockstep::nn
