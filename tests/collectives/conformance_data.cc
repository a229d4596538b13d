#include "tests/collectives/conformance_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/collectives/small_float.h"

namespace lockstep::conformance {
namespace {

// All integers up to here are exact in the type.
int64_t ExactRange(DType dtype) { return int64_t{1} << (FormatOf(dtype).mantissa_bits + 1); }

// Among `world_size` ranks, one in so many has a say at each position, another one at the next: then the
// results of at most `budget` ranks come together.
bool HasSay(int rank, int64_t index, int world_size, int64_t budget) {
  const int64_t stride = std::max<int64_t>(1, (world_size + budget - 1) / budget);
  return (rank + index) % stride == 0;
}

bool IsSigned(DType dtype) { return dtype != DType::kU8; }

uint64_t Truncate(DType dtype, uint64_t value) {
  const int bits = static_cast<int>(8 * SizeOf(dtype));
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

int64_t SignExtend(DType dtype, uint64_t value) {
  if (!IsSigned(dtype)) return static_cast<int64_t>(value);
  const int shift = 64 - static_cast<int>(8 * SizeOf(dtype));
  return static_cast<int64_t>(value << shift) >> shift;
}

uint64_t CombineIntegers(DType dtype, ReduceOp op, uint64_t a, uint64_t b) {
  switch (op) {
    case ReduceOp::kMin:
      return SignExtend(dtype, a) < SignExtend(dtype, b) ? a : b;
    case ReduceOp::kMax:
      return SignExtend(dtype, a) > SignExtend(dtype, b) ? a : b;
    case ReduceOp::kProd:
      return Truncate(dtype, a * b);
    default:
      return Truncate(dtype, a + b);
  }
}

// minimum and maximum of IEEE 754-2019: NaN wins, and -0 is less than +0.
double CombineFloats(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kMin:
    case ReduceOp::kMax: {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
      const bool a_less = a < b || (a == b && std::signbit(a));
      return a_less == (op == ReduceOp::kMin) ? a : b;
    }
    case ReduceOp::kProd:
      return a * b;
    default:
      return a + b;
  }
}

}  // namespace

uint64_t Mix(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t z = a * 0x9e3779b97f4a7c15 + b * 0xc2b2ae3d27d4eb4f + c * 0x165667b19e3779f9;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Data::Data(DType dtype, ReduceOp op, Pattern pattern, int world_size, int64_t count, uint64_t seed)
    : dtype_(dtype), op_(op), pattern_(pattern), world_size_(world_size), count_(count), seed_(seed) {
  const int64_t size = SizeOf(dtype);
  inputs_.resize(static_cast<size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) {
    std::vector<std::byte>& input = inputs_[static_cast<size_t>(rank)];
    input.resize(static_cast<size_t>(count * size));
    for (int64_t i = 0; i < count; ++i) StoreElement(input.data(), i, size, Value(rank, i));
  }
  if (pattern != Pattern::kRaw) Reduce();
}

uint64_t Data::Value(int rank, int64_t index) const {
  const uint64_t hash = Mix(seed_, static_cast<uint64_t>(rank), static_cast<uint64_t>(index));
  if (pattern_ == Pattern::kRaw) return Truncate(dtype_, hash);
  if (!IsFloatingPoint(dtype_)) return Truncate(dtype_, IntegerValue(rank, index, hash));
  const FloatFormat format = FormatOf(dtype_);
  if (pattern_ == Pattern::kSpecial) {
    // A NaN other than the canonical one, an infinity, a zero; where two meet is a matter of chance.
    const uint64_t sign = (hash >> 40) % 2 << (format.exponent_bits + format.mantissa_bits);
    const uint64_t choice = (hash >> 48) % static_cast<uint64_t>(4 * world_size_);
    if (choice == 0) return sign | (format.canonical_nan | (format.has_infinity ? 1 : 0));
    if (choice <= 2) return sign | EncodeFloat(format, std::numeric_limits<double>::infinity());
    if (choice <= 4) return sign;
  }
  return EncodeFloat(format, FloatValue(rank, index, hash));
}

uint64_t Data::IntegerValue(int, int64_t, uint64_t hash) const {
  // Odd factors, or products would soon be 0.
  return op_ == ReduceOp::kProd && hash % 64 != 0 ? hash | 1 : hash;
}

double Data::FloatValue(int rank, int64_t index, uint64_t hash) const {
  const double sign = (hash & 1) != 0 ? -1 : 1;
  const auto draw = static_cast<int64_t>(hash >> 11);
  if (pattern_ == Pattern::kRounded)
    return sign * std::ldexp(1.0 + static_cast<double>(draw) * 0x1p-53, static_cast<int>(hash % 5) - 2);
  switch (op_) {
    case ReduceOp::kProd:
      return HasSay(rank, index, world_size_, 4) ? sign * std::ldexp(1.0, static_cast<int>(draw % 3) - 1)
                                                 : sign;
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      if (draw % 16 == 0) return sign * 0.0;
      return sign * static_cast<double>(draw % ExactRange(dtype_)) / 4;
    default: {
      const int64_t budget = std::min<int64_t>(ExactRange(dtype_), int64_t{1} << 40);
      if (budget >= world_size_) return sign * static_cast<double>(draw % (budget / world_size_ + 1)) + 0.0;
      return HasSay(rank, index, world_size_, budget) ? sign : 0.0;
    }
  }
}

void Data::Reduce() {
  const int64_t size = SizeOf(dtype_);
  const FloatFormat format = FormatOf(dtype_);
  const bool floating = IsFloatingPoint(dtype_);
  reduced_.resize(static_cast<size_t>(count_ * size));
  for (int64_t i = 0; i < count_; ++i) {
    uint64_t bits = LoadElement(input(0), i, size);
    double value = floating ? DecodeFloat(format, bits) : 0;
    for (int rank = 1; rank < world_size_; ++rank) {
      const uint64_t next = LoadElement(input(rank), i, size);
      if (floating) {
        value = CombineFloats(op_, value, DecodeFloat(format, next));
        // The fold is in f32 for all but f64.
        if (dtype_ != DType::kF64) value = static_cast<float>(value);
      } else {
        bits = CombineIntegers(dtype_, op_, bits, next);
      }
    }
    if (op_ == ReduceOp::kAvg) value /= world_size_;
    if (dtype_ != DType::kF64) value = static_cast<float>(value);
    StoreElement(reduced_.data(), i, size, floating ? EncodeFloat(format, value) : bits);
  }
}

}  // namespace lockstep::conformance
