#pragma once

#include <deque>
#include <string>

namespace lockstep::cli {

// Turns one rank's output stream into whole lines with a prefix, and keeps the last ones for a report.
//
// A line is written with one system call once its end has come, so that lines of different ranks never mix. A
// last line without an end gets one from Finish().
class LinePrefixer {
 public:
  // `fd` is borrowed.
  LinePrefixer(int fd, std::string prefix) : fd_(fd), prefix_(std::move(prefix)) {}

  void Take(const char* data, size_t size);
  void Finish();
  const std::deque<std::string>& last_lines() const { return last_lines_; }

 private:
  static constexpr size_t kKeptLines = 10;
  // A line longer than this goes out in pieces, so that memory stays bounded.
  static constexpr size_t kLongestLine = 4 << 20;
  void WriteLine(const std::string& line);

  const int fd_;
  const std::string prefix_;
  std::string partial_;
  std::deque<std::string> last_lines_;
};

}  // namespace lockstep::cli
