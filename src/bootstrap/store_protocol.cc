#include "src/bootstrap/store_protocol.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/net/little_endian.h"

namespace lockstep::bootstrap {
namespace {

template <typename T>
void Append(T value, std::string* out) {
  char bytes[sizeof(T)];
  net::StoreLittleEndian(value, bytes);
  out->append(bytes, sizeof bytes);
}

void AppendString(absl::string_view text, std::string* out) {
  Append(static_cast<uint32_t>(text.size()), out);
  out->append(text.data(), text.size());
}

// Takes fields off the front of a body; once one does not fit, nothing fits.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Take() {
    if (bytes_.size() < sizeof(T)) {
      failed_ = true;
      bytes_ = {};
      return T();
    }
    const T value = net::LoadLittleEndian<T>(bytes_.data());
    bytes_.remove_prefix(sizeof(T));
    return value;
  }

  std::string TakeString(size_t max_bytes) {
    const auto bytes = Take<uint32_t>();
    if (bytes > max_bytes || bytes > bytes_.size()) {
      failed_ = true;
      bytes_ = {};
      return "";
    }
    std::string text(bytes_.substr(0, bytes));
    bytes_.remove_prefix(bytes);
    return text;
  }

  bool failed() const { return failed_; }
  bool exhausted() const { return bytes_.empty(); }

 private:
  absl::string_view bytes_;
  bool failed_ = false;
};

absl::Status Malformed(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed message of the store's protocol (", what, ")"));
}

}  // namespace

std::string EncodeRequest(const Request& request) {
  std::string body;
  Append(request.id, &body);
  Append(static_cast<uint8_t>(request.kind), &body);
  Append(request.rank, &body);
  Append(request.number, &body);
  Append(request.timeout_ns, &body);
  AppendString(request.value, &body);
  AppendString(request.expected, &body);
  Append(static_cast<uint32_t>(request.keys.size()), &body);
  for (const std::string& key : request.keys) AppendString(key, &body);
  return body;
}

absl::StatusOr<Request> DecodeRequest(absl::string_view body) {
  Reader reader(body);
  Request request;
  request.id = reader.Take<uint64_t>();
  const auto kind = reader.Take<uint8_t>();
  request.rank = reader.Take<int32_t>();
  request.number = reader.Take<int64_t>();
  request.timeout_ns = reader.Take<int64_t>();
  request.value = reader.TakeString(kMaxValueBytes);
  request.expected = reader.TakeString(kMaxValueBytes);
  const auto keys = reader.Take<uint32_t>();
  // Not reserved: the number is the sender's word, the bytes that follow are what there is.
  for (uint32_t i = 0; i < keys && !reader.failed(); ++i)
    request.keys.push_back(reader.TakeString(kMaxKeyBytes));
  if (reader.failed() || !reader.exhausted()) return Malformed("lengths that do not add up");
  if (kind < static_cast<uint8_t>(Request::Kind::kSet) ||
      kind > static_cast<uint8_t>(Request::Kind::kBarrier))
    return Malformed("unknown request");
  request.kind = static_cast<Request::Kind>(kind);
  if (request.kind != Request::Kind::kWait && request.keys.size() != 1) return Malformed("not one key");
  return request;
}

std::string EncodeResponse(const Response& response) {
  std::string body;
  Append(response.id, &body);
  Append(static_cast<uint8_t>(response.status.code()), &body);
  Append(response.number, &body);
  AppendString(response.status.ok() ? absl::string_view(response.value) : response.status.message(), &body);
  return body;
}

absl::StatusOr<Response> DecodeResponse(absl::string_view body) {
  Reader reader(body);
  Response response;
  response.id = reader.Take<uint64_t>();
  const auto code = reader.Take<uint8_t>();
  response.number = reader.Take<int64_t>();
  std::string text = reader.TakeString(kMaxValueBytes);
  if (reader.failed() || !reader.exhausted()) return Malformed("lengths that do not add up");
  if (code > static_cast<uint8_t>(absl::StatusCode::kUnauthenticated)) return Malformed("unknown status");
  if (code == 0)
    response.value = std::move(text);
  else
    response.status = absl::Status(static_cast<absl::StatusCode>(code), text);
  return response;
}

absl::Status BodySplitter::Add(absl::string_view bytes) {
  buffer_.erase(0, std::exchange(begin_, 0));
  buffer_.append(bytes.data(), bytes.size());
  size_t at = begin_;
  while (buffer_.size() - at >= kLengthBytes) {
    const auto length = net::LoadLittleEndian<uint32_t>(buffer_.data() + at);
    if (length > kMaxBodyBytes) return Malformed("a body beyond the maximum");
    if (buffer_.size() - at < kLengthBytes + length) break;
    at += kLengthBytes + length;
  }
  return absl::OkStatus();
}

std::optional<std::string> BodySplitter::Next() {
  if (buffer_.size() - begin_ < kLengthBytes) return std::nullopt;
  const auto length = net::LoadLittleEndian<uint32_t>(buffer_.data() + begin_);
  if (length > kMaxBodyBytes || buffer_.size() - begin_ < kLengthBytes + length) return std::nullopt;
  std::string body = buffer_.substr(begin_ + kLengthBytes, length);
  begin_ += kLengthBytes + length;
  return body;
}

std::string WithLength(absl::string_view body) {
  std::string message;
  message.reserve(kLengthBytes + body.size());
  Append(static_cast<uint32_t>(body.size()), &message);
  message.append(body.data(), body.size());
  return message;
}

}  // namespace lockstep::bootstrap
