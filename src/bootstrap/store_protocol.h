#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep::bootstrap {

// What a store's client and server say to each other on a proven connection. A message is a u32 length and
// a body of that many bytes; integers are little-endian. Functions over bytes, without state: thread-safe.

inline constexpr size_t kMaxKeyBytes = 1 << 10;
inline constexpr size_t kMaxValueBytes = 1 << 20;
inline constexpr size_t kLengthBytes = 4;
// Room for a compare-and-set of two full values, and for a Wait on tens of thousands of keys.
inline constexpr size_t kMaxBodyBytes = 2 * kMaxValueBytes + 4 * kMaxKeyBytes;

struct Request {
  enum class Kind : uint8_t {
    kSet = 1,            // keys[0], value
    kGet = 2,            // keys[0], timeout_ns
    kAdd = 3,            // keys[0], number
    kWait = 4,           // keys, timeout_ns
    kCompareAndSet = 5,  // keys[0], expected, value
    kDelete = 6,         // keys[0]
    kBarrier = 7,        // keys[0] is its name, rank, number is the count, timeout_ns
  };
  Kind kind = Kind::kSet;
  uint64_t id = 0;  // comes back in the response; responses need not come in order
  int32_t rank = -1;
  int64_t number = 0;
  int64_t timeout_ns = 0;
  std::vector<std::string> keys = {};
  std::string value = {};
  std::string expected = {};
  friend bool operator==(const Request&, const Request&) = default;
};

struct Response {
  uint64_t id = 0;
  absl::Status status;
  int64_t number = 0;  // Add's sum; 1 where Delete found the key
  std::string value = {};
  friend bool operator==(const Response&, const Response&) = default;
};

// The body alone. Anything longer than its maximum is the caller's bug.
std::string EncodeRequest(const Request& request);
std::string EncodeResponse(const Response& response);
// InvalidArgument on what no encoder makes: unknown kinds, lengths that do not add up, keys or values beyond
// their maximum, a request without a key.
absl::StatusOr<Request> DecodeRequest(absl::string_view body);
absl::StatusOr<Response> DecodeResponse(absl::string_view body);

// Cuts a stream into bodies. Holds one incomplete message at most.
class BodySplitter {
 public:
  // InvalidArgument once a length is beyond kMaxBodyBytes; the stream is lost then.
  absl::Status Add(absl::string_view bytes);
  // The next whole body, if there is one.
  std::optional<std::string> Next();

 private:
  std::string buffer_;
  size_t begin_ = 0;  // of the first message in buffer_ that was not taken
};

// A body with its length in front.
std::string WithLength(absl::string_view body);

}  // namespace lockstep::bootstrap
