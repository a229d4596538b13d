#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace lockstep::transport {

// Lanes of one pair of ranks never share an order: a message that waits on one does not hold up the other.
enum class Lane : uint8_t { kCollective = 0, kPointToPoint = 1 };
inline constexpr int kLaneCount = 2;

// What a message says about the call that it belongs to. The receiver compares it with its own before it
// takes a byte of the payload; ranks that disagree get FailedPrecondition, not wrong data.
struct Tag {
  uint64_t sequence = 0;
  uint64_t descriptor = 0;
  uint16_t algorithm = 0;
  friend bool operator==(const Tag&, const Tag&) = default;
};

// A posted send or receive. Owned by whoever posted it; must stay where it is until done() or
// Transport::Abort(). Used by one thread at a time, the one that drives the transport.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  bool done() const { return done_; }
  // OK while pending.
  const absl::Status& status() const { return status_; }

  // For transports.
  void Post(int peer, const Tag& tag, std::byte* data, int64_t bytes) {
    peer_ = peer;
    tag_ = tag;
    data_ = data;
    bytes_ = bytes;
    transferred_ = 0;
    done_ = false;
    next_ = nullptr;
    if (!status_.ok()) status_ = absl::OkStatus();
  }
  void Complete() { done_ = true; }
  void Fail(absl::Status status) {
    status_ = std::move(status);
    done_ = true;
  }
  int peer() const { return peer_; }
  const Tag& tag() const { return tag_; }
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  int64_t transferred() const { return transferred_; }
  void Advance(int64_t bytes) { transferred_ += bytes; }
  Operation* next() const { return next_; }
  void set_next(Operation* next) { next_ = next; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t transferred_ = 0;
  Operation* next_ = nullptr;  // the transport's queue
  Tag tag_;
  int peer_ = 0;
  bool done_ = true;
  absl::Status status_;
};

// Moves messages between the ranks of one communicator. Messages of one (lane, peer, direction) are matched
// in the order in which they were posted; nothing is ordered across peers, lanes or directions. There is no
// unexpected message: what nobody has posted a receive for stays in the network.
//
// Not thread-safe: whoever drives the communicator holds its lock. Nothing here blocks. Peers are ranks of
// the communicator. Connections are made when first needed.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // The buffer must not change until the send is done: then it may be reused, whether or not the peer has the
  // data yet. A message of 0 bytes is a message. `peer` is another rank than this one.
  virtual void PostSend(Lane lane, int peer, const Tag& tag, absl::Span<const std::byte> data,
                        Operation* operation) = 0;
  // Receives one message of exactly data.size() bytes. A message with another tag or length fails the
  // operation with FailedPrecondition (saying what came and what was expected) and takes nothing; a peer that
  // is gone with Unavailable; a damaged payload with DataLoss.
  virtual void PostReceive(Lane lane, int peer, const Tag& tag, absl::Span<std::byte> data,
                           Operation* operation) = 0;

  // Moves what can be moved now. True if anything was.
  virtual bool Progress() = 0;

  // Adds the descriptors, with the events to poll(2) for, whose readiness means that Progress() may have
  // something to do. A transport that adds none while operations are pending must be polled.
  virtual void AppendWaits(std::vector<pollfd>* waits) const = 0;

  // Forgets every posted operation, closes every connection; no buffer is touched after it returns. Later
  // posts fail.
  virtual void Abort(const absl::Status& reason) = 0;

  // Bytes of payload and messages handed over so far, for statistics and tests.
  struct Counters {
    int64_t bytes_sent = 0, bytes_received = 0, messages_sent = 0, messages_received = 0;
  };
  virtual Counters counters() const = 0;
};

}  // namespace lockstep::transport
