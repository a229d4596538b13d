#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lockstep/algorithm.h"
#include "lockstep/export.h"
#include "lockstep/reduce_op.h"
#include "lockstep/status.h"
#include "lockstep/stream.h"
#include "lockstep/tensor_view.h"
#include "lockstep/work.h"

namespace lockstep::inline v0 {

struct CommunicatorOptions {
  // Who this rank is. Left empty, each is read from the launch environment (lockstep run, torchrun, srun,
  // mpirun or plain RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT); with none of them the world size is 1.
  std::optional<int> rank;
  std::optional<int> world_size;
  std::optional<int> local_rank;
  std::string master_address;
  std::optional<uint16_t> master_port;
  // Rank 0 only: an already bound TCP socket for the store, taken over by the communicator. -1: bind
  // master_port.
  int store_socket = -1;
  // The job's secret; empty: LOCKSTEP_SECRET or LOCKSTEP_SECRET_FILE. Without one, everything listens on
  // loopback only.
  std::string secret;

  std::chrono::nanoseconds timeout{0};           // default deadline of a call; 0: LOCKSTEP_TIMEOUT, 10 min
  std::chrono::nanoseconds creation_timeout{0};  // 0: LOCKSTEP_CREATION_TIMEOUT, 5 min
  std::chrono::nanoseconds heartbeat_timeout{
      0};  // a silent rank is lost after this; 0: LOCKSTEP_HEARTBEAT_TIMEOUT, 30 s
  Determinism determinism = Determinism::kFast;
  std::string backend;         // "auto", "tcp"; empty: LOCKSTEP_BACKEND, auto
  int64_t buffer_bytes = 0;    // bound of staging memory; 0: LOCKSTEP_BUFFER_BYTES, 64 MiB
  std::string name = "world";  // shown in messages and reports
};

struct CallOptions {
  std::chrono::nanoseconds timeout{0};  // 0: the communicator's
  Stream stream;                        // the call starts after what the stream holds now
  Algorithm algorithm = Algorithm::kAuto;
  std::optional<Determinism> determinism;  // empty: the communicator's
};

// A group of ranks that call collectives together.
//
//     LOCKSTEP_ASSIGN_OR_RETURN(auto comm, lockstep::Communicator::Create());
//     std::vector<float> gradient(1000, float(comm->rank()));
//     LOCKSTEP_RETURN_IF_ERROR(comm->AllReduce(gradient, lockstep::ReduceOp::kAvg).Wait());
//
// Collectives run in call order, and every rank must make the same calls in the same order; ranks that
// disagree get FailedPrecondition naming both sides. Calls return at once; the returned Work is the pending
// collective, and the buffers must stay valid, and be left alone, until it has ended. Wrong arguments and
// calls on a failed communicator give a Work that has already ended with the error.
//
// Send and Recv are ordered among themselves per pair of ranks only, and run beside collectives.
//
// Input and output may be the same memory (in place) where a view of one buffer is taken, or where the
// operation's comment says which part; other overlaps are InvalidArgument. Counts are in elements; 0 is legal
// everywhere.
//
// Thread-safe. Calls from several threads are taken in the order in which they arrive; that this order agrees
// across ranks is the caller's part. The destructor returns within 1 s; what is pending then ends with
// Aborted.
//
// After the first failure the communicator is poisoned: every later call returns that status at once.
// Shrink() makes a new communicator of the survivors.
class LOCKSTEP_EXPORT Communicator {
 public:
  // Every rank must call it. Returns once all ranks are there, within creation_timeout.
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(const CommunicatorOptions& options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int world_size() const;
  int local_rank() const;
  const std::string& name() const;
  // What carries the data: "tcp".
  const std::string& backend() const;

  // buffer = reduction over ranks of buffer. Any count.
  Work AllReduce(TensorView buffer, ReduceOp op = ReduceOp::kSum, const CallOptions& options = {});
  // The same out of place; input is not changed.
  Work AllReduce(ConstTensorView input, TensorView output, ReduceOp op, const CallOptions& options = {});
  // output (world_size x input.count) = the inputs in rank order. In place: input is output's part of this
  // rank.
  Work AllGather(ConstTensorView input, TensorView output, const CallOptions& options = {});
  // counts[r] elements from rank r, the same counts on every rank; output is their concatenation.
  Work AllGatherV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts,
                  const CallOptions& options = {});
  // output (input.count / world_size) = this rank's part of the reduction. In place: output is input's part
  // of this rank.
  Work ReduceScatter(ConstTensorView input, TensorView output, ReduceOp op = ReduceOp::kSum,
                     const CallOptions& options = {});
  // The same with counts[r] elements for rank r, the same counts on every rank.
  Work ReduceScatterV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts,
                      ReduceOp op = ReduceOp::kSum, const CallOptions& options = {});
  // buffer of every rank = buffer of `root`.
  Work Broadcast(TensorView buffer, int root, const CallOptions& options = {});
  // output on `root` = the reduction; output is ignored on other ranks and may be empty there.
  Work Reduce(ConstTensorView input, TensorView output, ReduceOp op, int root,
              const CallOptions& options = {});
  // output on `root` (world_size x input.count) = the inputs in rank order.
  Work Gather(ConstTensorView input, TensorView output, int root, const CallOptions& options = {});
  // counts matter on `root` only.
  Work GatherV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts, int root,
               const CallOptions& options = {});
  // output of rank r = part r of `root`'s input (world_size x output.count).
  Work Scatter(ConstTensorView input, TensorView output, int root, const CallOptions& options = {});
  // counts matter on `root` only.
  Work ScatterV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts, int root,
                const CallOptions& options = {});
  // Part r of input goes to rank r; output is what every rank had for this one, in rank order. Never in
  // place.
  Work AllToAll(ConstTensorView input, TensorView output, const CallOptions& options = {});
  // send_counts[r] elements to rank r, recv_counts[r] from it, both packed in rank order.
  Work AllToAllV(ConstTensorView input, absl::Span<const int64_t> send_counts, TensorView output,
                 absl::Span<const int64_t> recv_counts, const CallOptions& options = {});
  // Point to point: the n-th Send to a peer meets the n-th Recv there; dtype and count must agree.
  Work Send(ConstTensorView buffer, int peer, const CallOptions& options = {});
  Work Recv(TensorView buffer, int peer, const CallOptions& options = {});
  // Ends after every rank has entered it.
  Work Barrier(const CallOptions& options = {});

  // Collective. Ranks with the same color form a new communicator, ordered by (key, rank). A negative color
  // takes part without joining and gets nullptr. The new one lives independently of this one.
  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key, const std::string& name = "");
  // Called by every survivor after a failure: a new communicator of those that are left, in the old order.
  // Needs neither rank 0 nor its store. On a healthy communicator it is a copy.
  absl::StatusOr<std::unique_ptr<Communicator>> Shrink();
  // Poisons the communicator on every rank: pending and later calls end with Aborted and `reason`. Returns at
  // once.
  void Abort(const std::string& reason);
  // OK, or the failure that poisoned the communicator.
  absl::Status status() const;
  // Ranks, backend, algorithms, memory held, counters: for people.
  std::string report() const;

  class Impl;
  explicit Communicator(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::inline v0
