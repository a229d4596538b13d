#include "src/comm/call_arguments.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"

namespace lockstep::comm {
namespace {

using collectives::Arguments;
using collectives::OpKind;

bool Rooted(OpKind op) {
  return op == OpKind::kBroadcast || op == OpKind::kReduce || op == OpKind::kGather ||
         op == OpKind::kGatherV || op == OpKind::kScatter || op == OpKind::kScatterV ||
         collectives::IsPointToPoint(op);
}

class Checker {
 public:
  Checker(const Call& call, int rank, int world_size) : call_(call), rank_(rank), world_size_(world_size) {}

  absl::Status CheckViews() const {
    if (call_.has_input) LOCKSTEP_RETURN_IF_ERROR(CheckView("input", call_.input));
    if (call_.has_output) LOCKSTEP_RETURN_IF_ERROR(CheckView("output", call_.output));
    if (call_.has_input && call_.has_output) {
      if (call_.input.dtype != call_.output.dtype)
        return Wrong(
            absl::StrCat("input is ", Name(call_.input.dtype), " but output is ", Name(call_.output.dtype)));
      if (!(call_.input.device == call_.output.device))
        return Wrong(absl::StrCat("input is on ", ToString(call_.input.device), " but output on ",
                                  ToString(call_.output.device)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckOp() const {
    if (Reduces(call_.op) && call_.reduce_op == ReduceOp::kAvg && !IsFloatingPoint(call_.input.dtype))
      return Wrong(
          absl::StrCat("avg of ", Name(call_.input.dtype), " is not defined (use sum and divide yourself)"));
    if (Rooted(call_.op) && (call_.root < 0 || call_.root >= world_size_))
      return Wrong(absl::StrCat(collectives::IsPointToPoint(call_.op) ? "peer " : "root ", call_.root,
                                " is not a rank (there are ", world_size_, ")"));
    if (collectives::IsPointToPoint(call_.op) && call_.root == rank_)
      return Wrong("a rank cannot send to itself (copy the buffer instead)");
    return absl::OkStatus();
  }

  absl::Status CheckCounts(const char* name, absl::Span<const int64_t> counts) const {
    if (static_cast<int>(counts.size()) != world_size_)
      return Wrong(
          absl::StrCat(name, " has ", counts.size(), " entries, one a rank (", world_size_, ") is needed"));
    int64_t sum = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] < 0) return Wrong(absl::StrCat(name, "[", i, "] is negative (", counts[i], ")"));
      if (__builtin_add_overflow(sum, counts[i], &sum))
        return Wrong(absl::StrCat("the sum of ", name, " overflows"));
    }
    return absl::OkStatus();
  }

  absl::Status Expect(const char* name, int64_t count, int64_t expected, const char* why) const {
    if (count == expected) return absl::OkStatus();
    return Wrong(absl::StrCat(name, " has ", count, " elements, ", expected, " are needed (", why, ")"));
  }

  // Memory may be shared only when the input starts exactly at `shared` elements into the output, or the
  // output at that offset into the input.
  absl::Status CheckOverlap(bool allowed, int64_t input_offset, int64_t output_offset) const {
    if (!call_.has_input || !call_.has_output || call_.input.bytes() == 0 || call_.output.bytes() == 0)
      return absl::OkStatus();
    const auto input = reinterpret_cast<uintptr_t>(call_.input.data);
    const auto output = reinterpret_cast<uintptr_t>(call_.output.data);
    const auto input_bytes = static_cast<uintptr_t>(call_.input.bytes());
    const auto output_bytes = static_cast<uintptr_t>(call_.output.bytes());
    if (input + input_bytes <= output || output + output_bytes <= input) return absl::OkStatus();
    const int64_t size = SizeOf(call_.input.dtype);
    if (allowed && input + static_cast<uintptr_t>(input_offset * size) ==
                       output + static_cast<uintptr_t>(output_offset * size))
      return absl::OkStatus();
    return Wrong(allowed
                     ? "input and output overlap, but not in the in-place form that communicator.h describes"
                     : "input and output overlap (this operation cannot run in place)");
  }

  absl::Status Wrong(const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(collectives::Name(call_.op), " on rank ", rank_, ": ", what));
  }

