#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tests/collectives/conformance.h"
#include "tests/collectives/small_float.h"

namespace lockstep::conformance {
namespace {

// Around each buffer: bytes that nobody may touch.
constexpr int64_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};
// What an output holds before: what nobody wrote shows.
constexpr std::byte kUnwritten{0x5a};

bool HasCounts(OpKind op) {
  return op == OpKind::kAllGatherV || op == OpKind::kReduceScatterV || op == OpKind::kGatherV ||
         op == OpKind::kScatterV;
}

}  // namespace

int64_t BlockCount(const Case& one, int from, int to) {
  const bool pairs = one.op == OpKind::kAllToAllV;
  if (!pairs && !HasCounts(one.op)) return one.count;
  const uint64_t hash = Mix(one.seed, static_cast<uint64_t>(from), pairs ? static_cast<uint64_t>(to) + 1 : 0);
  return hash % 4 == 0 ? 0 : static_cast<int64_t>((hash >> 8) % static_cast<uint64_t>(one.count + 1));
}

RankCall::RankCall(const Case& one, const Data& data, int rank)
    : case_(one), data_(data), rank_(rank), size_(SizeOf(one.dtype)) {
  const bool pairs = one.op == OpKind::kAllToAllV;
  for (int other = 0; other < one.world_size && (pairs || HasCounts(one.op)); ++other) {
    counts_.push_back(BlockCount(one, pairs ? rank : other, other));
    if (pairs) recv_counts_.push_back(BlockCount(one, other, rank));
  }
  Shape();
  Allocate();
  if (has_input_ && input_count_ > 0)
    std::memcpy(input_, data.input(rank), static_cast<size_t>(input_count_ * size_));
  if (one.op == OpKind::kBroadcast && rank == one.root && output_count_ > 0)
    std::memcpy(output_, data.input(rank), static_cast<size_t>(output_count_ * size_));
  const bool root_only = one.op == OpKind::kGatherV || one.op == OpKind::kScatterV;
  if (root_only && rank != one.root) counts_.clear();
}

int64_t RankCall::Offset(int rank) const {
  if (counts_.empty()) return rank * case_.count;
  return std::accumulate(counts_.begin(), counts_.begin() + rank, int64_t{0});
}

void RankCall::Shape() {
  const int64_t total = Offset(case_.world_size), mine = BlockCount(case_, rank_, rank_);
  const bool at_root = rank_ == case_.root;
  switch (case_.op) {
    case OpKind::kAllReduce:
      input_count_ = output_count_ = case_.count;
      break;
    case OpKind::kReduce:
      input_count_ = case_.count;
      output_count_ = at_root ? case_.count : 0;
      has_output_ = at_root;
      break;
    case OpKind::kBroadcast:
      output_count_ = case_.count;
      has_input_ = false;
      break;
    case OpKind::kAllGather:
    case OpKind::kAllGatherV:
      input_count_ = mine;
      output_count_ = total;
      input_offset_ = Offset(rank_);
      break;
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      input_count_ = total;
      output_count_ = mine;
      output_offset_ = Offset(rank_);
      break;
    case OpKind::kGather:
    case OpKind::kGatherV:
      input_count_ = mine;
      output_count_ = at_root ? total : 0;
      has_output_ = at_root;
      input_offset_ = Offset(rank_);
      break;
    case OpKind::kScatter:
    case OpKind::kScatterV:
      input_count_ = at_root ? total : 0;
      output_count_ = mine;
      has_input_ = at_root;
      output_offset_ = Offset(rank_);
      break;
    case OpKind::kAllToAll:
    case OpKind::kAllToAllV:
      input_count_ = total;
      output_count_ = recv_counts_.empty()
                          ? total
                          : std::accumulate(recv_counts_.begin(), recv_counts_.end(), int64_t{0});
      break;
    default:
      has_input_ = has_output_ = false;
      break;
  }
}

