#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/kernel_table.h"

namespace lockstep::kernels {
namespace {

// 2^31 bytes and a page in little memory: the first 2^31 are one window, mapped again and again; the page at
// the end is its own.
class LongRun {
 public:
  static constexpr int64_t kWindowBytes = int64_t{16} << 20, kTailBegins = int64_t{1} << 31,
                           kTailBytes = 4096;

  LongRun() : file_(memfd_create("window", MFD_CLOEXEC)) {
    void* const all = mmap(nullptr, kTailBegins + kTailBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || file_ < 0 || ftruncate(file_, kWindowBytes) != 0) return;
    data_ = static_cast<char*>(all);
    mapped_ = true;
    for (int64_t begin = 0; mapped_ && begin < kTailBegins; begin += kWindowBytes)
      mapped_ = mmap(data_ + begin, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0) !=
                MAP_FAILED;
  }
  ~LongRun() {
    if (data_ != nullptr) munmap(data_, kTailBegins + kTailBytes);
    if (file_ >= 0) close(file_);
  }
  LongRun(const LongRun&) = delete;
  LongRun& operator=(const LongRun&) = delete;

  bool mapped() const { return mapped_; }
  char* data() { return data_; }
  char* tail() { return data_ + kTailBegins; }
  void Fill(char value) {
    std::memset(data_, value, kWindowBytes);
    std::memset(tail(), value, kTailBytes);
  }

 private:
  const int file_;
  char* data_ = nullptr;
  bool mapped_ = false;
};

bool AllAre(const char* bytes, int64_t count, char value) {
  return std::all_of(bytes, bytes + count, [value](char byte) { return byte == value; });
}

TEST(LargeCountTest, GoesBeyondTwoToThe31Elements) {
  LongRun a, b, destination;
  if (!a.mapped() || !b.mapped() || !destination.mapped())
    GTEST_SKIP() << "no 6 GiB of address space here; raise ulimit -v";
  a.Fill(1);
  b.Fill(2);
  const void* const sources[2] = {a.data(), b.data()};
  Stream stream;
  HostKernels().reduce(stream, DType::kU8, ReduceOp::kSum, destination.data(), absl::MakeConstSpan(sources),
                       LongRun::kTailBegins + 5, 1);
  EXPECT_TRUE(AllAre(destination.data(), LongRun::kWindowBytes, 3));
  EXPECT_TRUE(AllAre(destination.tail(), 5, 3));
  EXPECT_TRUE(AllAre(destination.tail() + 5, LongRun::kTailBytes - 5, 0));

  HostKernels().copy(stream, destination.data(), a.data(), LongRun::kTailBegins + 9);
  EXPECT_TRUE(AllAre(destination.data(), LongRun::kWindowBytes, 1));
  EXPECT_TRUE(AllAre(destination.tail(), 9, 1));
  EXPECT_TRUE(AllAre(destination.tail() + 9, LongRun::kTailBytes - 9, 0));
}

TEST(LargeCountTest, GoesBeyondTwoToThe31BytesOfNarrowFloats) {
  LongRun a, b;
  if (!a.mapped() || !b.mapped()) GTEST_SKIP() << "no 4 GiB of address space here; raise ulimit -v";
  a.Fill(0);
  b.Fill(0x3c);  // 0x3c3c as bf16
  const void* const sources[2] = {a.data(), b.data()};
  Stream stream;
  HostKernels().reduce(stream, DType::kBF16, ReduceOp::kMax, a.data(), absl::MakeConstSpan(sources),
                       LongRun::kTailBegins / 2 + 3, 1);
  EXPECT_TRUE(AllAre(a.data(), LongRun::kWindowBytes, 0x3c));
  EXPECT_TRUE(AllAre(a.tail(), 6, 0x3c));
  EXPECT_TRUE(AllAre(a.tail() + 6, LongRun::kTailBytes - 6, 0));
}

}  // namespace
}  // namespace lockstep::kernels
