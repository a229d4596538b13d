#include "src/net/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AddressTest, TextRoundTrips) {
  for (const char* text : {"127.0.0.1:4711", "[::1]:4711", "[2001:db8::7]:1", "192.0.2.1:65535"})
    EXPECT_EQ(ToString(ParseAddress(text).value()), text);
}

TEST(AddressTest, RejectsWhatIsNoNumericAddressWithAPort) {
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "host:1",
                           "::1:4711", "[127.0.0.1]:1", "[::1]", "[]:1", ":1"})
    EXPECT_EQ(ParseAddress(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
}

TEST(AddressTest, SocketAddressesRoundTrip) {
  for (const Address& address : {Address{"127.0.0.1", 80}, Address{"2001:db8::7", 443}}) {
    const SocketAddress socket = ToSocketAddress(address).value();
    EXPECT_EQ(FromSocketAddress(socket.get(), socket.bytes), address);
  }
}

std::vector<Interface> Host() {
  return {{"lo", "127.0.0.1", true, true},
          {"docker0", "172.17.0.1", true, false},
          {"eth1", "10.1.0.5", false, false},
          {"eth0", "10.0.0.5", true, false},
          {"br-5f", "172.18.0.1", true, false},
          {"ib0", "10.2.0.5", true, false},
          {"lo", "::1", true, true},
          {"eth0", "2001:db8::5", true, false},
          {"eth0", "fe80::5%eth0", true, false}};
}

TEST(ChooseHostsTest, PutsTheUsefulFirstAndLoopbackLast) {
  EXPECT_THAT(ChooseHosts(Host(), "").value(),
              ElementsAre("10.0.0.5", "10.2.0.5", "2001:db8::5", "172.17.0.1", "172.18.0.1", "10.1.0.5",
                          "127.0.0.1", "::1"));
}

TEST(ChooseHostsTest, FiltersByPrefixExclusionAndExactName) {
  EXPECT_THAT(ChooseHosts(Host(), "ib").value(), ElementsAre("10.2.0.5"));
  EXPECT_THAT(ChooseHosts(Host(), "eth,ib").value(),
              ElementsAre("10.0.0.5", "10.2.0.5", "2001:db8::5", "10.1.0.5"));
  EXPECT_THAT(ChooseHosts(Host(), "^docker,br-,lo").value(),
              ElementsAre("10.0.0.5", "10.2.0.5", "2001:db8::5", "10.1.0.5"));
  EXPECT_THAT(ChooseHosts(Host(), "=eth0").value(), ElementsAre("10.0.0.5", "2001:db8::5"));
  EXPECT_THAT(ChooseHosts(Host(), "=eth").status().message(), HasSubstr("eth0"));
  EXPECT_EQ(ChooseHosts(Host(), "=eth").status().code(), absl::StatusCode::kUnavailable);
}

TEST(ChooseHostsTest, KeepsLinkLocalAddressesWhereThereIsNothingElse) {
  EXPECT_THAT(ChooseHosts({{"eth0", "fe80::5%eth0", true, false}, {"lo", "::1", true, true}}, "").value(),
              ElementsAre("fe80::5%eth0", "::1"));
}

TEST(UsableHostsTest, FindsThisHostsLoopback) {
  EXPECT_THAT(UsableHosts("").value(), ::testing::Contains("127.0.0.1"));
}

}  // namespace
}  // namespace lockstep::net
