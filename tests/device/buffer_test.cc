#include "src/device/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace lockstep::device {
namespace {

TEST(BufferTest, IsAlignedAndWritableToItsEnd) {
  for (const BufferAlignment alignment : {BufferAlignment::kCacheLine, BufferAlignment::kHugePage}) {
    for (const int64_t bytes : {int64_t{1}, int64_t{63}, int64_t{4097}, (int64_t{2} << 20) + 1}) {
      auto buffer = Buffer::Allocate(bytes, {.alignment = alignment});
      ASSERT_TRUE(buffer.ok()) << buffer.status();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % static_cast<uintptr_t>(alignment), 0u);
      EXPECT_EQ(buffer->bytes(), bytes);
      std::memset(buffer->data(), 1, static_cast<size_t>(bytes));
    }
  }
}

TEST(BufferTest, MovesItsMemory) {
  Buffer first = *Buffer::Allocate(100);
  char* const data = first.data();
  Buffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
  EXPECT_EQ(second.data(), nullptr);
  EXPECT_EQ(second.bytes(), 0);
}

TEST(BufferTest, CountsWhatIsHeld) {
  BufferStatistics statistics;
  {
    Buffer first = *Buffer::Allocate(100, {.statistics = &statistics});
    EXPECT_EQ(statistics.held_bytes(), 128);
    Buffer second = *Buffer::Allocate(64, {.statistics = &statistics});
    EXPECT_EQ(statistics.buffers(), 2);
    EXPECT_EQ(statistics.held_bytes(), 192);
    first = std::move(second);
    EXPECT_EQ(statistics.held_bytes(), 64);
  }
  EXPECT_EQ(statistics.buffers(), 0);
  EXPECT_EQ(statistics.held_bytes(), 0);
  EXPECT_EQ(statistics.peak_bytes(), 192);
}

TEST(BufferTest, ViewsWholeElements) {
  const Buffer buffer = *Buffer::Allocate(10, {.device = {DeviceKind::kFake, 1}});
  const TensorView view = buffer.View(DType::kF32);
  EXPECT_EQ(view.count, 2);
  EXPECT_EQ(view.data, buffer.data());
  EXPECT_EQ(view.device, (Device{DeviceKind::kFake, 1}));
}

TEST(BufferTest, NoBytesNeedNoMemory) {
  BufferStatistics statistics;
  const Buffer buffer = *Buffer::Allocate(0, {.statistics = &statistics});
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(statistics.buffers(), 0);
}

TEST(BufferTest, SaysWhyThereIsNone) {
  EXPECT_EQ(Buffer::Allocate(-1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Buffer::Allocate(std::numeric_limits<int64_t>::max()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Buffer::Allocate(1, {.device = {DeviceKind::kCuda, 0}}).status().code(),
            absl::StatusCode::kUnimplemented);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the process instead
  EXPECT_EQ(Buffer::Allocate(int64_t{1} << 60).status().code(), absl::StatusCode::kResourceExhausted);
#endif
}

}  // namespace
}  // namespace lockstep::device
