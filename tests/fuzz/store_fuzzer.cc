// The store behind a proven connection: a stream torn anywhere, requests of every kind from two clients, time
// that passes. The table stays within its memory, answers nothing twice, and forgets who is gone.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/bootstrap/store_protocol.h"
#include "src/bootstrap/store_table.h"

namespace {

using namespace lockstep::bootstrap;  // NOLINT: a program of one file

constexpr size_t kTableBytes = 4096;

class Table {
 public:
  void Take(const std::string& body) {
    if (const auto response = DecodeResponse(body); response.ok() && EncodeResponse(*response) != body)
      std::abort();
    auto request = DecodeRequest(body);
    if (!request.ok()) return;
    if (EncodeRequest(*request) != body) std::abort();
    const StoreTable::Client client = request->id % 2;
    request->id = next_id_++;  // told apart, whatever the input says
    asked_[request->id] = client;
    now_ += std::chrono::milliseconds(100);
    table_.Handle(client, *request, now_);
    table_.Expire(now_);
    if (table_.bytes() > kTableBytes) std::abort();
    if (table_.waiting() != asked_.size()) std::abort();
  }

  void End() {
    for (StoreTable::Client client : {0, 1}) table_.Forget(client);
    if (table_.waiting() != 0 || table_.next_deadline()) std::abort();
  }

 private:
  void Answer(StoreTable::Client client, const Response& response) {
    const auto asked = asked_.find(response.id);
    if (asked == asked_.end() || asked->second != client) std::abort();
    asked_.erase(asked);
    const auto decoded = DecodeResponse(EncodeResponse(response));
    if (!decoded.ok() || decoded->id != response.id) std::abort();
  }

  StoreTable::Clock::time_point now_{};
  uint64_t next_id_ = 1;
  std::map<uint64_t, StoreTable::Client> asked_;  // and not answered
  StoreTable table_{[this](StoreTable::Client client, const Response& response) { Answer(client, response); },
                    kTableBytes};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = 1 + data[0];
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Table table;
  table.Take(bytes);
  BodySplitter splitter;
  for (size_t at = 0; at < bytes.size(); at += step) {
    if (!splitter.Add(bytes.substr(at, step)).ok()) break;
    while (const std::optional<std::string> body = splitter.Next()) table.Take(*body);
  }
  table.End();
  return 0;
}
