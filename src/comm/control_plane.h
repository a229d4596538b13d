#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/bootstrap/membership.h"
#include "src/collectives/descriptor.h"
#include "src/net/switchboard.h"

namespace lockstep::comm {

using bootstrap::LostRank;

// What a communicator hears from the control plane. Called on the control thread, or within a call to the
// control plane on the thread that makes it; must not block, and must not call the control plane.
class ControlListener {
 public:
  virtual ~ControlListener() = default;
  // Members of this communicator are gone. Called once for each rank.
  virtual void OnLost(const LostRank& lost) = 0;
  // The communicator is to fail with `status` on every rank: ranks disagree about a call (FailedPrecondition
  // with both sides), a rank aborted, or a rank's deadline passed. `sequence` is the collective it is about,
  // 0 for all. Called once. On a rank that the others gave up: Unavailable, with their reason.
  virtual void OnPoison(uint64_t sequence, const absl::Status& status) = 0;
  // What this rank called as collective `sequence`, if it has and still remembers.
  virtual std::optional<collectives::Descriptor> DescriptorAt(uint64_t sequence) = 0;
};

// What the ranks of a job tell each other beside the data: who is lost, what a stalled rank is waiting in,
// which communicator is poisoned, who survives. One a process and job (a rank as a thread has its own),
// shared by the communicators that descend from one Create(). Needs neither rank 0 nor its store once it
// runs: ranks are linked in a graph of O(log P) neighbours each (ranks at distance 2^i both ways), and what
// is told is a set of facts that only grows and is merged by gossip, so that any living path will do.
//
// The logic is in machines over injected links and clock (bootstrap::Membership, ControlMachine,
// SurvivorAgreement), which tests run by the thousand in virtual time; this class drives them on the
// switchboard's control thread.
//
// Thread-safe.
class ControlPlane {
 public:
  struct Options {
    int rank = 0;  // in the job, as all ranks here
    int world_size = 1;
    uint64_t incarnation = 0;
    std::vector<std::vector<net::Address>> addresses;  // of every rank
    std::vector<std::string> descriptions;             // of every rank: "host n07, pid 4711"
    std::chrono::nanoseconds heartbeat_timeout{std::chrono::seconds(30)};
    std::chrono::nanoseconds creation_timeout{std::chrono::minutes(5)};
  };
  // Returns when the links to all neighbours stand. DeadlineExceeded names those that did not answer;
  // FailedPrecondition or PermissionDenied when a neighbour refuses this rank, with the difference.
  static absl::StatusOr<std::shared_ptr<ControlPlane>> Start(std::shared_ptr<net::Switchboard> switchboard,
                                                             Options options);
  // Says goodbye to the neighbours; within 1 s.
  virtual ~ControlPlane() = default;

  // `members` are job ranks in the communicator's order. Facts that are already known are told at once.
  virtual void Register(uint64_t communicator, std::vector<int> members, ControlListener* listener) = 0;
  // No call to the listener is running or will be made when it returns.
  virtual void Unregister(uint64_t communicator) = 0;

  // This rank has waited without progress in `sequence`, or saw a message that does not fit it: compare what
  // all members called. Ends in OnPoison on all members if they disagree, in nothing if they do not.
  virtual void Compare(uint64_t communicator, uint64_t sequence) = 0;
  // Tells all members.
  virtual void Poison(uint64_t communicator, uint64_t sequence, const absl::Status& status) = 0;
  // A data connection to this rank broke: probe it now instead of waiting for its neighbours to notice.
  virtual void Suspect(int rank) = 0;
  // The ranks (of the communicator) that have not been seen to make call `sequence` since Compare() asked for
  // it.
  virtual std::vector<int> Absent(uint64_t communicator, uint64_t sequence) const = 0;
  // The ranks known to be lost.
  virtual std::vector<LostRank> lost() const = 0;

  // Blocks until the members that are alive agree who they are; the same answer on all of them. `epoch`
  // numbers the attempts on this communicator. FailedPrecondition on a rank that the others gave up, or on
  // the smaller part after a partition; DeadlineExceeded naming who has not answered.
  virtual absl::StatusOr<std::vector<int>> AgreeOnSurvivors(uint64_t communicator, uint32_t epoch,
                                                            std::chrono::nanoseconds timeout) = 0;
};

}  // namespace lockstep::comm
