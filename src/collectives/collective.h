#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/kernel_table.h"
#include "lockstep/status.h"
#include "lockstep/stream.h"
#include "src/collectives/descriptor.h"
#include "src/transport/transport.h"

namespace lockstep::collectives {

// One collective on one rank, as a state machine with named phases.
//
// Advance() does what can be done now and returns; it never blocks, sleeps, reads a clock, owns a thread or
// calls Transport::Progress(): whoever drives it does. Operations that it posted are members, so it must
// outlive them: it is destroyed only after it has finished, or after Transport::Abort().
class Collective {
 public:
  virtual ~Collective() = default;
  // True: finished, the output is there and the buffers are the user's again. An error is final.
  virtual absl::StatusOr<bool> Advance() = 0;
};

// What a collective works with. Everything is borrowed and outlives it.
struct Context {
  transport::Transport* transport = nullptr;
  const kernels::KernelTable* kernels = nullptr;
  Stream stream;                     // where kernels run; may complete them late
  absl::Span<std::byte> scratch;     // the communicator's staging memory, all of it; 64-byte aligned
  transport::Tag tag;                // goes with every message
  int64_t chunk_bytes = 128 * 1024;  // granularity of pipelining: what stays in a core's cache
  int rank() const { return transport->rank(); }
  int world_size() const { return transport->world_size(); }
};

// The call's buffers. Checked before: sizes fit, counts are not negative, no overlap but the legal in-place
// ones.
struct Arguments {
  Descriptor descriptor;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  // may be == input (in place), or contain it where the operation allows that
  int64_t input_count = 0;      // elements
  int64_t output_count = 0;
  std::vector<int64_t>
      counts;  // per rank: allgatherv, reduce-scatter-v, gatherv (root), scatterv (root), send counts
  std::vector<int64_t> recv_counts;  // all-to-all-v
};

// Makes the state machine for a collective (not Send or Recv). `algorithm` is a choice that Choose() made.
// ResourceExhausted when the scratch memory is too small for even the smallest step.
absl::StatusOr<std::unique_ptr<Collective>> MakeCollective(const Context& context, const Arguments& arguments,
                                                           Algorithm algorithm);

// The algorithm for a call: what was asked for where it fits the operation, else by size and world size. The
// same on every rank, since it depends on the descriptor and the world size alone.
Algorithm Choose(const Descriptor& descriptor, int world_size);

}  // namespace lockstep::collectives
