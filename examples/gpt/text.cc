#include "examples/gpt/text.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/status.h"

namespace lockstep::gpt {

absl::StatusOr<Text> Text::Load(const std::string& path, int64_t context) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError("cannot read " + path +
                               " (is the path right, and readable?) Any text file will do: --data FILE");
  }
  Text text;
  text.bytes_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  text.split_ = static_cast<int64_t>(text.bytes_.size() - text.bytes_.size() / 20);
  // An epoch starts up to a window late, and each window needs the byte behind it.
  if (text.split_ < 2 * context + 1 || text.validation_bytes() < 1) {
    return absl::InvalidArgumentError(path + " holds " + std::to_string(text.bytes_.size()) +
                                      " bytes (windows of " + std::to_string(context) + " need at least " +
                                      std::to_string(2 * context + 21) +
                                      ") Take a longer text, or a smaller --context");
  }
  return text;
}

void Text::Window(int64_t start, absl::Span<int32_t> tokens, absl::Span<int32_t> targets) const {
  const int64_t size = static_cast<int64_t>(bytes_.size());
  for (int64_t i = 0; i < static_cast<int64_t>(tokens.size()); ++i) {
    const int64_t at = start + i;
    tokens[i] = at < size ? bytes_[at] : 0;
    targets[i] = at + 1 < size ? bytes_[at + 1] : -1;
  }
}

void Text::TrainingWindow(int64_t start, absl::Span<int32_t> tokens, absl::Span<int32_t> targets) const {
  Window(start, tokens, targets);
}

int64_t Text::ValidationWindows(int64_t context) const {
  return (validation_bytes() + context - 1) / context;
}

void Text::ValidationWindow(int64_t window, absl::Span<int32_t> tokens, absl::Span<int32_t> targets) const {
  Window(split_ - 1 + window * static_cast<int64_t>(tokens.size()), tokens, targets);
}

WindowOrder::WindowOrder(int64_t bytes, int64_t context, uint64_t seed)
    : bytes_(bytes), context_(context), random_(seed) {
  starts_.reserve(bytes / context);
  Shuffle();
}

int64_t WindowOrder::Next() {
  if (next_ == starts_.size()) Shuffle();
  return starts_[next_++];
}

void WindowOrder::Shuffle() {
  starts_.clear();
  next_ = 0;
  // The last byte is a target only.
  for (int64_t start = random_.Below(context_); start + context_ < bytes_; start += context_) {
    starts_.push_back(start);
  }
  for (int64_t i = static_cast<int64_t>(starts_.size()) - 1; i > 0; --i) {
    std::swap(starts_[i], starts_[random_.Below(i + 1)]);
  }
}

}  // namespace lockstep::gpt
