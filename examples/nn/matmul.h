#pragma once

#include <array>
#include <cstdint>

#include "dnnl.hpp"

namespace lockstep::nn {

// How a matrix, or a batch of matrices, lies in memory: elements from one row, column or matrix to the next.
struct Layout {
  int64_t row = 0;
  int64_t column = 1;
  int64_t matrix = 0;
};

struct MatMulSpec {
  int64_t m = 0, n = 0, k = 0;  // c (m x n) = a (m x k) * b (k x n)
  Layout a, b, c;
  int64_t batch = 1;  // that many products, `matrix` elements apart
  bool bias = false;  // adds a vector of n to each row
  // Brings b into the order that oneDNN likes best before each product: pays where b is a weight matrix,
  // small beside a and c, whose rows lie too far apart for the first-level cache.
  bool pack_b = false;
};

// One matrix product of a fixed shape, as a oneDNN primitive that is built once and run many times.
//
//     // y = x * w + bias, all row-major
//     MatMul product({.m = rows, .n = outputs, .k = inputs,
//                     .a = {inputs}, .b = {outputs}, .c = {outputs}, .bias = true});
//     product.Run(x, w, y, bias);
//
// Uses as many threads as OpenMP has. Not thread-safe. The constructor throws dnnl::error where oneDNN has no
// implementation.
class MatMul {
 public:
  explicit MatMul(const MatMulSpec& spec);
  void Run(const float* a, const float* b, float* c, const float* bias = nullptr);

 private:
  void Execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* arguments, int count);

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul product_;
  dnnl::reorder pack_;  // empty where b is taken as it is
  dnnl::memory a_, b_, packed_b_, c_, bias_;
  std::array<dnnl_exec_arg_t, 4> arguments_;
  std::array<dnnl_exec_arg_t, 2> pack_arguments_;
  int argument_count_ = 3;
};

}  // namespace lockstep::nn
