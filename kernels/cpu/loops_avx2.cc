#define LOCKSTEP_LOOPS kAvx2Loops
#define LOCKSTEP_LOOPS_NAME "avx2"
#include "kernels/cpu/loops.inc"
