#include "lockstep/dtype.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace lockstep::inline v0 {
namespace {

struct Properties {
  const char* name;
  int64_t size;
  bool floating_point;
};
constexpr Properties kProperties[] = {
    {"f32", 4, true}, {"f16", 2, true},  {"bf16", 2, true}, {"f64", 8, true},    {"i8", 1, false},
    {"u8", 1, false}, {"i32", 4, false}, {"i64", 8, false}, {"f8e4m3", 1, true}, {"f8e5m2", 1, true},
};
static_assert(std::size(kProperties) == kDTypeCount);

}  // namespace

int64_t SizeOf(DType dtype) { return kProperties[static_cast<int>(dtype)].size; }

const char* Name(DType dtype) { return kProperties[static_cast<int>(dtype)].name; }

bool IsFloatingPoint(DType dtype) { return kProperties[static_cast<int>(dtype)].floating_point; }

absl::StatusOr<DType> ParseDType(std::string_view name) {
  std::string known;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == kProperties[i].name) return static_cast<DType>(i);
    absl::StrAppend(&known, i ? ", " : "", kProperties[i].name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown dtype \"", std::string(name), "\" (known: ", known, ")"));
}

}  // namespace lockstep::inline v0
