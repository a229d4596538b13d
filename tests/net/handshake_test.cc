#include "src/net/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "src/net/little_endian.h"
#include "src/net/message_authentication.h"

namespace lockstep::net {
namespace {

using ::testing::HasSubstr;
using Side = Handshake::Side;
using State = Handshake::State;

constexpr char kSecret[] = "the job's secret";

Hello Rank(int rank) {
  Hello hello;
  hello.role = Role::kData;
  hello.rank = rank;
  hello.library_version = "0.1.0";
  hello.settings = "timeout=600";
  hello.communicator = 40 + static_cast<uint64_t>(rank);
  return hello;
}

Handshake Dialler(const std::string& secret = kSecret) { return Handshake(Side::kDialler, secret, Rank(1)); }
Handshake Acceptor(const std::string& secret = kSecret) {
  return Handshake(Side::kAcceptor, secret, Rank(0));
}

// Feeds as much as is wanted, `step` bytes at a time, and returns what is left.
std::string Feed(Handshake* handshake, std::string bytes, size_t step = 1 << 20) {
  while (!bytes.empty() && handshake->wanted() > 0) {
    const size_t count = std::min({bytes.size(), handshake->wanted(), step});
    handshake->Feed(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), count));
    bytes.erase(0, count);
  }
  return bytes;
}

// Everything that each side sent.
struct Record {
  std::vector<std::string> dialler, acceptor;
};

Record Converse(Handshake* dialler, Handshake* acceptor, size_t step = 1 << 20) {
  Record record;
  while (true) {
    if (dialler->state() == State::kProven) dialler->Confirm();
    const std::string there = dialler->TakeOutput();
    const std::string back = acceptor->TakeOutput();
    if (there.empty() && back.empty()) return record;
    if (!there.empty()) record.dialler.push_back(there);
    if (!back.empty()) record.acceptor.push_back(back);
    EXPECT_EQ(Feed(acceptor, there, step), "");
    EXPECT_EQ(Feed(dialler, back, step), "");
  }
}

TEST(MacTest, IsHmacSha256OfLabelZeroAndMessage) {
  // Made with Python's hmac module.
  EXPECT_EQ(absl::BytesToHexString(Mac("key", "label", "message")),
            "c5bd3756eab8831f310e5dbaa4882d003ceb4e0cfa003a72d9677974d168308c");
  EXPECT_EQ(absl::BytesToHexString(Mac("", "label", "")),
            "72b8e251317a6a4990255abf5b1f748f0e0554bc1c9ae2190b38ff299931f1cb");
}

TEST(MacTest, ComparesWholeMacsOnly) {
  EXPECT_TRUE(SameMac(Mac("k", "l", "m"), Mac("k", "l", "m")));
  EXPECT_FALSE(SameMac(Mac("k", "l", "m"), Mac("k", "lm", "")));
  EXPECT_FALSE(SameMac("", ""));
}

TEST(HandshakeTest, ProvesBothSidesAndTellsThemWhoTheOtherIs) {
  for (const std::string secret : {kSecret, ""}) {
    Handshake dialler = Dialler(secret), acceptor = Acceptor(secret);
    Converse(&dialler, &acceptor);
    ASSERT_EQ(dialler.state(), State::kDone);
    ASSERT_EQ(acceptor.state(), State::kDone);
    EXPECT_EQ(acceptor.peer(), Rank(1));
    EXPECT_EQ(dialler.peer().rank, 0);
    EXPECT_EQ(dialler.peer().communicator, 41u);  // the dialler's, not the acceptor's
  }
}

TEST(HandshakeTest, TakesItsBytesOneByOne) {
  Handshake dialler = Dialler(), acceptor = Acceptor();
  Converse(&dialler, &acceptor, 1);
  EXPECT_EQ(dialler.state(), State::kDone);
  EXPECT_EQ(acceptor.state(), State::kDone);
}

