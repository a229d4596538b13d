#include "src/cli/line_prefixer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lockstep::cli {

void LinePrefixer::Take(const char* data, size_t size) {
  for (const char* end = data + size; data < end;) {
    const char* newline = std::find(data, end, '\n');
    partial_.append(data, newline);
    data = newline;
    if (newline != end) {
      EndLine();
      ++data;
    } else if (partial_.size() >= kLongestLine) {
      EndLine();
    }
  }
  WriteOut();
}

void LinePrefixer::Finish() {
  if (!partial_.empty()) EndLine();
  WriteOut();
}

void LinePrefixer::EndLine() {
  out_.append(prefix_).append(partial_).push_back('\n');
  last_lines_.push_back(partial_.substr(0, kKeptBytes));
  if (last_lines_.size() > kKeptLines) last_lines_.pop_front();
  partial_.clear();
}

void LinePrefixer::WriteOut() {
  for (size_t done = 0; done < out_.size();) {
    const ssize_t n = write(fd_, out_.data() + done, out_.size() - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd wait{fd_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      break;  // nobody reads any more
    }
  }
  out_.clear();
}

}  // namespace lockstep::cli
