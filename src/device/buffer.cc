#include "src/device/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep::device {
namespace {

void TouchPages(char* data, int64_t bytes) {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  volatile char* pages = data;
  for (int64_t offset = 0; offset < bytes; offset += page_bytes) pages[offset] = 0;
}

}  // namespace

void BufferStatistics::Add(int64_t bytes) {
  buffers_.fetch_add(1, std::memory_order_relaxed);
  const int64_t held = held_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_bytes();
  while (peak < held && !peak_bytes_.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
  }
}

void BufferStatistics::Remove(int64_t bytes) {
  buffers_.fetch_sub(1, std::memory_order_relaxed);
  held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

absl::StatusOr<Buffer> Buffer::Allocate(int64_t bytes, const BufferOptions& options) {
  if (options.device.kind == DeviceKind::kCuda)
    return absl::UnimplementedError(absl::StrCat("no buffer on ", std::string(ToString(options.device)),
                                                 " (only host memory is allocated here); let its module "
                                                 "allocate it"));
  const auto alignment = static_cast<int64_t>(options.alignment);
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - alignment)
    return absl::InvalidArgumentError(absl::StrCat("no buffer can have ", bytes, " bytes; check the count"));
  Buffer buffer;
  buffer.device_ = options.device;
  if (bytes == 0) return buffer;

  const int64_t held_bytes = (bytes + alignment - 1) / alignment * alignment;
  void* data = nullptr;
  if (posix_memalign(&data, static_cast<size_t>(alignment), static_cast<size_t>(held_bytes)) != 0)
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a buffer of ", bytes, " bytes (the system has no more); ask for less"));
  // A wish: without huge pages everything works as well, only slower.
  if (options.alignment == BufferAlignment::kHugePage)
    madvise(data, static_cast<size_t>(held_bytes), MADV_HUGEPAGE);
  buffer.data_ = static_cast<char*>(data);
  buffer.bytes_ = bytes;
  buffer.held_bytes_ = held_bytes;
  buffer.statistics_ = options.statistics;
  if (options.statistics != nullptr) options.statistics->Add(held_bytes);
  if (options.touch_pages) TouchPages(buffer.data_, held_bytes);
  return buffer;
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer moved(std::move(other));
  Swap(moved);
  return *this;
}

void Buffer::Swap(Buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(held_bytes_, other.held_bytes_);
  std::swap(device_, other.device_);
  std::swap(statistics_, other.statistics_);
}

void Buffer::Free() {
  if (data_ == nullptr) return;
  std::free(data_);
  if (statistics_ != nullptr) statistics_->Remove(held_bytes_);
}

}  // namespace lockstep::device
