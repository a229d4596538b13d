#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "src/net/hello.h"

namespace lockstep::net {

// The opening of every connection, without the connection: bytes in, bytes out. Both sides prove that they
// know the job's secret before either acts on a byte of the other's hello, then compare hellos.
//
//   1  dialler  -> acceptor   magic, version, fresh nonce of 32 bytes
//   2  acceptor -> dialler    magic, version, fresh nonce of 32 bytes
//   3  dialler  -> acceptor   hello, MAC
//   4  acceptor -> dialler    hello, verdict, MAC        (or "denied", when the MAC of 3 is wrong)
//   5  dialler  -> acceptor   verdict, MAC
//
// A MAC is HMAC-SHA-256 under the secret over a label that names step and side, and every byte of the
// handshake before it, so that nothing can be replayed (nonces), reflected (label) or moved to another
// connection (both). A verdict is a status: the side that refuses says why, and both end with that reason.
// The dialler sends step 5 only when told to (Confirm): of several connections to one peer the acceptor
// hands over just the one that the dialler chose.
//
// An empty secret is a secret that everyone knows: the hellos are still compared.
//
// Not thread-safe. Memory is bounded by kMaxHandshakeBytes whatever arrives. Never reads beyond its own
// bytes: feed it wanted() bytes at most, what follows belongs to the protocol above.
class Handshake {
 public:
  enum class Side { kDialler, kAcceptor };
  enum class State {
    kRunning,
    kProven,  // dialler only: the peer is proven and accepts; waits for Confirm()
    kDone,    // send output(), then the connection belongs to the protocol above
    kFailed,  // send output(), then close; status() says why
  };
  // Whether the acceptor takes this peer, whose secret is proven. FailedPrecondition, NotFound and
  // Unavailable reach the dialler as they are.
  using Admit = std::function<absl::Status(const Hello& peer)>;

  // `mine.role`, communicator, lane and stripe of an acceptor are taken from the dialler's hello. Without
  // `admit` hellos are compared by CompareHellos.
  Handshake(Side side, std::string secret, Hello mine, Admit admit = nullptr);

  // Bytes to feed next, at most; 0 when nothing more is to be read.
  size_t wanted() const;
  void Feed(absl::Span<const std::byte> bytes);
  // What is to be sent now; the caller takes it away.
  std::string TakeOutput();
  void Confirm();

  State state() const { return state_; }
  // OK unless failed: PermissionDenied for another secret, InvalidArgument for what is no handshake,
  // Unavailable for a connection that leads back here, else what this side or the other refused
  // (FailedPrecondition, NotFound, Unavailable; Unimplemented where an unproven dialler speaks another
  // version).
  const absl::Status& status() const { return status_; }
  // Proven from kProven (dialler) or kDone (acceptor) on.
  const Hello& peer() const { return peer_; }

 private:
  enum class Step { kNonce, kLength, kBody };

  void Advance();
  void TakeNonce();
  void RefuseVersion(uint8_t version);
  void TakeLength();
  void TakeBody();
  void TakeDiallersHello(const std::string& body);
  void TakeAcceptorsHello(const std::string& body);
  void TakeDiallersVerdict(const std::string& body);
  void SendNonce();
  void SendBody(const char* label, const std::string& body);
  const char* ExpectedLabel() const;
  size_t MaxBodyBytes() const;
  void Fail(absl::Status status);

  const Side side_;
  const std::string secret_;
  const Admit admit_;
  Hello mine_;
  Hello peer_;
  State state_ = State::kRunning;
  absl::Status status_;
  Step step_ = Step::kNonce;
  size_t step_bytes_;       // of the step being received
  std::string input_;       // of the step so far
  std::string output_;      // not taken yet
  std::string transcript_;  // every byte of both sides so far, MACs included
  std::string nonce_;       // this side's step 1 or 2
  bool hello_taken_ = false;
};

inline constexpr size_t kMaxReasonBytes = 2048;
inline constexpr size_t kMaxHandshakeBytes = 4 * (kMaxHelloBytes + kMaxReasonBytes);

}  // namespace lockstep::net
