#include "tests/cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace lockstep::cli {
namespace {

constexpr std::chrono::milliseconds kPause{5};

std::string TemporaryFile() {
  std::string path = testing::TempDir() + "lockstep-cli-XXXXXX";
  close(mkstemp(path.data()));
  return path;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment)
    : out_path_(TemporaryFile()), err_path_(TemporaryFile()) {
  pid_ = fork();
  if (pid_ != 0) return;
  dup2(open(out_path_.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
  dup2(open(err_path_.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
  for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> argv = {const_cast<char*>("lockstep")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(LOCKSTEP_PROGRAM, argv.data());
  _exit(127);
}

Program::~Program() {
  if (wait_status_ < 0) {
    Signal(SIGKILL);
    Wait();
  }
  unlink(out_path_.c_str());
  unlink(err_path_.c_str());
}

int Program::Wait() {
  if (wait_status_ < 0) waitpid(pid_, &wait_status_, 0);
  return WIFSIGNALED(wait_status_) ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

bool Program::Ended() { return wait_status_ >= 0 || waitpid(pid_, &wait_status_, WNOHANG) == pid_; }

bool Program::WaitForOutput(const std::string& text) {
  for (;;) {
    const bool ended = Ended();
    if (out().find(text) != std::string::npos) return true;
    if (ended) return false;
    std::this_thread::sleep_for(kPause);
  }
}

void Program::Signal(int signal) const { kill(pid_, signal); }
std::string Program::out() const { return Contents(out_path_); }
std::string Program::err() const { return Contents(err_path_); }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool WaitUntilGone(pid_t pid) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (kill(pid, 0) == 0) {
    // A zombie that its new parent has not collected yet has ended all the same.
    if (Contents("/proc/" + std::to_string(pid) + "/stat").find(") Z ") != std::string::npos) return true;
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace lockstep::cli
