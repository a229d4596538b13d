#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/stream.h"
#include "src/collectives/collective.h"
#include "src/transport/sim/sim_world.h"
#include "tests/collectives/conformance.h"

namespace lockstep::conformance {

// Runs cases, one after the other, as programs of the ranks of a simulated world.
class SimConformance {
 public:
  struct Options {
    size_t scratch_bytes = 4 << 20;
    int64_t chunk_bytes = 16 << 10;
    // A stream a rank; empty: the inline one.
    std::vector<Stream> streams = {};
  };
  SimConformance(transport::sim::SimWorld* world, const Options& options);

  // One case on every rank. Empty when all went well and every output is right.
  std::string Run(const Case& one, const Data& data);

  // Several in a row; ranks go on to the next without waiting for each other. By rank: how it ended and, when
  // well, whether everything it computed is right.
  struct Result {
    absl::Status deadlock;
    std::vector<absl::Status> statuses;
    std::vector<std::string> problems;
  };
  Result RunProgram(const std::vector<Case>& cases, const std::vector<const Data*>& data);

 private:
  struct Rank {
    std::vector<std::byte> scratch;
    std::unique_ptr<RankCall> call;
    std::unique_ptr<collectives::Collective> collective;
    size_t next = 0;
    std::string problem;
  };
  absl::StatusOr<bool> Advance(int rank, const std::vector<Case>& cases,
                               const std::vector<const Data*>& data);
  absl::Status Begin(int rank, const Case& one, const Data& data);

  transport::sim::SimWorld* const world_;
  const Options options_;
  std::vector<Rank> ranks_;
  uint64_t sequence_ = 0;  // of the first case of the program
};

}  // namespace lockstep::conformance