 private:
  template <typename View>
  absl::Status CheckView(const char* name, const View& view) const {
    if (view.count < 0) return Wrong(absl::StrCat(name, " has a negative count (", view.count, ")"));
    if (view.count > std::numeric_limits<int64_t>::max() / 16 / world_size_)
      return Wrong(absl::StrCat(name, " is too large (", view.count, " elements)"));
    if (view.data == nullptr && view.count > 0) return Wrong(absl::StrCat(name, " has no memory"));
    if (view.device.kind == DeviceKind::kCuda)
      return absl::UnimplementedError(absl::StrCat(
          collectives::Name(call_.op), " on rank ", rank_, ": ", name, " is on ", ToString(view.device),
          " (this version reduces host memory only; copy it to the host first)"));
    return absl::OkStatus();
  }

  const Call& call_;
  const int rank_;
  const int world_size_;
};

int64_t Sum(absl::Span<const int64_t> counts, int until) {
  return std::accumulate(counts.begin(), counts.begin() + until, int64_t{0});
}

// FNV-1a over the counts.
uint64_t HashCounts(absl::Span<const int64_t> counts) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t count : counts)
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ ((static_cast<uint64_t>(count) >> shift) & 0xff)) * 0x100000001b3;
  return hash;
}

// The elements a rank that all ranks must agree on.
int64_t AgreedCount(const Call& call, int world_size) {
  switch (call.op) {
    case OpKind::kAllReduce:
    case OpKind::kAllGather:
    case OpKind::kReduce:
    case OpKind::kGather:
    case OpKind::kSend:
      return call.input.count;
    case OpKind::kReduceScatter:
    case OpKind::kBroadcast:
    case OpKind::kScatter:
    case OpKind::kRecv:
      return call.output.count;
    case OpKind::kAllToAll:
      return call.input.count / world_size;
    case OpKind::kAllGatherV:
      return call.output.count;
    case OpKind::kReduceScatterV:
      return call.input.count;
    default:
      return 0;
  }
}

