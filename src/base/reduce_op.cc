#include "lockstep/reduce_op.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace lockstep::inline v0 {
namespace {

constexpr const char* kNames[] = {"sum", "avg", "min", "max", "prod"};
static_assert(std::size(kNames) == kReduceOpCount);

}  // namespace

const char* Name(ReduceOp op) { return kNames[static_cast<int>(op)]; }

absl::StatusOr<ReduceOp> ParseReduceOp(std::string_view name) {
  std::string known;
  for (int i = 0; i < kReduceOpCount; ++i) {
    if (name == kNames[i]) return static_cast<ReduceOp>(i);
    absl::StrAppend(&known, i ? ", " : "", kNames[i]);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown reduce op \"", std::string(name), "\" (known: ", known, ")"));
}

}  // namespace lockstep::inline v0
