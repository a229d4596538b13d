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
      WriteLine(partial_);
      partial_.clear();
      ++data;
    } else if (partial_.size() >= kLongestLine) {
      WriteLine(partial_);
      partial_.clear();
    }
  }
}

void LinePrefixer::Finish() {
  if (!partial_.empty()) WriteLine(partial_);
  partial_.clear();
}

void LinePrefixer::WriteLine(const std::string& line) {
  const std::string out = prefix_ + line + "\n";
  for (size_t done = 0; done < out.size();) {
    const ssize_t n = write(fd_, out.data() + done, out.size() - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd wait{fd_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      break;  // nobody reads any more
    }
  }
  last_lines_.push_back(line.substr(0, 1000));
  if (last_lines_.size() > kKeptLines) last_lines_.pop_front();
}

}  // namespace lockstep::cli
