#pragma once

#include "examples/nn/vector_kernels.h"

namespace lockstep::nn {

// One table for each instruction set; CMakeLists.txt gives each file its compiler flags. The last two are
// built on x86-64 only, and run only on machines that have the instructions.
VectorKernels BaselineKernels();
VectorKernels Avx2Kernels();
VectorKernels Avx512Kernels();

}  // namespace lockstep::nn
