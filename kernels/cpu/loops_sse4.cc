#define LOCKSTEP_LOOPS kSse4Loops
#define LOCKSTEP_LOOPS_NAME "sse4"
#include "kernels/cpu/loops.inc"
