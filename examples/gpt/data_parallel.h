#pragma once

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lockstep/communicator.h"

namespace lockstep::gpt {

// All that data parallelism asks of the communicator, and the time it takes.
//
// Every rank must make the same calls in the same order. Not thread-safe.
class DataParallel {
 public:
  // Reads the launch environment where `options` leave it to that; alone, the world size is 1.
  static absl::StatusOr<DataParallel> Create(const CommunicatorOptions& options = {});

  int rank() const { return comm_->rank(); }
  int world_size() const { return comm_->world_size(); }
  // Ranks that share this rank's host name, itself included: how many share its cores.
  absl::StatusOr<int> RanksOnThisHost();

  // Replaces each element by its mean over ranks.
  absl::Status Average(absl::Span<float> gradients);
  // Replaces each element by its sum over ranks.
  absl::Status Sum(absl::Span<double> values);
  // Seconds spent in Average() so far.
  double seconds() const { return seconds_; }

 private:
  explicit DataParallel(std::unique_ptr<Communicator> comm) : comm_(std::move(comm)) {}

  std::unique_ptr<Communicator> comm_;
  double seconds_ = 0;
};

}  // namespace lockstep::gpt
