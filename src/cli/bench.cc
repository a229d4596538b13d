#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/env.h"
#include "src/cli/bench_case.h"
#include "src/cli/flags.h"
#include "src/cli/job_runner.h"
#include "src/cli/verbs.h"

namespace lockstep::cli {
namespace {

struct BenchOptions {
  int ranks = 2;
  int64_t smallest = 4, largest = 64 << 20;
  double factor = 4;
  std::string sizes;
  std::string dtype = "f32", reduce_op = "sum", algorithm = "auto", device = "host";
  bool json = false;
  BenchPlan plan;
};

FlagTable MakeFlags(BenchOptions* options) {
  FlagTable flags(
      "lockstep bench OP [flags]",
      absl::StrCat(
          "Measures a collective between ranks on this host, or, under a launcher, between its ranks.\n"
          "OP: ",
          absl::StrJoin(BenchOps(), " ")));
  flags.Add("-n", "RANKS", "how many ranks to start", &options->ranks);
  flags.AddBytes("-b", "smallest size", &options->smallest);
  flags.AddBytes("-e", "largest size", &options->largest);
  flags.Add("-f", "FACTOR", "from one size to the next", &options->factor);
  flags.Add("--sizes", "SIZE,...", "these sizes instead", &options->sizes);
  flags.Add("--dtype", "NAME", "element type", &options->dtype);
  flags.Add("--op", "NAME", "reduce operation", &options->reduce_op);
  flags.Add("--algorithm", "NAME", "algorithm to ask for", &options->algorithm);
  flags.Add("--device", "NAME", "where the buffers are: host", &options->device);
  flags.Add("--root", "RANK", "root of rooted operations", &options->plan.root);
  flags.AddSwitch("--in-place", "allreduce in place", &options->plan.in_place);
  flags.Add("--warmup", "N", "calls before those that are timed", &options->plan.warmup);
  flags.Add("--iterations", "N", "iterations a size; 0: as many as fit the time", &options->plan.iterations);
  flags.Add("--seconds", "S", "time a size", &options->plan.seconds);
  flags.AddSwitch("--check", "check every element, too", &options->plan.check);
  flags.AddSwitch("--json", "print JSON", &options->json);
  return flags;
}

absl::StatusOr<std::vector<int64_t>> Sizes(const BenchOptions& options) {
  std::vector<int64_t> sizes;
  if (options.plan.op == "barrier") return std::vector<int64_t>{0};
  for (const std::string& size :
       std::vector<std::string>(absl::StrSplit(options.sizes, ',', absl::SkipEmpty()))) {
    LOCKSTEP_ASSIGN_OR_RETURN(sizes.emplace_back(), env::ParseBytes(size));
  }
  if (!sizes.empty()) return sizes;
  for (double size = static_cast<double>(std::max<int64_t>(1, options.smallest));
       size <= static_cast<double>(options.largest); size *= options.factor)
    sizes.push_back(static_cast<int64_t>(size));
  return sizes;
}

absl::Status Resolve(const std::vector<std::string>& positional, BenchOptions* options) {
  if (positional.size() != 1) return absl::InvalidArgumentError("name one operation");
  options->plan.op = positional[0];
  const std::vector<std::string>& ops = BenchOps();
  if (std::find(ops.begin(), ops.end(), positional[0]) == ops.end()) {
    const auto nearest = env::Nearest(positional[0], ops);
    return absl::InvalidArgumentError(
        absl::StrCat("the operation \"", positional[0], "\" is not known",
                     nearest ? absl::StrCat(" (did you mean ", *nearest, "?)") : ""));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(options->plan.dtype, ParseDType(options->dtype));
  LOCKSTEP_ASSIGN_OR_RETURN(options->plan.reduce_op, ParseReduceOp(options->reduce_op));
  LOCKSTEP_ASSIGN_OR_RETURN(options->plan.algorithm, ParseAlgorithm(options->algorithm));
  if (options->device != "host")
    return absl::InvalidArgumentError(
        absl::StrCat("this version measures host memory only, not ", options->device));
  if (options->ranks < 1) return absl::InvalidArgumentError("-n must be at least 1");
  if (options->factor <= 1) return absl::InvalidArgumentError("-f must be above 1");
  if (options->plan.warmup < 0 || options->plan.iterations < 0)
    return absl::InvalidArgumentError("--warmup and --iterations must be at least 0");
  LOCKSTEP_RETURN_IF_ERROR(Sizes(*options).status());
  if (options->smallest < 0 || options->largest < options->smallest)
    return absl::InvalidArgumentError("the largest size is below the smallest");
  return absl::OkStatus();
}

void PrintRow(const BenchOptions& options, const BenchRow& row) {
  const std::string wrong = row.wrong < 0 ? "-" : absl::StrCat(row.wrong);
  std::printf("%12ld %12ld %7s %5s %19s %12.1f %12.1f %9.3f %9.3f %7s\n", static_cast<long>(row.bytes),
              static_cast<long>(row.count), options.dtype.c_str(), options.reduce_op.c_str(),
              row.algorithm.c_str(), row.us_median, row.us_p95, row.algbw_gbs, row.busbw_gbs, wrong.c_str());
  std::fflush(stdout);
}

nlohmann::json ToJson(const BenchRow& row) {
  return {{"bytes", row.bytes},         {"count", row.count},   {"algorithm", row.algorithm},
          {"us_median", row.us_median}, {"us_p95", row.us_p95}, {"algbw_gbs", row.algbw_gbs},
          {"busbw_gbs", row.busbw_gbs}, {"wrong", row.wrong}};
}

// As one rank of a job.
absl::Status RunAsRank(BenchOptions options) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto comm, Communicator::Create());
  const bool speaks = comm->rank() == 0;
  if (speaks && !options.json)
    std::printf("# %s, %d ranks\n%12s %12s %7s %5s %19s %12s %12s %9s %9s %7s\n", options.plan.op.c_str(),
                comm->world_size(), "bytes", "count", "type", "op", "algorithm", "median us", "p95 us",
                "algbw GB/s", "busbw GB/s", "wrong");
  nlohmann::json rows = nlohmann::json::array();
  int64_t wrong = 0;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, Sizes(options));
  for (int64_t size : sizes) {
    options.plan.bytes = size;
    LOCKSTEP_ASSIGN_OR_RETURN(const BenchRow row, RunBench(*comm, options.plan));
    wrong += std::max<int64_t>(0, row.wrong);
    if (speaks && !options.json) PrintRow(options, row);
    rows.push_back(ToJson(row));
  }
  if (speaks && options.json)
    std::printf("%s\n", nlohmann::json{{"op", options.plan.op},
                                       {"dtype", options.dtype},
                                       {"ranks", comm->world_size()},
                                       {"backend", comm->backend()},
                                       {"rows", rows}}
                            .dump(2)
                            .c_str());
  if (wrong > 0) return absl::DataLossError(absl::StrCat(wrong, " elements are wrong"));
  return absl::OkStatus();
}

}  // namespace

