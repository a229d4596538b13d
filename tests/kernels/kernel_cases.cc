#include "tests/kernels/kernel_cases.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"

namespace lockstep::kernels {
namespace {

constexpr int64_t kGuardBytes = 256;
constexpr char kGuard = 0x5a;

// The bits of a float format's special values; for integers, of its extremes.
std::vector<uint64_t> SpecialBits(DType dtype) {
  const int64_t bits = 8 * SizeOf(dtype);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  int mantissa = 0;
  switch (dtype) {
    case DType::kF32:
      mantissa = 23;
      break;
    case DType::kF64:
      mantissa = 52;
      break;
    case DType::kF16:
      mantissa = 10;
      break;
    case DType::kBF16:
      mantissa = 7;
      break;
    case DType::kF8E4M3:
      mantissa = 3;
      break;
    case DType::kF8E5M2:
      mantissa = 2;
      break;
    default:
      return {0, 1, sign - 1, sign, sign + 1, sign | (sign - 1)};
  }
  const uint64_t infinity = (sign - 1) >> mantissa << mantissa;
  const uint64_t smallest_normal = uint64_t{1} << mantissa;
  std::vector<uint64_t> positive = {0,
                                    1,
                                    smallest_normal - 1,
                                    smallest_normal,
                                    infinity - 1,
                                    infinity,
                                    infinity + 1,
                                    infinity | (smallest_normal >> 1),
                                    sign - 1,
                                    smallest_normal / 2};
  std::vector<uint64_t> all = positive;
  for (const uint64_t value : positive) all.push_back(value | sign);
  return all;
}

}  // namespace

std::vector<KernelCase> AllKernelCases() {
  std::vector<KernelCase> cases;
  for (const Loops* loops : UsableLoops())
    for (int d = 0; d < kDTypeCount; ++d) cases.push_back({static_cast<DType>(d), loops});
  return cases;
}

std::string NameOf(const KernelCase& kernel_case) {
  return absl::StrCat(std::string(Name(kernel_case.dtype)), "_", kernel_case.loops->name);
}

Elements::Elements(DType dtype, int64_t count, int misalignment)
    : begin_(0),
      bytes_count_(count * SizeOf(dtype)),
      bytes_(static_cast<size_t>(bytes_count_ + 2 * kGuardBytes + 64), kGuard) {
  const auto address = reinterpret_cast<uintptr_t>(bytes_.data() + kGuardBytes);
  begin_ = kGuardBytes + static_cast<int64_t>((64 - address % 64) % 64) + misalignment;
}

bool Elements::GuardsHold() const {
  const auto is_guard = [](char byte) { return byte == kGuard; };
  return std::all_of(bytes_.begin(), bytes_.begin() + begin_, is_guard) &&
         std::all_of(bytes_.begin() + begin_ + bytes_count_, bytes_.end(), is_guard);
}

void FillWithEverything(Elements& run, DType dtype, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<uint64_t> special = SpecialBits(dtype);
  const int64_t size = SizeOf(dtype);
  // A run of exponents around 1 in the type's own bits: 3/8 to 1/2 of all ones.
  const uint64_t one = (uint64_t{1} << (8 * size - 2)) - (uint64_t{1} << (8 * size - 5));
  for (int64_t offset = 0; offset < run.bytes(); offset += size) {
    const uint64_t draw = random();
    uint64_t bits = random();
    if (draw % 8 == 0) bits = special[(draw >> 8) % special.size()];
    if (draw % 8 >= 4)
      bits = one + bits % (uint64_t{1} << (8 * size - 4)) + ((draw >> 8) % 2 << (8 * size - 1));
    std::memcpy(run.data() + offset, &bits, static_cast<size_t>(size));
  }
}

std::string Difference(const char* got, const std::vector<char>& expected, DType dtype) {
  if (expected.empty() || std::memcmp(got, expected.data(), expected.size()) == 0) return "";
  const auto size = static_cast<size_t>(SizeOf(dtype));
  for (size_t offset = 0; offset < expected.size(); offset += size) {
    uint64_t got_bits = 0, expected_bits = 0;
    std::memcpy(&got_bits, got + offset, size);
    std::memcpy(&expected_bits, expected.data() + offset, size);
    if (got_bits != expected_bits)
      return absl::StrCat("element ", offset / size, " of ", expected.size() / size, ": got 0x",
                          absl::Hex(got_bits), ", expected 0x", absl::Hex(expected_bits));
  }
  return "";
}

}  // namespace lockstep::kernels
