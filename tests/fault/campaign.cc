// Runs seeded faults against ranks as processes and prints a table by kind.
//
//     campaign --runs 50 --seed 1 [--kind kill] [--ranks 4] [--mib 256] [--json FILE]
//
// Exits with 1 if a verdict was wrong; the line that names it also names the seed to run alone.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/fault/fault_run.h"

namespace lockstep::testing {
namespace {

struct Options {
  int runs = 30;
  int64_t seed = 1;
  std::string kind;  // empty: all
  int ranks = 0;     // 0: by seed
  int64_t mib = 0;   // 0: by seed
  std::string json;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    const bool known = flag == "--runs"    ? absl::SimpleAtoi(value, &options->runs)
                       : flag == "--seed"  ? absl::SimpleAtoi(value, &options->seed)
                       : flag == "--ranks" ? absl::SimpleAtoi(value, &options->ranks)
                       : flag == "--mib"   ? absl::SimpleAtoi(value, &options->mib)
                       : flag == "--kind"  ? !(options->kind = value).empty()
                       : flag == "--json"  ? !(options->json = value).empty()
                                           : false;
    if (known) continue;
    std::fprintf(stderr,
                 "campaign: \"%s %s\" is not understood\nusage: campaign [--runs N] [--seed S] [--kind KIND] "
                 "[--ranks P] [--mib M] [--json FILE]\nkinds: kill stop leave mismatch abort\n",
                 flag.c_str(), value.c_str());
    return false;
  }
  return true;
}

struct Tally {
  int runs = 0, right = 0;
  std::vector<double> latency_ms;
};

int Run(const Options& options) {
  std::map<std::string, Tally> by_kind;
  nlohmann::json failures = nlohmann::json::array();
  for (int run = 0, seed = 0; run < options.runs; ++seed) {
    FaultPlan plan = MakePlan(static_cast<uint64_t>(options.seed + seed));
    if (options.ranks > 0) {
      plan.world_size = options.ranks;
      plan.victim = run % options.ranks;  // each in turn
    }
    if (options.mib > 0) plan.elements = options.mib << 18;
    if (!options.kind.empty() && options.kind != Name(plan.kind)) continue;
    ++run;
    const FaultVerdict verdict = RunFault(plan);
    Tally& tally = by_kind[Name(plan.kind)];
    ++tally.runs;
    tally.right += verdict.right;
    tally.latency_ms.insert(tally.latency_ms.end(), verdict.latency_ms.begin(), verdict.latency_ms.end());
    if (verdict.right) continue;
    std::printf("WRONG seed %ld: %s: %s\n", static_cast<long>(options.seed + seed), plan.ToString().c_str(),
                verdict.what.c_str());
    std::fflush(stdout);
    failures.push_back({{"seed", options.seed + seed}, {"plan", plan.ToString()}, {"what", verdict.what}});
  }
  nlohmann::json rows = nlohmann::json::array();
  int wrong = 0;
  std::printf("%-10s %6s %6s %12s %12s\n", "kind", "runs", "right", "median ms", "worst ms");
  for (auto& [kind, tally] : by_kind) {
    std::sort(tally.latency_ms.begin(), tally.latency_ms.end());
    const double median = tally.latency_ms.empty() ? 0 : tally.latency_ms[tally.latency_ms.size() / 2];
    const double worst = tally.latency_ms.empty() ? 0 : tally.latency_ms.back();
    std::printf("%-10s %6d %6d %12.1f %12.1f\n", kind.c_str(), tally.runs, tally.right, median, worst);
    rows.push_back({{"kind", kind},
                    {"runs", tally.runs},
                    {"right", tally.right},
                    {"median_ms", median},
                    {"worst_ms", worst}});
    wrong += tally.runs - tally.right;
  }
  if (!options.json.empty())
    std::ofstream(options.json)
        << nlohmann::json{{"seed", options.seed}, {"kinds", rows}, {"wrong", failures}}.dump(2) << "\n";
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::testing

int main(int argc, char** argv) {
  lockstep::testing::Options options;
  if (!lockstep::testing::Parse(argc, argv, &options)) return 2;
  return lockstep::testing::Run(options);
}
