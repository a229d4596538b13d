#include "src/cli/bench_case.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "kernels/kernel_table.h"
#include "src/base/env.h"
#include "src/collectives/collective.h"

namespace lockstep::cli {
namespace {

// What a rank holds at an element before the call: depends on both, and small enough that every result is
// exact in every dtype.
double Value(const BenchPlan& plan, int rank, int64_t index) {
  if (plan.reduce_op == ReduceOp::kProd) return (index + rank) % 3 == 0 ? 2 : 1;
  return static_cast<double>((index * 5 + rank * 3) % (SizeOf(plan.dtype) == 1 ? 3 : 13));
}

double Reduced(const BenchPlan& plan, int ranks, int64_t index) {
  double result = Value(plan, 0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const double value = Value(plan, rank, index);
    switch (plan.reduce_op) {
      case ReduceOp::kSum:
      case ReduceOp::kAvg:
        result += value;
        break;
      case ReduceOp::kMin:
        result = std::min(result, value);
        break;
      case ReduceOp::kMax:
        result = std::max(result, value);
        break;
      case ReduceOp::kProd:
        result *= value;
        break;
    }
  }
  return plan.reduce_op == ReduceOp::kAvg ? result / ranks : result;
}

class Case {
 public:
  Case(Communicator& comm, const BenchPlan& plan) : comm_(comm), plan_(plan) {
    const int64_t ranks = comm.world_size();
    const int64_t elements = std::max<int64_t>(plan.op == "barrier" ? 0 : 1, plan.bytes / SizeOf(plan.dtype));
    divided_ =
        plan.op != "allreduce" && plan.op != "broadcast" && plan.op != "reduce" && plan.op != "sendrecv";
    part_ = divided_ ? (elements + ranks - 1) / ranks : elements;
    whole_ = divided_ ? part_ * ranks : elements;
    input_.resize(static_cast<size_t>(whole_ * SizeOf(plan.dtype)));
    output_.resize(input_.size());
  }

  int64_t whole() const { return whole_; }
  int64_t part() const { return part_; }

  Work Call() {
    CallOptions options;
    options.algorithm = plan_.algorithm;
    const TensorView in(input_.data(), plan_.dtype, whole_), out(output_.data(), plan_.dtype, whole_);
    const TensorView part_in(input_.data(), plan_.dtype, part_), part_out(output_.data(), plan_.dtype, part_);
    if (plan_.op == "allreduce")
      return plan_.in_place ? comm_.AllReduce(out, plan_.reduce_op, options)
                            : comm_.AllReduce(in, out, plan_.reduce_op, options);
    if (plan_.op == "allgather") return comm_.AllGather(part_in, out, options);
    if (plan_.op == "reduce_scatter") return comm_.ReduceScatter(in, part_out, plan_.reduce_op, options);
    if (plan_.op == "broadcast") return comm_.Broadcast(out, plan_.root, options);
    if (plan_.op == "reduce") return comm_.Reduce(in, out, plan_.reduce_op, plan_.root, options);
    if (plan_.op == "gather") return comm_.Gather(part_in, out, plan_.root, options);
    if (plan_.op == "scatter") return comm_.Scatter(in, part_out, plan_.root, options);
    if (plan_.op == "alltoall") return comm_.AllToAll(in, out, options);
    if (plan_.op == "sendrecv") return SendReceive(in, out, options);
    return comm_.Barrier(options);
  }

  // Puts this rank's values in, calls once, and counts the elements of this rank that are not what they
  // should be.
  absl::StatusOr<int64_t> CountWrong() {
    const int rank = comm_.rank();
    Fill(&input_, [&](int64_t i) { return Value(plan_, rank, i); });
    const bool in_place = plan_.op == "broadcast" || (plan_.op == "allreduce" && plan_.in_place);
    Fill(&output_, [&](int64_t i) { return in_place ? Value(plan_, rank, i) : 0; });
    LOCKSTEP_RETURN_IF_ERROR(Call().Wait());
    const int64_t checked = CheckedElements();
    std::vector<double> got = Decode(output_, checked);
    int64_t wrong = 0;
    for (int64_t i = 0; i < checked; ++i) wrong += got[static_cast<size_t>(i)] != Rounded(Expected(i));
    // Zeros again: what is summed in place, over and over, must not grow into infinities.
    std::fill(output_.begin(), output_.end(), std::byte{0});
    return wrong;
  }