absl::Status CheckSizes(const Checker& check, const Call& call, int rank, int world_size) {
  const int64_t in = call.input.count, out = call.output.count;
  const bool at_root = rank == call.root;
  switch (call.op) {
    case OpKind::kAllReduce:
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("output", out, in, "as many as input"));
      return check.CheckOverlap(true, 0, 0);
    case OpKind::kAllGather:
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("output", out, in * world_size, "world size x input"));
      return check.CheckOverlap(true, 0, rank * in);
    case OpKind::kAllGatherV:
      LOCKSTEP_RETURN_IF_ERROR(check.CheckCounts("counts", call.counts));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("input", in, call.counts[static_cast<size_t>(rank)], "counts[rank]"));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("output", out, Sum(call.counts, world_size), "the sum of counts"));
      return check.CheckOverlap(true, 0, Sum(call.counts, rank));
    case OpKind::kReduceScatter:
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("input", in, out * world_size, "world size x output"));
      return check.CheckOverlap(true, rank * out, 0);
    case OpKind::kReduceScatterV:
      LOCKSTEP_RETURN_IF_ERROR(check.CheckCounts("counts", call.counts));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("output", out, call.counts[static_cast<size_t>(rank)], "counts[rank]"));
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("input", in, Sum(call.counts, world_size), "the sum of counts"));
      return check.CheckOverlap(true, Sum(call.counts, rank), 0);
    case OpKind::kReduce:
      if (!at_root) return absl::OkStatus();
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("output", out, in, "as many as input"));
      return check.CheckOverlap(true, 0, 0);
    case OpKind::kGather:
      if (!at_root) return absl::OkStatus();
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("output", out, in * world_size, "world size x input"));
      return check.CheckOverlap(true, 0, rank * in);
    case OpKind::kGatherV:
      if (!at_root) return absl::OkStatus();
      LOCKSTEP_RETURN_IF_ERROR(check.CheckCounts("counts", call.counts));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("input", in, call.counts[static_cast<size_t>(rank)], "counts[rank]"));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("output", out, Sum(call.counts, world_size), "the sum of counts"));
      return check.CheckOverlap(true, 0, Sum(call.counts, rank));
    case OpKind::kScatter:
      if (!at_root) return absl::OkStatus();
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("input", in, out * world_size, "world size x output"));
      return check.CheckOverlap(true, rank * out, 0);
    case OpKind::kScatterV:
      if (!at_root) return absl::OkStatus();
      LOCKSTEP_RETURN_IF_ERROR(check.CheckCounts("counts", call.counts));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("output", out, call.counts[static_cast<size_t>(rank)], "counts[rank]"));
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("input", in, Sum(call.counts, world_size), "the sum of counts"));
      return check.CheckOverlap(true, Sum(call.counts, rank), 0);
    case OpKind::kAllToAll:
      LOCKSTEP_RETURN_IF_ERROR(check.Expect("output", out, in, "as many as input"));
      if (in % world_size != 0)
        return check.Wrong(
            absl::StrCat("input has ", in, " elements, not a multiple of the world size ", world_size));
      return check.CheckOverlap(false, 0, 0);
    case OpKind::kAllToAllV:
      LOCKSTEP_RETURN_IF_ERROR(check.CheckCounts("send_counts", call.counts));
      LOCKSTEP_RETURN_IF_ERROR(check.CheckCounts("recv_counts", call.recv_counts));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("input", in, Sum(call.counts, world_size), "the sum of send_counts"));
      LOCKSTEP_RETURN_IF_ERROR(
          check.Expect("output", out, Sum(call.recv_counts, world_size), "the sum of recv_counts"));
      if (call.counts[static_cast<size_t>(rank)] != call.recv_counts[static_cast<size_t>(rank)])
        return check.Wrong("send_counts and recv_counts differ for the rank itself");
      return check.CheckOverlap(false, 0, 0);
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<Arguments> CheckCall(const Call& call, int rank, int world_size, Determinism determinism,
                                    Algorithm algorithm) {
  const Checker check(call, rank, world_size);
  LOCKSTEP_RETURN_IF_ERROR(check.CheckViews());
  LOCKSTEP_RETURN_IF_ERROR(check.CheckOp());
  LOCKSTEP_RETURN_IF_ERROR(CheckSizes(check, call, rank, world_size));

  Arguments arguments;
  collectives::Descriptor& descriptor = arguments.descriptor;
  descriptor.op = call.op;
  descriptor.dtype = call.has_input ? call.input.dtype : call.output.dtype;
  if (Reduces(call.op)) {
    descriptor.reduce_op = call.reduce_op;
    descriptor.determinism = determinism;
  }
  descriptor.algorithm = algorithm;
  if (Rooted(call.op) && !collectives::IsPointToPoint(call.op)) descriptor.root = call.root;
  descriptor.count = AgreedCount(call, world_size);
  if (call.op == OpKind::kAllGatherV || call.op == OpKind::kReduceScatterV)
    descriptor.counts_hash = HashCounts(call.counts);
  arguments.input = static_cast<const std::byte*>(call.input.data);
  arguments.output = static_cast<std::byte*>(call.output.data);
  arguments.input_count = call.input.count;
  arguments.output_count = call.output.count;
  arguments.counts.assign(call.counts.begin(), call.counts.end());
  arguments.recv_counts.assign(call.recv_counts.begin(), call.recv_counts.end());
  return arguments;
}

}  // namespace lockstep::comm
