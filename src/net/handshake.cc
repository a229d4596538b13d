#include "src/net/handshake.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/net/little_endian.h"
#include "src/net/message_authentication.h"

namespace lockstep::net {
namespace {

constexpr uint32_t kMagic = 0x48534b4c;  // "LKSH"
constexpr uint8_t kVersion = 1;
constexpr size_t kNonceBytes = 32;
constexpr size_t kPrefixBytes = 8;  // magic u32, version u8, three zero bytes
constexpr size_t kNonceStepBytes = kPrefixBytes + kNonceBytes;
constexpr size_t kLengthBytes = 4;
constexpr uint32_t kDenied = 0xffffffff;  // in place of step 4's length

constexpr char kDiallersHello[] = "lockstep handshake: dialler's hello";
constexpr char kAcceptorsHello[] = "lockstep handshake: acceptor's hello";
constexpr char kDiallersVerdict[] = "lockstep handshake: dialler's verdict";

std::string Prefix() {
  std::string prefix(kPrefixBytes, '\0');
  StoreLittleEndian(kMagic, prefix.data());
  StoreLittleEndian(kVersion, prefix.data() + 4);
  return prefix;
}

// A status as code u8 and text.
std::string EncodeVerdict(const absl::Status& status) {
  std::string verdict(1, static_cast<char>(status.code()));
  return verdict + std::string(status.message()).substr(0, kMaxReasonBytes - 1);
}

absl::Status DecodeVerdict(const std::string& bytes) {
  if (bytes.empty() || bytes.size() > kMaxReasonBytes)
    return absl::InvalidArgumentError("malformed verdict in the handshake");
  const std::string text = absl::Utf8SafeCHexEscape(bytes.substr(1));
  switch (static_cast<absl::StatusCode>(static_cast<uint8_t>(bytes[0]))) {
    case absl::StatusCode::kOk:
      return absl::OkStatus();
    case absl::StatusCode::kNotFound:
      return absl::NotFoundError(text);
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(text);
    default:
      return absl::FailedPreconditionError(text);
  }
}

absl::Status OtherSecret() {
  return absl::PermissionDeniedError(
      "the other side has another secret (LOCKSTEP_SECRET differs between the ranks, or this is another "
      "job's "
      "port); start all ranks with the same secret");
}

// A hello that a peer with the right secret made and this library cannot read.
absl::Status Unreadable(const absl::Status& status) {
  return absl::FailedPreconditionError(std::string(status.message()));
}

}  // namespace

Handshake::Handshake(Side side, std::string secret, Hello mine, Admit admit)
    : side_(side),
      secret_(std::move(secret)),
      admit_(std::move(admit)),
      mine_(std::move(mine)),
      step_bytes_(kNonceStepBytes) {
  nonce_ = RandomBytes(kNonceBytes);
  if (nonce_.empty()) {
    Fail(absl::InternalError("no random bytes to be had for the handshake's nonce"));
    return;
  }
  if (side_ == Side::kDialler) SendNonce();
}

size_t Handshake::wanted() const { return state_ == State::kRunning ? step_bytes_ - input_.size() : 0; }

void Handshake::Feed(absl::Span<const std::byte> bytes) {
  const size_t taken = std::min(bytes.size(), wanted());
  input_.append(reinterpret_cast<const char*>(bytes.data()), taken);
  if (state_ == State::kRunning && input_.size() == step_bytes_) Advance();
}

std::string Handshake::TakeOutput() { return std::exchange(output_, {}); }

void Handshake::Confirm() {
  if (state_ != State::kProven) return;
  SendBody(kDiallersVerdict, EncodeVerdict(absl::OkStatus()));
  if (state_ == State::kProven) state_ = State::kDone;
}

void Handshake::Advance() {
  switch (step_) {
    case Step::kNonce:
      return TakeNonce();
    case Step::kLength:
      return TakeLength();
    case Step::kBody:
      return TakeBody();
  }
}

void Handshake::TakeNonce() {
  const std::string step = std::exchange(input_, {});
  if (step.substr(0, 4) != Prefix().substr(0, 4))
    return Fail(absl::InvalidArgumentError("not a Lockstep peer (it opened with something else)"));
  if (step.substr(0, kPrefixBytes) != Prefix()) return RefuseVersion(static_cast<uint8_t>(step[4]));
  if (step.substr(kPrefixBytes) == nonce_)
    return Fail(
        absl::UnavailableError("this connection leads back to this process (its own nonce came back)"));
  transcript_ += step;
  if (side_ == Side::kAcceptor)
    SendNonce();
  else
    SendBody(kDiallersHello, EncodeHello(mine_));
  step_ = Step::kLength;
  step_bytes_ = kLengthBytes;
}

void Handshake::RefuseVersion(uint8_t version) {
  const std::string message =
      absl::StrCat("the other side speaks version ", version, " of the handshake (this library: ", kVersion,
                   "); use the same library on all ranks");
  if (side_ == Side::kDialler) return Fail(absl::FailedPreconditionError(message));
  // So that the dialler learns of the difference too. Whoever this is has proven nothing: not the code of a
  // peer that was refused.
  SendNonce();
  Fail(absl::UnimplementedError(message));
}

void Handshake::TakeLength() {
  const auto bytes = LoadLittleEndian<uint32_t>(input_.data());
  if (side_ == Side::kDialler && bytes == kDenied) return Fail(OtherSecret());
  if (bytes == 0 || bytes > MaxBodyBytes())
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("handshake message of ", bytes, " bytes (at most ", MaxBodyBytes(), ")")));
  step_ = Step::kBody;
  step_bytes_ = kLengthBytes + bytes + kMacBytes;  // the length stays in front: the MAC covers it
}