  double BusFactor() const {
    const double n = comm_.world_size();
    if (plan_.op == "allreduce") return 2 * (n - 1) / n;
    return divided_ ? (n - 1) / n : 1;
  }

 private:
  Work SendReceive(TensorView in, TensorView out, const CallOptions& options) {
    const int ranks = comm_.world_size(), rank = comm_.rank();
    if (ranks == 1) return Work();
    Work send = comm_.Send(in, (rank + 1) % ranks, options);
    Work receive = comm_.Recv(out, (rank + ranks - 1) % ranks, options);
    send.Wait().IgnoreError();  // a failure is the receive's too
    return receive;
  }

  int64_t CheckedElements() const {
    const bool at_root = comm_.rank() == plan_.root;
    if (plan_.op == "barrier") return 0;
    if (plan_.op == "sendrecv" && comm_.world_size() == 1) return 0;
    if (plan_.op == "reduce" || plan_.op == "gather") return at_root ? whole_ : 0;
    return plan_.op == "reduce_scatter" || plan_.op == "scatter" ? part_ : whole_;
  }

  double Expected(int64_t i) const {
    const int ranks = comm_.world_size(), rank = comm_.rank();
    if (plan_.op == "allreduce" || plan_.op == "reduce") return Reduced(plan_, ranks, i);
    if (plan_.op == "reduce_scatter") return Reduced(plan_, ranks, rank * part_ + i);
    if (plan_.op == "broadcast") return Value(plan_, plan_.root, i);
    if (plan_.op == "scatter") return Value(plan_, plan_.root, rank * part_ + i);
    if (plan_.op == "alltoall") return Value(plan_, static_cast<int>(i / part_), rank * part_ + i % part_);
    if (plan_.op == "sendrecv") return Value(plan_, (rank + ranks - 1) % ranks, i);
    return Value(plan_, static_cast<int>(i / part_), i % part_);  // allgather, gather
  }

  // Integers have no fractions, and averages of the small types are rounded: the reference goes through the
  // dtype too.
  double Rounded(double value) const {
    std::vector<std::byte> element(8);
    Encode(element.data(), &value, 1);
    return Decode(element, 1)[0];
  }

  template <typename Function>
  void Fill(std::vector<std::byte>* buffer, Function&& value) const {
    std::vector<double> values(static_cast<size_t>(whole_));
    for (int64_t i = 0; i < whole_; ++i) values[static_cast<size_t>(i)] = value(i);
    Encode(buffer->data(), values.data(), whole_);
  }

  template <typename T>
  static std::vector<T> Convert(const double* values, int64_t count) {
    std::vector<T> converted;
    converted.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) converted.push_back(static_cast<T>(values[i]));
    return converted;
  }

  // Through the kernels' accumulators, which know every dtype.
  void Encode(std::byte* to, const double* values, int64_t count) const {
    const auto finish = [&](const auto& accumulators) {
      Stream stream;
      kernels::HostKernels().fold_finish(stream, plan_.dtype, to, accumulators.data(), count, 1);
    };
    switch (plan_.dtype) {
      case DType::kF64:
        return finish(Convert<double>(values, count));
      case DType::kI8:
        return finish(Convert<int8_t>(values, count));
      case DType::kU8:
        return finish(Convert<uint8_t>(values, count));
      case DType::kI32:
        return finish(Convert<int32_t>(values, count));
      case DType::kI64:
        return finish(Convert<int64_t>(values, count));
      default:
        return finish(Convert<float>(values, count));
    }
  }

  template <typename T>
  std::vector<double> DecodeAs(const std::vector<std::byte>& from, int64_t count) const {
    std::vector<T> accumulators(static_cast<size_t>(count));
    Stream stream;
    kernels::HostKernels().fold_first(stream, plan_.dtype, accumulators.data(), from.data(), count);
    return {accumulators.begin(), accumulators.end()};
  }

