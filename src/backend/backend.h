#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lockstep/stream.h"
#include "src/collectives/collective.h"
#include "src/transport/transport.h"

namespace lockstep::backend {

// What executes the collectives of one communicator on one kind of device. Driven by one thread at a time,
// the one that holds the communicator's lock; nothing here blocks.
class Backend {
 public:
  virtual ~Backend() = default;

  // "tcp", "ucx", "nccl".
  virtual const char* name() const = 0;
  // Begins a collective; at most one is under way at a time. The tag carries its sequence number and
  // descriptor; the backend adds the algorithm, which `chosen` receives.
  virtual absl::StatusOr<std::unique_ptr<collectives::Collective>> Begin(
      const collectives::Arguments& arguments, uint64_t sequence, const Stream& stream,
      Algorithm* chosen) = 0;
  // Point to point, beside collectives.
  virtual void PostSend(int peer, const transport::Tag& tag, absl::Span<const std::byte> data,
                        transport::Operation* operation) = 0;
  virtual void PostReceive(int peer, const transport::Tag& tag, absl::Span<std::byte> data,
                           transport::Operation* operation) = 0;
  // As Transport's.
  virtual bool Progress() = 0;
  virtual void AppendWaits(std::vector<pollfd>* waits) const = 0;
  // No buffer is touched after it returns.
  virtual void Abort(const absl::Status& reason) = 0;
  virtual transport::Transport::Counters counters() const = 0;
  // Bytes of staging memory held, and its bound.
  virtual int64_t buffer_bytes() const = 0;
};

}  // namespace lockstep::backend
