#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep::collectives {

// A run of elements.
struct Range {
  int64_t begin = 0;
  int64_t count = 0;
};

// How a vector is divided among ranks, one block each, and each block into the same number of chunks, so that
// all ranks count chunks alike. Blocks and chunks may be empty.
class Partition {
 public:
  // As even as it gets: the first count % parts blocks have one element more.
  static Partition Even(int64_t count, int parts, int64_t chunk_elements) {
    std::vector<int64_t> counts(static_cast<size_t>(parts), count / parts);
    for (int64_t i = 0; i < count % parts; ++i) ++counts[static_cast<size_t>(i)];
    return Partition(counts, chunk_elements);
  }
  Partition(absl::Span<const int64_t> counts, int64_t chunk_elements) {
    int64_t offset = 0, longest = 0;
    for (int64_t count : counts) {
      blocks_.push_back({offset, count});
      offset += count;
      longest = std::max(longest, count);
    }
    chunks_ = std::max<int64_t>(1, (longest + chunk_elements - 1) / chunk_elements);
  }

  int64_t chunks() const { return chunks_; }
  Range block(int index) const { return blocks_[static_cast<size_t>(index)]; }
  Range chunk(int block_index, int64_t chunk_index) const {
    const Range whole = block(block_index);
    // count / chunks elements each, the first count % chunks one more: no product that could overflow.
    const int64_t base = whole.count / chunks_, extra = whole.count % chunks_;
    return {whole.begin + chunk_index * base + std::min(chunk_index, extra),
            base + (chunk_index < extra ? 1 : 0)};
  }

 private:
  std::vector<Range> blocks_;
  int64_t chunks_ = 1;
};

}  // namespace lockstep::collectives
