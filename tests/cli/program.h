#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep::cli {

// The lockstep program under test, as a process of its own, with its output in files.
//
//     Program run({"run", "-n", "2", "sh", "-c", "echo hello"});
//     EXPECT_EQ(run.Wait(), 0);
//     EXPECT_THAT(run.out(), HasSubstr("[0] hello"));
class Program {
 public:
  // `environment`: NAME=VALUE, added to this process's.
  explicit Program(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The exit status, as a shell has it.
  int Wait();
  // Blocks until `text` is in the standard output, or the program has ended without it.
  bool WaitForOutput(const std::string& text);
  void Signal(int signal) const;
  // What has been written so far.
  std::string out() const;
  std::string err() const;

 private:
  bool Ended();

  std::string out_path_, err_path_;
  pid_t pid_ = -1;
  int wait_status_ = -1;
};

std::vector<std::string> Lines(const std::string& text);
// Blocks until no process has this number any more; false after ten seconds.
bool WaitUntilGone(pid_t pid);

}  // namespace lockstep::cli
