#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
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

  // By rank: how it ended and, when well, whether everything it computed is right.
  struct Result {
    absl::Status deadlock;
    std::vector<absl::Status> statuses;
    std::vector<std::string> problems;
  };
  // Several in a row; ranks go on to the next without waiting for each other.
  Result RunProgram(const std::vector<Case>& cases, const std::vector<const Data*>& data);
  // One call on each rank, not necessarily the same.
  struct Call {
    const Case* one;
    const Data* data;
  };
  Result RunEach(absl::FunctionRef<Call(int rank)> call_of);

  // What the rank's last call has left in its output.
  std::vector<std::byte> Output(int rank) const;

 private:
  struct Rank {
    std::vector<std::byte> scratch;
    std::unique_ptr<RankCall> call;
    std::unique_ptr<collectives::Collective> collective;
    std::vector<Call> program;
    size_t next = 0;
    std::string problem;
  };
  Result RunPrograms();
  absl::StatusOr<bool> Advance(int rank);
  absl::Status Begin(int rank, const Case& one, const Data& data);

  transport::sim::SimWorld* const world_;
  const Options options_;
  std::vector<Rank> ranks_;
  uint64_t sequence_ = 0;  // of the first case of the program
};

}  // namespace lockstep::conformance
