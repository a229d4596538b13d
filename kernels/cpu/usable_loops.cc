#include <vector>

#include "kernels/cpu/loops.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lockstep::kernels {
namespace {

#if defined(__x86_64__)
// Asked for by number: not every compiler's __builtin_cpu_supports() knows the name.
bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

std::vector<const Loops*> FindUsableLoops() {
  std::vector<const Loops*> loops = {&kBaselineLoops};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.1")) loops.push_back(&kSse4Loops);
  // Each name implies that the system saves the registers.
  if (__builtin_cpu_supports("avx2") && HasF16c()) {
    loops.push_back(&kAvx2Loops);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
      loops.push_back(&kAvx512Loops);
  }
#endif
  return loops;
}

}  // namespace

absl::Span<const Loops* const> UsableLoops() {
  static const std::vector<const Loops*> usable = FindUsableLoops();
  return usable;
}

}  // namespace lockstep::kernels