  std::vector<double> Decode(const std::vector<std::byte>& from, int64_t count) const {
    switch (plan_.dtype) {
      case DType::kF64:
        return DecodeAs<double>(from, count);
      case DType::kI8:
        return DecodeAs<int8_t>(from, count);
      case DType::kU8:
        return DecodeAs<uint8_t>(from, count);
      case DType::kI32:
        return DecodeAs<int32_t>(from, count);
      case DType::kI64:
        return DecodeAs<int64_t>(from, count);
      default:
        return DecodeAs<float>(from, count);
    }
  }

  Communicator& comm_;
  const BenchPlan& plan_;
  bool divided_ = false;  // the buffers are a part for each rank
  int64_t part_ = 0, whole_ = 0;
  std::vector<std::byte> input_, output_;
};

absl::StatusOr<double> TimeOnce(Case& bench) {
  const auto begin = std::chrono::steady_clock::now();
  LOCKSTEP_RETURN_IF_ERROR(bench.Call().Wait());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What a call of this size comes to. Send and receive have no algorithm, which is shown as a direct one.
absl::StatusOr<Algorithm> ChosenAlgorithm(const BenchPlan& plan, int64_t part, int ranks) {
  collectives::Descriptor call;
  if (plan.op == "sendrecv") return Algorithm::kDirect;
  for (int i = 0; i < collectives::kOpKindCount; ++i)
    if (plan.op == collectives::Name(static_cast<collectives::OpKind>(i)))
      call.op = static_cast<collectives::OpKind>(i);
  call.dtype = plan.dtype;
  call.count = part;
  call.algorithm = plan.algorithm;
  if (call.algorithm == Algorithm::kAuto) {
    LOCKSTEP_ASSIGN_OR_RETURN(call.algorithm, ParseAlgorithm(env::Text("LOCKSTEP_ALGORITHM")));
  }
  return collectives::Choose(call, ranks);
}

// How often to iterate, the same on every rank.
absl::StatusOr<int> Iterations(Communicator& comm, Case& bench, const BenchPlan& plan) {
  double slowest = plan.seconds;  // without a warm-up: as few as are allowed
  for (int i = 0; i < plan.warmup; ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(slowest, TimeOnce(bench));
  }
  std::vector<double> agreed = {slowest};
  LOCKSTEP_RETURN_IF_ERROR(comm.AllReduce(agreed, ReduceOp::kMax).Wait());
  if (plan.iterations > 0) return plan.iterations;
  return static_cast<int>(std::clamp(plan.seconds / std::max(agreed[0], 1e-7), 10.0, 5000.0));
}

}  // namespace

const std::vector<std::string>& BenchOps() {
  static const std::vector<std::string> ops = {"allreduce", "allgather", "reduce_scatter", "broadcast",
                                               "reduce",    "gather",    "scatter",        "alltoall",
                                               "sendrecv",  "barrier"};
  return ops;
}

absl::StatusOr<BenchRow> RunBench(Communicator& comm, const BenchPlan& plan) {
  Case bench(comm, plan);
  BenchRow row;
  row.count = bench.whole();
  row.bytes = row.count * SizeOf(plan.dtype);
  LOCKSTEP_ASSIGN_OR_RETURN(const Algorithm algorithm,
                            ChosenAlgorithm(plan, bench.part(), comm.world_size()));
  row.algorithm = Name(algorithm);
  if (plan.check) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t wrong, bench.CountWrong());
    std::vector<int64_t> all = {wrong};
    LOCKSTEP_RETURN_IF_ERROR(comm.AllReduce(all).Wait());
    row.wrong = all[0];
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const int iterations, Iterations(comm, bench, plan));
  LOCKSTEP_RETURN_IF_ERROR(comm.Barrier().Wait());
  std::vector<double> times;
  for (int i = 0; i < iterations; ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const double seconds, TimeOnce(bench));
    times.push_back(seconds);
  }
  LOCKSTEP_RETURN_IF_ERROR(comm.AllReduce(times, ReduceOp::kMax).Wait());
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  row.us_median = median * 1e6;
  row.us_p95 = times[times.size() * 95 / 100] * 1e6;
  row.algbw_gbs = static_cast<double>(row.bytes) / median / 1e9;
  row.busbw_gbs = row.algbw_gbs * bench.BusFactor();
  return row;
}

}  // namespace lockstep::cli
