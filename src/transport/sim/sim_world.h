#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/transport/sim/event_queue.h"
#include "src/transport/sim/sim_network.h"
#include "src/transport/sim/sim_options.h"
#include "src/transport/sim/sim_transport.h"

namespace lockstep::transport::sim {

// Any number of ranks in one thread and in virtual time.
//
//   SimWorld world({.topology = {.world_size = 1024}, .seed = 7});
//   world.LoseRankAt(3, 200'000);
//   const SimWorld::Outcome outcome = world.Run(programs);   // one a rank, over world.transport(rank)
//
// A rank's program is asked to advance at the start and whenever one of its operations has come to an end. A
// program takes no virtual time; messages do. When a rank is lost, or its program fails, the others hear of
// it after a while (SimOptions::notice_ns), as they would from the control plane: those that have not
// finished are aborted with Unavailable, naming the rank.
//
// Faults are planned before Run(). Run() may be called again while all went well; the clock goes on. Not
// thread-safe.
class SimWorld {
 public:
  // True: finished. An error is final. Not called again after either.
  using Program = std::function<absl::StatusOr<bool>()>;
  struct Outcome {
    // OK when every rank's program came to an end, well or not. Internal when nothing would ever happen again
    // (a deadlock): says what each rank waits for.
    absl::Status status;
    // By rank: how its program ended.
    std::vector<absl::Status> ranks;
    // When the last program ended.
    int64_t end_ns = 0;
    bool ok() const;
  };

  explicit SimWorld(const SimOptions& options);
  ~SimWorld();

  SimTransport& transport(int rank) { return *transports_[static_cast<size_t>(rank)]; }
  int world_size() const { return static_cast<int>(transports_.size()); }
  Outcome Run(absl::Span<const Program> programs);

  // The rank's process dies: what had left it arrives, what had not does not.
  void LoseRankAt(int rank, int64_t time_ns);
  void LoseRankAfterSends(int rank, int64_t sends);
  // Nothing gets between `group` and the others from then on; after the heartbeat's time-out each side takes
  // the other for lost.
  void PartitionAt(std::vector<int> group, int64_t time_ns);
  // All that the rank sends takes `factor` times as long.
  void SlowRank(int rank, double factor) { network_.Slow(rank, factor); }

  int64_t now_ns() const { return network_.now_ns(); }
  // Of everything that happened, in order: equal for equal histories.
  uint64_t trace_hash() const { return network_.trace_hash(); }
  int64_t events() const { return events_applied_; }
  // Sent but never received: 0 after a run that went well, unless ranks disagree about what to send.
  int64_t messages_left() const { return network_.messages_left(); }

 private:
  void Apply(const Event& event);
  void AdvanceReady();
  void Advance(int rank);
  // The rank's program is over; the others hear of it when that was a failure.
  void End(int rank, const absl::Status& status);
  void Spread(int rank);
  void Partition();
  // Nothing is going to happen: kernels may still be late. True if some program moved on.
  bool PollUnfinished();
  std::string DescribeWaits() const;

  const SimOptions options_;
  EventQueue events_;
  SimNetwork network_;
  SimRandom random_;
  std::vector<std::unique_ptr<SimTransport>> transports_;
  std::vector<int> partition_;
  int64_t events_applied_ = 0;

  // Of the run under way.
  absl::Span<const Program> programs_;
  std::vector<bool> finished_;
  int unfinished_ = 0;
  Outcome outcome_;
  std::vector<int> ready_;
};

}  // namespace lockstep::transport::sim