void Handshake::TakeBody() {
  const std::string step = std::exchange(input_, {});
  const std::string covered = step.substr(0, step.size() - kMacBytes);
  const std::string mac = step.substr(step.size() - kMacBytes);
  if (!SameMac(Mac(secret_, ExpectedLabel(), transcript_ + covered), mac)) {
    if (side_ == Side::kAcceptor) {
      output_.resize(kLengthBytes);
      StoreLittleEndian(kDenied, output_.data());
    }
    return Fail(OtherSecret());
  }
  transcript_ += step;
  const std::string body = covered.substr(kLengthBytes);
  step_ = Step::kLength;
  step_bytes_ = kLengthBytes;
  if (side_ == Side::kDialler) return TakeAcceptorsHello(body);
  if (!hello_taken_) return TakeDiallersHello(body);
  TakeDiallersVerdict(body);
}

void Handshake::TakeDiallersHello(const std::string& body) {
  hello_taken_ = true;
  absl::StatusOr<Hello> hello = DecodeHello(body);
  absl::Status verdict = hello.ok() ? absl::OkStatus() : Unreadable(hello.status());
  if (hello.ok()) {
    peer_ = *std::move(hello);
    mine_.role = peer_.role;
    mine_.communicator = peer_.communicator;
    mine_.lane = peer_.lane;
    mine_.stripe = peer_.stripe;
    verdict = admit_ ? admit_(peer_) : CompareHellos(mine_, peer_);
  }
  const std::string mine = EncodeHello(mine_);
  std::string reply(2, '\0');
  StoreLittleEndian(static_cast<uint16_t>(mine.size()), reply.data());
  SendBody(kAcceptorsHello, reply + mine + EncodeVerdict(verdict));
  if (!verdict.ok()) Fail(std::move(verdict));
}

void Handshake::TakeAcceptorsHello(const std::string& body) {
  const size_t hello_bytes = body.size() < 2 ? 0 : LoadLittleEndian<uint16_t>(body.data());
  if (body.size() < 2 + hello_bytes)
    return Fail(absl::InvalidArgumentError("malformed hello in the handshake"));
  if (absl::Status verdict = DecodeVerdict(body.substr(2 + hello_bytes)); !verdict.ok())
    return Fail(std::move(verdict));
  absl::StatusOr<Hello> hello = DecodeHello(body.substr(2, hello_bytes));
  absl::Status verdict = hello.ok() ? CompareHellos(mine_, *hello) : Unreadable(hello.status());
  if (!verdict.ok()) {
    SendBody(kDiallersVerdict, EncodeVerdict(verdict));
    return Fail(std::move(verdict));
  }
  peer_ = *std::move(hello);
  state_ = State::kProven;
}

void Handshake::TakeDiallersVerdict(const std::string& body) {
  absl::Status verdict = DecodeVerdict(body);
  if (!verdict.ok()) return Fail(std::move(verdict));
  state_ = State::kDone;
}

void Handshake::SendNonce() {
  const std::string step = Prefix() + nonce_;
  output_ += step;
  transcript_ += step;
}

void Handshake::SendBody(const char* label, const std::string& body) {
  std::string step(kLengthBytes, '\0');
  StoreLittleEndian(static_cast<uint32_t>(body.size()), step.data());
  step += body;
  const std::string mac = Mac(secret_, label, transcript_ + step);
  if (mac.empty())
    return Fail(absl::InternalError("HMAC-SHA-256 is not available (OpenSSL's default provider is missing)"));
  step += mac;
  output_ += step;
  transcript_ += step;
}

const char* Handshake::ExpectedLabel() const {
  if (side_ == Side::kDialler) return kAcceptorsHello;
  return hello_taken_ ? kDiallersVerdict : kDiallersHello;
}

size_t Handshake::MaxBodyBytes() const {
  if (side_ == Side::kDialler) return 2 + kMaxHelloBytes + kMaxReasonBytes;
  return hello_taken_ ? kMaxReasonBytes : kMaxHelloBytes;
}

void Handshake::Fail(absl::Status status) {
  if (state_ == State::kFailed) return;
  state_ = State::kFailed;
  status_ = std::move(status);
  input_.clear();
}

}  // namespace lockstep::net
