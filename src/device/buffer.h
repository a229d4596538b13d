#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "lockstep/device.h"
#include "lockstep/dtype.h"
#include "lockstep/tensor_view.h"

namespace lockstep::device {

// What an owner's buffers hold together: handed to each of them, so that a report can say it. Must outlive
// them. Thread-safe.
class BufferStatistics {
 public:
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }
  int64_t buffers() const { return buffers_.load(std::memory_order_relaxed); }

 private:
  friend class Buffer;
  void Add(int64_t bytes);
  void Remove(int64_t bytes);

  std::atomic<int64_t> held_bytes_{0};
  std::atomic<int64_t> peak_bytes_{0};
  std::atomic<int64_t> buffers_{0};
};

enum class BufferAlignment : int64_t {
  kCacheLine = 64,
  kHugePage = int64_t{2} << 20,  // asks for huge pages too; for what is large and used again and again
};

struct BufferOptions {
  Device device = {};
  BufferAlignment alignment = BufferAlignment::kCacheLine;
  // Writes to each page, so that the first use meets no page faults and the memory lies near the allocating
  // thread. What a buffer holds at first is undefined all the same.
  bool touch_pages = true;
  BufferStatistics* statistics = nullptr;
};

// Owned memory of a device. Move-only; a default-constructed or moved-from buffer is empty. Not thread-safe.
//
//   ASSIGN_OR_RETURN(Buffer staging, Buffer::Allocate(64 << 20, {.alignment = BufferAlignment::kHugePage}));
//   TensorView view = staging.View(DType::kF32);
class Buffer {
 public:
  // `bytes` of host or fake memory; the memory held is that rounded up to the alignment. 0 bytes give an
  // empty buffer. ResourceExhausted when the system has no more; InvalidArgument for a negative size;
  // Unimplemented for a CUDA device, whose module allocates its own.
  static absl::StatusOr<Buffer> Allocate(int64_t bytes, const BufferOptions& options = {});

  Buffer() = default;
  ~Buffer() { Free(); }
  Buffer(Buffer&& other) noexcept { Swap(other); }
  Buffer& operator=(Buffer&& other) noexcept;

  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  // As many whole elements as fit.
  TensorView View(DType dtype) const { return {data_, dtype, bytes_ / SizeOf(dtype), device_}; }

 private:
  void Swap(Buffer& other) noexcept;
  void Free();

  char* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t held_bytes_ = 0;
  Device device_;
  BufferStatistics* statistics_ = nullptr;
};

}  // namespace lockstep::device