void RankCall::Allocate() {
  const auto place = [&](std::vector<std::byte>* memory, int64_t count) {
    memory->assign(static_cast<size_t>(2 * kGuardBytes + case_.misalignment + count * size_), kGuard);
    std::byte* begin = memory->data() + kGuardBytes + case_.misalignment;
    std::fill_n(begin, count * size_, kUnwritten);
    return begin;
  };
  if (case_.in_place && has_input_ && has_output_) {
    std::byte* whole = place(&output_memory_, std::max(input_count_, output_count_));
    input_ = whole + (input_count_ < output_count_ ? input_offset_ * size_ : 0);
    output_ = whole + (output_count_ < input_count_ ? output_offset_ * size_ : 0);
    return;
  }
  if (has_input_) input_ = place(&input_memory_, input_count_);
  if (has_output_) output_ = place(&output_memory_, output_count_);
}

std::string RankCall::Check() const {
  if (std::string problem = CheckGuards(); !problem.empty()) return problem;
  switch (case_.op) {
    case OpKind::kAllReduce:
    case OpKind::kReduce:
      return CheckRun(0, data_.reduced(), output_count_);
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterV:
      return CheckRun(0, data_.reduced() + output_offset_ * size_, output_count_);
    case OpKind::kBroadcast:
      return CheckRun(0, data_.input(case_.root), output_count_);
    case OpKind::kScatter:
    case OpKind::kScatterV:
      return CheckRun(0, data_.input(case_.root) + output_offset_ * size_, output_count_);
    default:
      break;
  }
  // Concatenations of one block from each rank.
  for (int64_t source = 0, begin = 0; begin < output_count_; ++source) {
    const int from = static_cast<int>(source);
    const int64_t count = BlockCount(case_, from, rank_);
    int64_t offset = 0;
    if (case_.op == OpKind::kAllToAll) offset = rank_ * case_.count;
    if (case_.op == OpKind::kAllToAllV)
      for (int to = 0; to < rank_; ++to) offset += BlockCount(case_, from, to);
    if (std::string problem = CheckRun(begin, data_.input(from) + offset * size_, count); !problem.empty())
      return problem;
    begin += count;
  }
  return "";
}

std::string RankCall::CheckRun(int64_t begin, const std::byte* expected, int64_t count) const {
  const bool exact = !Reduces(case_.op) || data_.tolerance() == 0 || !IsFloatingPoint(case_.dtype) ||
                     case_.determinism == Determinism::kStrict;
  if (count == 0 || std::memcmp(output_ + begin * size_, expected, static_cast<size_t>(count * size_)) == 0)
    return "";
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t got = LoadElement(output_, begin + i, size_), wanted = LoadElement(expected, i, size_);
    if (got == wanted) continue;
    if (!exact && UlpsBetween(FormatOf(case_.dtype), got, wanted) <= data_.tolerance()) continue;
    return absl::StrCat("rank ", rank_, " of ", ToString(case_), ": element ", begin + i, " of ",
                        output_count_, " is 0x", absl::Hex(got), ", not 0x", absl::Hex(wanted));
  }
  return "";
}

std::string RankCall::CheckGuards() const {
  const auto untouched = [](const std::byte* begin, const std::byte* end) {
    return std::all_of(begin, end, [](std::byte byte) { return byte == kGuard; });
  };
  for (const std::vector<std::byte>* memory : {&input_memory_, &output_memory_}) {
    if (memory->empty()) continue;
    const std::byte* data = memory->data();
    if (!untouched(data, data + kGuardBytes + case_.misalignment) ||
        !untouched(data + memory->size() - kGuardBytes, data + memory->size()))
      return absl::StrCat("rank ", rank_, " of ", ToString(case_), ": wrote beside a buffer");
  }
  if (input_memory_.empty() || input_count_ == 0) return "";
  if (std::memcmp(input_, data_.input(rank_), static_cast<size_t>(input_count_ * size_)) == 0) return "";
  return absl::StrCat("rank ", rank_, " of ", ToString(case_), ": the input was changed");
}

}  // namespace lockstep::conformance
