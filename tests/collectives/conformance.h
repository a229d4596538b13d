#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "lockstep/algorithm.h"
#include "lockstep/tensor_view.h"
#include "src/collectives/descriptor.h"
#include "tests/collectives/conformance_data.h"

namespace lockstep::conformance {

using collectives::OpKind;

// One call of one collective by all ranks of a world. Whatever carries it out (the simulator, a communicator
// over a real transport), each rank makes
//
//   RankCall call(a_case, data, rank);
//   ... the collective, on call.input(), call.output(), call.counts() ...
//   EXPECT_EQ(call.Check(), "");
struct Case {
  OpKind op = OpKind::kAllReduce;
  DType dtype = DType::kF32;
  ReduceOp reduce_op = ReduceOp::kSum;
  Determinism determinism = Determinism::kFast;
  Algorithm algorithm = Algorithm::kAuto;
  int world_size = 1;
  int root = 0;
  // Elements: of the vector of allreduce, broadcast and reduce; of a rank's block of the others; of a v
  // operation the largest block.
  int64_t count = 0;
  bool in_place = false;
  int misalignment = 0;  // bytes that the buffers are off
  uint64_t seed = 1;     // of v counts
};
std::string ToString(const Case& one);

bool HasRoot(OpKind op);
// The block of the case that rank `from` has for rank `to` (all-to-all-v), or a rank's block (other v
// operations, `to` ignored; where counts are equal, `count`).
int64_t BlockCount(const Case& one, int from, int to);
// The longest input or output of the case on any rank: what Data must have.
int64_t DataCount(const Case& one);

// A rank's buffers and arguments, and what must be in them afterwards.
class RankCall {
 public:
  // `data` outlives it, fits the case's dtype, reduce_op and world size, and has DataCount() elements.
  RankCall(const Case& one, const Data& data, int rank);

  ConstTensorView input() const { return {input_, case_.dtype, input_count_}; }
  TensorView output() const { return {output_, case_.dtype, output_count_}; }
  bool has_input() const { return has_input_; }
  bool has_output() const { return has_output_; }
  // Of allgatherv, reduce-scatter-v, gatherv and scatterv (at the root); send counts of all-to-all-v.
  const std::vector<int64_t>& counts() const { return counts_; }
  const std::vector<int64_t>& recv_counts() const { return recv_counts_; }

  // Empty when the output is right, the input as it was (out of place) and nothing around them was written.
  // Else the first thing that is wrong.
  std::string Check() const;

 private:
  void Shape();
  void Allocate();
  // Compares `count` elements of the output from `begin` on.
  std::string CheckRun(int64_t begin, const std::byte* expected, int64_t count) const;
  // Of a rank's block in the whole, in elements.
  int64_t Offset(int rank) const;
  std::string CheckGuards() const;

  const Case case_;
  const Data& data_;
  const int rank_;
  const int64_t size_;
  bool has_input_ = true, has_output_ = true;
  int64_t input_count_ = 0, output_count_ = 0;
  std::vector<int64_t> counts_, recv_counts_;
  // Where in place the smaller buffer lies in the larger one.
  int64_t input_offset_ = 0, output_offset_ = 0;
  std::vector<std::byte> input_memory_, output_memory_;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
};

// What ForEachCase() goes through.
struct Matrix {
  std::vector<int> world_sizes;
  std::vector<int64_t> counts;
  std::vector<DType> dtypes = {};  // empty: all
  std::vector<OpKind> ops = {};    // empty: all that are collectives
  Pattern pattern = Pattern::kExact;
  uint64_t seed = 1;
};

// Every collective x dtype x op x algorithm x count x world size, in place, misaligned and with roots in
// turn: small counts in place and out of place, large ones in one of the two. The data is made once for the
// cases that share it. Returns the number of cases.
int64_t ForEachCase(const Matrix& matrix, absl::FunctionRef<void(const Case&, const Data&)> body);

// A case drawn at random.
Case RandomCase(uint64_t seed, int world_size, int64_t largest_count);
// Data for one case alone.
Data DataFor(const Case& one, Pattern pattern);

}  // namespace lockstep::conformance
