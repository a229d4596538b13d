#include "src/bootstrap/store_protocol.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/net/little_endian.h"

namespace lockstep::bootstrap {
namespace {

Request SomeRequest() {
  return {.kind = Request::Kind::kCompareAndSet,
          .id = 0x1122334455667788,
          .rank = 3,
          .number = -5,
          .timeout_ns = 1'000'000'000,
          .keys = {"the key"},
          .value = std::string("a\0b", 3),
          .expected = "before"};
}

TEST(StoreProtocolTest, RequestsRoundTrip) {
  EXPECT_EQ(DecodeRequest(EncodeRequest(SomeRequest())).value(), SomeRequest());
  Request wait{.kind = Request::Kind::kWait, .keys = {"a", "", "c"}};
  EXPECT_EQ(DecodeRequest(EncodeRequest(wait)).value(), wait);
  Request longest = SomeRequest();
  longest.value = longest.expected = std::string(kMaxValueBytes, 'v');
  longest.keys = {std::string(kMaxKeyBytes, 'k')};
  EXPECT_LE(EncodeRequest(longest).size(), kMaxBodyBytes);
  EXPECT_EQ(DecodeRequest(EncodeRequest(longest)).value(), longest);
}

TEST(StoreProtocolTest, ResponsesRoundTrip) {
  const Response value{.id = 9, .status = absl::OkStatus(), .number = -1, .value = "v"};
  EXPECT_EQ(DecodeResponse(EncodeResponse(value)).value(), value);
  const Response failed{.id = 9, .status = absl::DeadlineExceededError("nobody set it")};
  EXPECT_EQ(DecodeResponse(EncodeResponse(failed)).value(), failed);
}

TEST(StoreProtocolTest, RejectsEveryTruncationAndExtension) {
  const std::string request = EncodeRequest(SomeRequest());
  for (size_t bytes = 0; bytes < request.size(); ++bytes)
    EXPECT_EQ(DecodeRequest(request.substr(0, bytes)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(DecodeRequest(request + "x").ok());
  const std::string response = EncodeResponse({.id = 1, .status = absl::OkStatus(), .value = "text"});
  for (size_t bytes = 0; bytes < response.size(); ++bytes)
    EXPECT_FALSE(DecodeResponse(response.substr(0, bytes)).ok());
  EXPECT_FALSE(DecodeResponse(response + "x").ok());
}

TEST(StoreProtocolTest, RejectsUnknownKindsAndMissingKeys) {
  std::string request = EncodeRequest(SomeRequest());
  for (char kind : {'\0', '\x08', '\xff'}) {
    request[8] = kind;
    EXPECT_FALSE(DecodeRequest(request).ok());
  }
  EXPECT_FALSE(DecodeRequest(EncodeRequest({.kind = Request::Kind::kGet})).ok());
  EXPECT_FALSE(DecodeRequest(EncodeRequest({.kind = Request::Kind::kGet, .keys = {"a", "b"}})).ok());
  EXPECT_FALSE(DecodeRequest(EncodeRequest({.keys = {std::string(kMaxKeyBytes + 1, 'k')}})).ok());
}

TEST(StoreProtocolTest, DoesNotBelieveACountOfKeys) {
  std::string request = EncodeRequest({.kind = Request::Kind::kWait});
  net::StoreLittleEndian<uint32_t>(0xffffffff, request.data() + request.size() - 4);
  EXPECT_FALSE(DecodeRequest(request).ok());
}

TEST(BodySplitterTest, CutsAStreamWhereverItIsTorn) {
  const std::vector<std::string> bodies = {"one", "", std::string(70000, 'x'), "four"};
  std::string stream;
  for (const std::string& body : bodies) stream += WithLength(body);
  for (size_t step : {size_t{1}, size_t{3}, size_t{1000}, stream.size()}) {
    BodySplitter splitter;
    std::vector<std::string> found;
    for (size_t at = 0; at < stream.size(); at += step) {
      ASSERT_TRUE(splitter.Add(stream.substr(at, step)).ok());
      while (auto body = splitter.Next()) found.push_back(*body);
    }
    EXPECT_EQ(found, bodies) << "in steps of " << step;
  }
}

TEST(BodySplitterTest, RejectsABodyBeyondTheMaximum) {
  std::string length(4, '\0');
  net::StoreLittleEndian<uint32_t>(kMaxBodyBytes + 1, length.data());
  BodySplitter splitter;
  EXPECT_FALSE(splitter.Add(length).ok());
}

}  // namespace
}  // namespace lockstep::bootstrap
