// The handshake, fed with strangers' bytes on either side, torn anywhere, and with hellos of every kind from
// a peer that knows the secret. A stranger gets nowhere; two peers always end the same way.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/net/handshake.h"

namespace {

using lockstep::net::Handshake;
using lockstep::net::Hello;
using Side = Handshake::Side;
using State = Handshake::State;

Hello Mine() {
  Hello hello;
  hello.library_version = "0.1.0";
  hello.settings = "timeout=600;determinism=fast";
  return hello;
}

// Feeds `bytes`, at most `step` at a time.
void Feed(Handshake* handshake, const std::string& bytes, size_t step) {
  size_t at = 0;
  while (at < bytes.size() && handshake->wanted() > 0) {
    const size_t count = std::min({bytes.size() - at, handshake->wanted(), step});
    handshake->Feed(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()) + at, count));
    at += count;
  }
}

void FeedStranger(Side side, const std::string& bytes, size_t step) {
  Handshake handshake(side, "secret", Mine());
  Feed(&handshake, bytes, step);
  if (handshake.state() == State::kProven || handshake.state() == State::kDone) std::abort();
  if (handshake.TakeOutput().size() > lockstep::net::kMaxHandshakeBytes) std::abort();
}

// A nonce that the other side accepts, then the bytes in place of what should follow.
void FeedAfterNonce(Side side, const std::string& bytes, size_t step) {
  Handshake handshake(side, "secret", Mine());
  Handshake nonce(Side::kDialler, "", Mine());
  Feed(&handshake, nonce.TakeOutput(), step);
  Feed(&handshake, bytes, step);
  if (handshake.state() == State::kProven || handshake.state() == State::kDone) std::abort();
}

void MeetPeer(const Hello& theirs) {
  if (lockstep::net::DecodeHello(lockstep::net::EncodeHello(theirs)).value() != theirs) std::abort();
  Handshake dialler(Side::kDialler, "secret", theirs);
  Handshake acceptor(Side::kAcceptor, "secret", Mine());
  for (int turn = 0; turn < 4; ++turn) {
    dialler.Confirm();
    Feed(&acceptor, dialler.TakeOutput(), 1 << 16);
    Feed(&dialler, acceptor.TakeOutput(), 1 << 16);
  }
  const bool both = dialler.state() == State::kDone && acceptor.state() == State::kDone;
  const bool neither = dialler.state() == State::kFailed && acceptor.state() == State::kFailed;
  if (!both && !neither) std::abort();
  if (neither && dialler.status().code() != acceptor.status().code()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = 1 + data[0];
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (Side side : {Side::kDialler, Side::kAcceptor}) {
    FeedStranger(side, bytes, step);
    FeedAfterNonce(side, bytes, step);
  }
  if (const auto hello = lockstep::net::DecodeHello(bytes); hello.ok()) MeetPeer(*hello);
  return 0;
}