int Bench(const Arguments& arguments) {
  BenchOptions options;
  FlagTable flags = MakeFlags(&options);
  Arguments positional;
  absl::Status status = flags.Parse(arguments, &positional);
  if (status.ok() && flags.help_asked()) {
    std::printf("%s", flags.Help().c_str());
    return 0;
  }
  if (status.ok()) status = Resolve(positional, &options);
  if (!status.ok()) {
    std::fprintf(stderr, "lockstep bench: %s; lockstep bench --help tells more\n",
                 std::string(status.message()).c_str());
    return 2;
  }
  const bool launched = std::getenv("RANK") || std::getenv("SLURM_PROCID") ||
                        std::getenv("OMPI_COMM_WORLD_RANK") || std::getenv("PMI_RANK");
  if (launched || options.ranks == 1) {
    status = RunAsRank(options);
    if (!status.ok()) std::fprintf(stderr, "lockstep bench: %s\n", std::string(status.message()).c_str());
    return status.ok() ? 0 : 1;
  }
  JobRunner::Options job;
  job.ranks = options.ranks;
  job.prefix = false;
  job.command = {"/proc/self/exe", "bench"};
  job.command.insert(job.command.end(), arguments.begin(), arguments.end());
  const absl::StatusOr<int> ended = JobRunner(job).Run(0);
  if (!ended.ok())
    std::fprintf(stderr, "lockstep bench: %s\n", std::string(ended.status().message()).c_str());
  return ended.ok() ? *ended : 1;
}

}  // namespace lockstep::cli
