#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lockstep/device.h"
#include "lockstep/dtype.h"

namespace lockstep::inline v0 {

// A run of elements somewhere in memory. Never owns; `data` may have any alignment; `count` is in elements.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t count = 0;
  Device device = {};

  TensorView() = default;
  TensorView(void* data, DType dtype, int64_t count, Device device = {})
      : data(data), dtype(dtype), count(count), device(device) {}
  template <typename T>
  TensorView(absl::Span<T> span)  // NOLINT: implicit, so that a span or vector can be passed as it is
      : TensorView(span.data(), DTypeOf<T>::value, static_cast<int64_t>(span.size())) {}
  template <typename T>
  TensorView(std::vector<T>& vector) : TensorView(absl::MakeSpan(vector)) {}  // NOLINT

  int64_t bytes() const { return count * SizeOf(dtype); }
};

// The same, read only.
struct ConstTensorView {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t count = 0;
  Device device = {};

  ConstTensorView() = default;
  ConstTensorView(const void* data, DType dtype, int64_t count, Device device = {})
      : data(data), dtype(dtype), count(count), device(device) {}
  ConstTensorView(const TensorView& view)  // NOLINT: a view converts to a read-only view
      : ConstTensorView(view.data, view.dtype, view.count, view.device) {}
  template <typename T>
  ConstTensorView(absl::Span<const T> span)  // NOLINT
      : ConstTensorView(span.data(), DTypeOf<T>::value, static_cast<int64_t>(span.size())) {}
  template <typename T>
  ConstTensorView(const std::vector<T>& vector)  // NOLINT
      : ConstTensorView(absl::MakeConstSpan(vector)) {}

  int64_t bytes() const { return count * SizeOf(dtype); }
};

}  // namespace lockstep::inline v0
