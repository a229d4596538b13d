#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "examples/nn/random.h"

namespace lockstep::gpt {

// A text file as bytes; a byte is a token. The first 95% are for training, the rest for validation.
class Text {
 public:
  // NotFound or InvalidArgument say what is wrong with the file and what would do. `context`: the bytes of a
  // window, of which both parts must hold at least one.
  static absl::StatusOr<Text> Load(const std::string& path, int64_t context);

  absl::Span<const uint8_t> training() const { return absl::MakeConstSpan(bytes_).first(split_); }
  int64_t validation_bytes() const { return static_cast<int64_t>(bytes_.size()) - split_; }

  // The window that starts at byte `start` of the training text: `context` tokens, and the byte after each.
  void TrainingWindow(int64_t start, absl::Span<int32_t> tokens, absl::Span<int32_t> targets) const;
  // Windows of `context` that tile the validation text: each of its bytes is the target of exactly one
  // position. The first one's context is the last byte of the training text.
  int64_t ValidationWindows(int64_t context) const;
  // Positions behind the end of the text, and all of a window that does not exist, have target -1.
  void ValidationWindow(int64_t window, absl::Span<int32_t> tokens, absl::Span<int32_t> targets) const;

 private:
  void Window(int64_t start, absl::Span<int32_t> tokens, absl::Span<int32_t> targets) const;

  std::vector<uint8_t> bytes_;
  int64_t split_ = 0;
};

// The order in which a text is learned: each epoch tiles it with windows from a random first byte on, and
// visits them in random order. The seed alone decides, so every rank can follow the same order by itself.
class WindowOrder {
 public:
  WindowOrder(int64_t bytes, int64_t context, uint64_t seed);
  // First byte of the next window.
  int64_t Next();

 private:
  void Shuffle();

  int64_t bytes_, context_;
  nn::Random random_;
  std::vector<int64_t> starts_;  // of this epoch, in order of use
  size_t next_ = 0;
};

}  // namespace lockstep::gpt