TEST(HandshakeTest, LeavesWhatFollowsAlone) {
  Handshake dialler = Dialler(), acceptor = Acceptor();
  Feed(&acceptor, dialler.TakeOutput());
  Feed(&dialler, acceptor.TakeOutput());
  Feed(&acceptor, dialler.TakeOutput());
  Feed(&dialler, acceptor.TakeOutput());
  dialler.Confirm();
  EXPECT_EQ(Feed(&acceptor, dialler.TakeOutput() + "data"), "data");
  EXPECT_EQ(acceptor.state(), State::kDone);
}

TEST(HandshakeTest, TheAcceptorIsNotDoneBeforeTheDiallerConfirms) {
  Handshake dialler = Dialler(), acceptor = Acceptor();
  Feed(&acceptor, dialler.TakeOutput());
  Feed(&dialler, acceptor.TakeOutput());
  Feed(&acceptor, dialler.TakeOutput());
  Feed(&dialler, acceptor.TakeOutput());
  EXPECT_EQ(dialler.state(), State::kProven);
  EXPECT_EQ(acceptor.state(), State::kRunning);
}

TEST(HandshakeTest, RefusesAnotherSecretAndSaysSo) {
  Handshake dialler = Dialler("another"), acceptor = Acceptor();
  Converse(&dialler, &acceptor);
  EXPECT_EQ(acceptor.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(dialler.status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(HandshakeTest, TellsAStrangerNothingButANonce) {
  Handshake dialler = Dialler("another"), acceptor = Acceptor();
  const Record record = Converse(&dialler, &acceptor);
  size_t bytes = 0;
  for (const std::string& sent : record.acceptor) bytes += sent.size();
  EXPECT_EQ(bytes, 40u + 4u);
}

TEST(HandshakeTest, DoesNotAskAboutAPeerBeforeItsSecretIsProven) {
  Handshake dialler = Dialler("another");
  Handshake acceptor(Side::kAcceptor, kSecret, Rank(0), [](const Hello&) {
    ADD_FAILURE() << "asked";
    return absl::OkStatus();
  });
  Converse(&dialler, &acceptor);
}

TEST(HandshakeTest, BothSidesEndWithTheDifference) {
  Hello other = Rank(1);
  other.settings = "timeout=300";
  Handshake dialler(Side::kDialler, kSecret, other), acceptor = Acceptor();
  Converse(&dialler, &acceptor);
  for (const Handshake* side : {&dialler, &acceptor}) {
    EXPECT_EQ(side->status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(side->status().message()),
                HasSubstr("setting timeout: rank 0 has 600, rank 1 has 300"));
  }
}

TEST(HandshakeTest, TheDiallersRefusalReachesTheAcceptor) {
  Hello picky = Rank(1);
  picky.library_version = "0.2.0";
  Handshake dialler(Side::kDialler, kSecret, picky);
  Handshake acceptor(Side::kAcceptor, kSecret, Rank(0), [](const Hello&) { return absl::OkStatus(); });
  Converse(&dialler, &acceptor);
  for (const Handshake* side : {&dialler, &acceptor})
    EXPECT_THAT(std::string(side->status().message()), HasSubstr("library version"));
}

TEST(HandshakeTest, TheAcceptorsReasonsKeepTheirCode) {
  for (const absl::Status& reason : {absl::UnavailableError("busy"), absl::NotFoundError("not me"),
                                     absl::FailedPreconditionError("different")}) {
    Handshake dialler = Dialler();
    Handshake acceptor(Side::kAcceptor, kSecret, Rank(0), [&](const Hello&) { return reason; });
    Converse(&dialler, &acceptor);
    EXPECT_EQ(dialler.status(), reason);
  }
}

TEST(HandshakeTest, RefusesAReplay) {
  Handshake dialler = Dialler(), acceptor = Acceptor();
  const Record record = Converse(&dialler, &acceptor);
  // What the dialler sent once, sent again by somebody else.
  Handshake again = Acceptor();
  for (const std::string& bytes : record.dialler) Feed(&again, bytes);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kPermissionDenied);
  // And the acceptor's side.
  Handshake victim = Dialler();
  for (const std::string& bytes : record.acceptor) Feed(&victim, bytes);
  EXPECT_EQ(victim.status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(HandshakeTest, RefusesItsOwnBytesReflected) {
  Handshake dialler = Dialler();
  Feed(&dialler, dialler.TakeOutput());
  EXPECT_EQ(dialler.state(), State::kFailed);
}

TEST(HandshakeTest, RefusesAReflectedMac) {
  // A man in the middle gives the dialler a nonce of his own and sends its hello with its MAC back to it.
  Handshake dialler = Dialler();
  std::string nonce = dialler.TakeOutput();
  nonce[20] ^= 1;
  Feed(&dialler, nonce);
  Feed(&dialler, dialler.TakeOutput());
  EXPECT_EQ(dialler.status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(HandshakeTest, RefusesAMacMovedFromAnotherConnection) {
  // Two diallers, two acceptors, their hellos crossed over.
  Handshake dialler1 = Dialler(), dialler2 = Dialler(), acceptor1 = Acceptor(), acceptor2 = Acceptor();
  Feed(&acceptor1, dialler1.TakeOutput());
  Feed(&acceptor2, dialler2.TakeOutput());
  Feed(&dialler1, acceptor1.TakeOutput());
  Feed(&dialler2, acceptor2.TakeOutput());
  Feed(&acceptor1, dialler2.TakeOutput());
  Feed(&acceptor2, dialler1.TakeOutput());
  EXPECT_EQ(acceptor1.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(acceptor2.status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(HandshakeTest, NoChangedByteGetsThrough) {
  Handshake model_dialler = Dialler(), model_acceptor = Acceptor();
  const Record model = Converse(&model_dialler, &model_acceptor);
  for (bool dialler_side : {true, false}) {
    const std::vector<std::string>& steps = dialler_side ? model.dialler : model.acceptor;
    for (size_t step = 0; step < steps.size(); ++step)
      for (size_t at = 0; at < steps[step].size(); ++at) {
        Handshake dialler = Dialler(), acceptor = Acceptor();
        size_t from_dialler = 0, from_acceptor = 0;
        for (int turn = 0; turn < 4; ++turn) {
          if (dialler.state() == State::kProven) dialler.Confirm();
          std::string there = dialler.TakeOutput();
          if (!there.empty() && from_dialler++ == step && dialler_side) there[at] ^= 0x40;
          Feed(&acceptor, there);
          std::string back = acceptor.TakeOutput();
          if (!back.empty() && from_acceptor++ == step && !dialler_side) back[at] ^= 0x40;
          Feed(&dialler, back);
        }
        EXPECT_FALSE(acceptor.state() == State::kDone && dialler.state() == State::kDone)
            << (dialler_side ? "dialler" : "acceptor") << " step " << step << " byte " << at;
      }
  }
}

TEST(HandshakeTest, EndsWithBytesThatAreNoHandshake) {
  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\nHost: rank0.example.org\r\n\r\n"),
                                     std::string(100, '\0'), std::string(100, '\xff')}) {
    Handshake acceptor = Acceptor();
    Feed(&acceptor, garbage);
    EXPECT_EQ(acceptor.state(), State::kFailed);
    EXPECT_EQ(acceptor.TakeOutput(), "");
  }
}

TEST(HandshakeTest, BoundsTheLengthsThatItBelieves) {
  Handshake acceptor = Acceptor();
  Feed(&acceptor, Dialler().TakeOutput());
  std::string length(4, '\0');
  StoreLittleEndian<uint32_t>(kMaxHelloBytes + 1, length.data());
  Feed(&acceptor, length);
  EXPECT_EQ(acceptor.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HandshakeTest, BothSidesLearnOfAnotherVersionOfTheHandshake) {
  // A dialler and an acceptor of version 9.
  std::string nonce = Dialler().TakeOutput();
  nonce[4] = 9;
  Handshake acceptor = Acceptor(), dialler = Dialler();
  Feed(&acceptor, nonce);
  EXPECT_EQ(acceptor.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(acceptor.status().message()), HasSubstr("version 9"));
  EXPECT_EQ(acceptor.TakeOutput().size(), nonce.size());
  Feed(&dialler, nonce);
  EXPECT_EQ(dialler.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(dialler.status().message()), HasSubstr("version 9"));
}

}  // namespace
}  // namespace lockstep::net
