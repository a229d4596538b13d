#include "examples/nn/vector_kernels_variants.h"

namespace lockstep::nn {
namespace {

#include "examples/nn/vector_kernels.inc"

}  // namespace

VectorKernels BaselineKernels() { return Table("baseline"); }

}  // namespace lockstep::nn
