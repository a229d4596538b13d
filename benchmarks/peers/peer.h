#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::peers {

// Another library's collectives, measured as `lockstep bench` measures Lockstep's: the same data, the same
// number of warm-up and timed calls, the time of a call being that of its slowest rank.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // A call of `op` on f32 sums. `whole` elements are the larger of a rank's input and output, `part` those
  // that belong to one rank. The buffers outlive the call. Null where the library has no such operation.
  // allreduce and broadcast are in place, in `output`.
  virtual std::function<void()> Prepare(const std::string& op, float* input, float* output, size_t whole,
                                        size_t part) = 0;
  // values[i] = the largest over ranks.
  virtual void Maximum(std::vector<double>* values) = 0;
};

// PROGRAM --ops allreduce,... --sizes BYTES,... [--seconds S]: prints "OP BYTES MEDIAN_US" on rank 0. Returns
// the exit status: 0, 1 if an allreduce gave a wrong sum, 2 for arguments that are not understood.
int Measure(Peer& peer, int argc, char** argv);

}  // namespace lockstep::peers
