#include "examples/nn/matmul.h"

namespace lockstep::nn {
namespace {

using dnnl::memory;

memory::desc Describe(int64_t batch, int64_t rows, int64_t columns, const Layout& layout) {
  constexpr auto kF32 = memory::data_type::f32;
  // oneDNN has its fastest kernels for plain two-dimensional products.
  if (batch == 1) return {{rows, columns}, kF32, {layout.row, layout.column}};
  return {{batch, rows, columns}, kF32, {layout.matrix, layout.row, layout.column}};
}

void Point(memory& at, const float* data) {
  at.set_data_handle(const_cast<float*>(data));  // oneDNN takes inputs and outputs alike
}

}  // namespace

MatMul::MatMul(const MatMulSpec& spec) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
  const memory::desc a = Describe(spec.batch, spec.m, spec.k, spec.a);
  const memory::desc b = Describe(spec.batch, spec.k, spec.n, spec.b);
  const memory::desc c = Describe(spec.batch, spec.m, spec.n, spec.c);
  const memory::desc bias = Describe(spec.batch, 1, spec.n, Layout{.row = spec.n, .matrix = spec.n});
  const memory::desc any(b.dims(), memory::data_type::f32, memory::format_tag::any);
  const memory::desc& b_as_used = spec.pack_b ? any : b;
  const dnnl::matmul::primitive_desc product(
      spec.bias ? dnnl::matmul::desc(a, b_as_used, bias, c) : dnnl::matmul::desc(a, b_as_used, c), engine_);
  product_ = dnnl::matmul(product);
  a_ = memory(a, engine_, nullptr);
  b_ = memory(b, engine_, nullptr);
  c_ = memory(c, engine_, nullptr);
  bias_ = memory(bias, engine_, nullptr);
  packed_b_ = b_;
  if (product.weights_desc() != b) {
    packed_b_ = memory(product.weights_desc(), engine_);
    pack_ = dnnl::reorder(b_, packed_b_);
    pack_arguments_ = {dnnl_exec_arg_t{DNNL_ARG_FROM, b_.get()}, {DNNL_ARG_TO, packed_b_.get()}};
  }
  arguments_ = {dnnl_exec_arg_t{DNNL_ARG_SRC, a_.get()},
                {DNNL_ARG_WEIGHTS, packed_b_.get()},
                {DNNL_ARG_DST, c_.get()},
                {DNNL_ARG_BIAS, bias_.get()}};
  argument_count_ = spec.bias ? 4 : 3;
}

void MatMul::Run(const float* a, const float* b, float* c, const float* bias) {
  Point(a_, a);
  Point(b_, b);
  Point(c_, c);
  if (argument_count_ == 4) Point(bias_, bias);
  if (pack_) Execute(pack_, pack_arguments_.data(), 2);
  Execute(product_, arguments_.data(), argument_count_);
}

// The C call takes the arguments as they are; the C++ one would build a map and a vector each time.
void MatMul::Execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* arguments, int count) {
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), stream_.get(), count, arguments),
                          "oneDNN could not run a matrix product");
}

}  // namespace lockstep::nn
