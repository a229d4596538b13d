#define LOCKSTEP_LOOPS kBaselineLoops
#define LOCKSTEP_LOOPS_NAME "baseline"
#include "kernels/cpu/loops.inc"
