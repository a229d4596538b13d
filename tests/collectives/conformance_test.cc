#include "tests/collectives/conformance.h"

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <vector>

#include "tests/collectives/sim_conformance.h"

namespace lockstep::conformance {
namespace {

using transport::sim::SimWorld;

// Runs the matrix, a world for each world size, and prints how many cases it had.
void RunMatrix(const Matrix& matrix, const SimConformance::Options& options = {}) {
  std::unique_ptr<SimWorld> world;
  std::unique_ptr<SimConformance> runner;
  int failures = 0;
  const int64_t cases = ForEachCase(matrix, [&](const Case& one, const Data& data) {
    if (failures >= 5) return;
    if (world == nullptr || world->world_size() != one.world_size) {
      world = std::make_unique<SimWorld>(transport::sim::SimOptions{
          .topology = {.world_size = one.world_size, .ranks_per_host = 2}, .seed = 11, .jitter = 3});
      runner = std::make_unique<SimConformance>(world.get(), options);
    }
    const std::string problem = runner->Run(one, data);
    if (problem.empty()) return;
    ADD_FAILURE() << problem;
    ++failures;
    world.reset();  // may be broken
  });
  std::cout << cases << " cases" << std::endl;
}

TEST(ConformanceTest, ShortCallsOnUpToEightRanks) {
  RunMatrix({.world_sizes = {1, 2, 3, 4, 5, 6, 7, 8}, .counts = {0, 1, 3, 1000}});
}

TEST(ConformanceTest, LongCallsOnUpToEightRanks) {
  RunMatrix({.world_sizes = {1, 2, 3, 4, 5, 6, 7, 8}, .counts = {65537}, .seed = 2});
}

TEST(ConformanceTest, NanAndInfinity) {
  RunMatrix({.world_sizes = {1, 2, 3, 5, 8},
             .counts = {3, 1000},
             .dtypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kF8E4M3, DType::kF8E5M2},
             .ops = {OpKind::kAllReduce, OpKind::kReduce, OpKind::kReduceScatter, OpKind::kReduceScatterV},
             .pattern = Pattern::kSpecial});
}

}  // namespace
}  // namespace lockstep::conformance
