#include "src/collectives/descriptor.h"

#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace lockstep::collectives {
namespace {

constexpr const char* kNames[] = {"allreduce",       "allgather", "allgatherv", "reduce_scatter",
                                  "reduce_scatterv", "broadcast", "reduce",     "gather",
                                  "gatherv",         "scatter",   "scatterv",   "alltoall",
                                  "alltoallv",       "send",      "recv",       "barrier"};
static_assert(std::size(kNames) == kOpKindCount);

bool CountsDiffer(OpKind op) {
  return op == OpKind::kAllGatherV || op == OpKind::kReduceScatterV || op == OpKind::kGatherV ||
         op == OpKind::kScatterV || op == OpKind::kAllToAllV;
}

// Fixed-size fields, little-endian.
constexpr size_t kWireBytes = 8 + 4 + 8 + 8;

void Put(std::string* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t Get(const std::string& in, size_t offset, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(in[offset + static_cast<size_t>(i)]))
             << (8 * i);
  return value;
}

}  // namespace

const char* Name(OpKind op) { return kNames[static_cast<int>(op)]; }

uint64_t Descriptor::Hash() const {
  // FNV-1a over the wire form.
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : EncodeDescriptor(*this)) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string Descriptor::ToString() const {
  if (op == OpKind::kBarrier) return Name(op);
  std::string text = absl::StrCat(Name(op), " ", Name(dtype));
  const bool private_counts = CountsDiffer(op) && counts_hash == 0;
  if (!private_counts) absl::StrAppend(&text, " x ", count);
  if (counts_hash != 0) absl::StrAppend(&text, " with counts ", absl::Hex(counts_hash));
  if (Reduces(op)) absl::StrAppend(&text, " ", Name(reduce_op));
  if (root >= 0) absl::StrAppend(&text, " root ", root);
  if (determinism == Determinism::kStrict) absl::StrAppend(&text, " strict");
  if (algorithm != Algorithm::kAuto) absl::StrAppend(&text, " by ", Name(algorithm));
  return text;
}

std::string EncodeDescriptor(const Descriptor& descriptor) {
  std::string bytes;
  bytes.reserve(kWireBytes);
  Put(&bytes, static_cast<uint64_t>(descriptor.op), 1);
  Put(&bytes, static_cast<uint64_t>(descriptor.dtype), 1);
  Put(&bytes, static_cast<uint64_t>(descriptor.reduce_op), 1);
  Put(&bytes, static_cast<uint64_t>(descriptor.determinism), 1);
  Put(&bytes, static_cast<uint64_t>(descriptor.algorithm), 4);
  Put(&bytes, static_cast<uint32_t>(descriptor.root), 4);
  Put(&bytes, static_cast<uint64_t>(descriptor.count), 8);
  Put(&bytes, descriptor.counts_hash, 8);
  return bytes;
}

absl::StatusOr<Descriptor> DecodeDescriptor(const std::string& bytes) {
  if (bytes.size() != kWireBytes) return absl::InvalidArgumentError("a descriptor has the wrong length");
  const uint64_t op = Get(bytes, 0, 1), dtype = Get(bytes, 1, 1), reduce_op = Get(bytes, 2, 1);
  const uint64_t determinism = Get(bytes, 3, 1), algorithm = Get(bytes, 4, 4);
  if (op >= kOpKindCount || dtype >= kDTypeCount || reduce_op >= kReduceOpCount || determinism > 1 ||
      algorithm > static_cast<uint64_t>(Algorithm::kDirect))
    return absl::InvalidArgumentError("a descriptor has a value out of range");
  Descriptor descriptor;
  descriptor.op = static_cast<OpKind>(op);
  descriptor.dtype = static_cast<DType>(dtype);
  descriptor.reduce_op = static_cast<ReduceOp>(reduce_op);
  descriptor.determinism = static_cast<Determinism>(determinism);
  descriptor.algorithm = static_cast<Algorithm>(algorithm);
  descriptor.root = static_cast<int32_t>(Get(bytes, 8, 4));
  descriptor.count = static_cast<int64_t>(Get(bytes, 12, 8));
  descriptor.counts_hash = Get(bytes, 20, 8);
  return descriptor;
}

}  // namespace lockstep::collectives
