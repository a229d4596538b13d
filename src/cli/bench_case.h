#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lockstep/communicator.h"

namespace lockstep::cli {

// One collective at one size, as `lockstep bench` measures it.
struct BenchPlan {
  std::string op = "allreduce";
  int64_t bytes = 0;  // as NCCL's tests count them: the larger of input and output of one rank
  DType dtype = DType::kF32;
  ReduceOp reduce_op = ReduceOp::kSum;
  Algorithm algorithm = Algorithm::kAuto;
  int root = 0;
  bool in_place = false;  // allreduce only
  int warmup = 5;
  int iterations = 0;  // 0: as many as fit into `seconds`
  double seconds = 0.3;
  bool check = false;
};

struct BenchRow {
  int64_t bytes = 0, count = 0;
  std::string algorithm;  // as chosen
  double us_median = 0, us_p95 = 0;
  // algbw = bytes / time; busbw corrects for the number of ranks, as NCCL's page on performance defines them.
  double algbw_gbs = 0, busbw_gbs = 0;
  int64_t wrong = -1;  // elements on all ranks; -1: not checked
};

// The names that `op` may have.
const std::vector<std::string>& BenchOps();

// Every rank calls it with the same plan; the row is the same on every rank. The time of an iteration is that
// of its slowest rank.
absl::StatusOr<BenchRow> RunBench(Communicator& comm, const BenchPlan& plan);

}  // namespace lockstep::cli
