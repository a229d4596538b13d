#include "lockstep/algorithm.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace lockstep::inline v0 {
namespace {

constexpr const char* kNames[] = {"auto", "ring", "recursive_doubling", "halving_doubling", "tree", "direct"};

}  // namespace

const char* Name(Algorithm algorithm) { return kNames[static_cast<int>(algorithm)]; }

absl::StatusOr<Algorithm> ParseAlgorithm(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<Algorithm>(i);
    absl::StrAppend(&known, i ? ", " : "", kNames[i]);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown algorithm \"", std::string(name), "\" (known: ", known, ")"));
}

}  // namespace lockstep::inline v0
