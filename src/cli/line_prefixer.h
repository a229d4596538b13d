#pragma once

#include <deque>
#include <string>
#include <utility>

namespace lockstep::cli {

// Turns one rank's output stream into whole lines with a prefix, and keeps the last ones for a report.
//
// A line is written once its end has come, so that lines of different ranks never mix; lines that came
// together go out in one system call. A last line without an end gets one from Finish().
//
// Not thread-safe: all streams of a job belong to one thread, which is what keeps lines whole.
class LinePrefixer {
 public:
  // `fd` is borrowed.
  LinePrefixer(int fd, std::string prefix) : fd_(fd), prefix_(std::move(prefix)) {}

  void Take(const char* data, size_t size);
  void Finish();
  // Without the prefix, each cut after its first 1000 bytes.
  const std::deque<std::string>& last_lines() const { return last_lines_; }

 private:
  static constexpr size_t kKeptLines = 10;
  static constexpr size_t kKeptBytes = 1000;
  // A line longer than this goes out in pieces, so that memory stays bounded.
  static constexpr size_t kLongestLine = 4 << 20;
  void EndLine();
  void WriteOut();

  const int fd_;
  const std::string prefix_;
  std::string partial_, out_;
  std::deque<std::string> last_lines_;
};

}  // namespace lockstep::cli
