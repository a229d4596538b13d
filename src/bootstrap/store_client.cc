#include <algorithm>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "src/bootstrap/host_addresses.h"
#include "src/bootstrap/store.h"
#include "src/bootstrap/store_connection.h"
#include "src/bootstrap/store_protocol.h"

namespace lockstep::bootstrap {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// What a call that does not wait for others may take.
constexpr nanoseconds kAnswerTimeout = std::chrono::seconds(30);
// The server answers a wait that is over, saying what is missing. Only where it is silent past this does the
// client say so itself.
constexpr nanoseconds kAnswerGrace = std::chrono::seconds(1);
constexpr nanoseconds kLongestTimeout = std::chrono::hours(24 * 365);

// The part that the control thread's handlers share with the calls.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(net::Switchboard& switchboard, std::string where)
      : switchboard_(switchboard), where_(std::move(where)) {}

  void Open(net::UniqueFd fd) {
    switchboard_.RunSync([&] {
      connection_ = StoreConnection::Start(
          switchboard_.io(), std::move(fd),
          {.body = [self = shared_from_this()](const std::string& body) { self->Take(body); },
           .closed = [self = shared_from_this()](const absl::Status& reason) { self->Break(reason); }});
    });
  }

  void Close() {
    switchboard_.RunSync([this] {
      connection_->Close();
      // Its handlers hold this object.
      connection_.reset();
    });
  }

  Response Call(Request request, nanoseconds limit) {
    if (switchboard_.OnControlThread())
      return Failed(absl::FailedPreconditionError(
          "the store is called on the control thread, which would wait for itself"));
    Pending pending;
    {
      absl::MutexLock lock(&mu_);
      if (!broken_.ok()) return Failed(broken_);
      request.id = next_id_++;
      pending_[request.id] = &pending;
    }
    switchboard_.Post([self = shared_from_this(), body = EncodeRequest(request)] {
      if (self->connection_ != nullptr) self->connection_->Send(body);
    });
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(&pending.done), absl::FromChrono(std::min(limit, kLongestTimeout)));
    pending_.erase(request.id);
    if (pending.done) return std::move(pending.response);
    return Failed(absl::DeadlineExceededError(absl::StrCat("the store at ", where_, " did not answer within ",
                                                           std::chrono::duration<double>(limit).count(),
                                                           " s (its host is stopped or cut off)")));
  }

  const std::string& where() const { return where_; }

 private:
  struct Pending {
    bool done = false;
    Response response;
  };

  static Response Failed(absl::Status status) { return {.status = std::move(status)}; }

  void Take(const std::string& body) {
    absl::StatusOr<Response> response = DecodeResponse(body);
    if (!response.ok()) return Break(response.status());
    absl::MutexLock lock(&mu_);
    const auto found = pending_.find(response->id);
    if (found == pending_.end()) return;  // it came after its deadline
    found->second->response = *std::move(response);
    found->second->done = true;
  }

  void Break(const absl::Status& reason) {
    absl::MutexLock lock(&mu_);
    broken_ = absl::UnavailableError(
        absl::StrCat("the store at ", where_, " is gone (", std::string(reason.message()),
                     "); rank 0, which serves it, has ended or its host was lost"));
    for (const auto& [id, pending] : pending_) {
      pending->response = Failed(broken_);
      pending->done = true;
    }
  }

  net::Switchboard& switchboard_;
  const std::string where_;
  std::shared_ptr<StoreConnection> connection_;  // of the control thread
  absl::Mutex mu_;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  absl::Status broken_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Pending*> pending_ ABSL_GUARDED_BY(mu_);
};

class Client final : public Store {
 public:
  explicit Client(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Client() override { exchange_->Close(); }

  absl::Status Set(const std::string& key, const std::string& value) override {
    return Ask({.kind = Request::Kind::kSet, .keys = {key}, .value = value}).status;
  }

  absl::StatusOr<std::string> Get(const std::string& key, nanoseconds timeout) override {
    return Value(AskAndWait({.kind = Request::Kind::kGet, .keys = {key}}, timeout));
  }

  absl::StatusOr<int64_t> Add(const std::string& key, int64_t delta) override {
    const Response response = Ask({.kind = Request::Kind::kAdd, .number = delta, .keys = {key}});
    if (!response.status.ok()) return response.status;
    return response.number;
  }

  absl::Status Wait(const std::vector<std::string>& keys, nanoseconds timeout) override {
    return AskAndWait({.kind = Request::Kind::kWait, .keys = keys}, timeout).status;
  }

  absl::StatusOr<std::string> CompareAndSet(const std::string& key, const std::string& expected,
                                            const std::string& desired) override {
    return Value(
        Ask({.kind = Request::Kind::kCompareAndSet, .keys = {key}, .value = desired, .expected = expected}));
  }

  absl::StatusOr<bool> Delete(const std::string& key) override {
    const Response response = Ask({.kind = Request::Kind::kDelete, .keys = {key}});
    if (!response.status.ok()) return response.status;
    return response.number != 0;
  }

  absl::Status Barrier(const std::string& name, int rank, int count, nanoseconds timeout) override {
    return AskAndWait({.kind = Request::Kind::kBarrier, .rank = rank, .number = count, .keys = {name}},
                      timeout)
        .status;
  }

 private:
  static absl::StatusOr<std::string> Value(Response response) {
    if (!response.status.ok()) return response.status;
    return std::move(response.value);
  }

  Response AskAndWait(Request request, nanoseconds timeout) {
    request.timeout_ns = std::clamp(timeout, nanoseconds(0), kLongestTimeout).count();
    return Send(std::move(request), nanoseconds(request.timeout_ns) + kAnswerGrace);
  }

  Response Ask(Request request) { return Send(std::move(request), kAnswerTimeout); }

  Response Send(Request request, nanoseconds limit) {
    if (absl::Status status = CheckSizes(request); !status.ok()) return {.status = std::move(status)};
    return exchange_->Call(std::move(request), limit);
  }

  static absl::Status CheckSizes(const Request& request) {
    size_t bytes = request.value.size() + request.expected.size();
    for (const std::string& key : request.keys) {
      if (key.size() > kMaxKeyBytes)
        return absl::InvalidArgumentError(absl::StrCat(
            "a key of ", key.size(), " bytes is too long for the store (at most ", kMaxKeyBytes, ")"));
      bytes += key.size() + kLengthBytes;
    }
    if (request.value.size() > kMaxValueBytes || request.expected.size() > kMaxValueBytes)
      return absl::InvalidArgumentError(absl::StrCat("the value of key \"", request.keys[0], "\" has ",
                                                     std::max(request.value.size(), request.expected.size()),
                                                     " bytes, too long for the store (at most ",
                                                     kMaxValueBytes, "); store it in parts"));
    constexpr size_t kFieldBytes = 64;
    if (bytes + kFieldBytes > kMaxBodyBytes)
      return absl::InvalidArgumentError(
          absl::StrCat("too many keys in one call (", request.keys.size(), ")"));
    return absl::OkStatus();
  }

  const std::shared_ptr<Exchange> exchange_;
};

absl::StatusOr<net::UniqueFd> DialSync(net::Switchboard& switchboard, std::vector<net::Address> addresses,
                                       nanoseconds timeout) {
  struct Result {
    absl::Mutex mu;
    bool done ABSL_GUARDED_BY(mu) = false;
    absl::StatusOr<net::UniqueFd> fd ABSL_GUARDED_BY(mu) = absl::UnknownError("");
  };
  auto result = std::make_shared<Result>();  // shared with the handler
  net::Hello hello;
  hello.role = net::Role::kStore;
  switchboard.Dial(std::move(addresses), hello, timeout, /*retry_refused=*/true,
                   [result](absl::StatusOr<net::UniqueFd> fd) {
                     absl::MutexLock lock(&result->mu);
                     result->fd = std::move(fd);
                     result->done = true;
                   });
  absl::MutexLock lock(&result->mu);
  result->mu.Await(absl::Condition(&result->done));
  return std::move(result->fd);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> ConnectStore(net::Switchboard& switchboard,
                                                    const StoreAddress& address, nanoseconds timeout) {
  const std::string where = absl::StrCat(address.host, ":", address.port);
  if (switchboard.OnControlThread())
    return absl::FailedPreconditionError("ConnectStore waits; it must not be called on the control thread");
  const Clock::time_point start = Clock::now();
  absl::StatusOr<std::vector<net::Address>> addresses = HostAddresses(address.host, address.port, timeout);
  if (!addresses.ok()) return addresses.status();
  absl::StatusOr<net::UniqueFd> fd =
      DialSync(switchboard, *std::move(addresses), timeout - (Clock::now() - start));
  if (!fd.ok()) {
    std::string hint;
    if (absl::IsDeadlineExceeded(fd.status()))
      hint = switchboard.secret().empty()
                 ? "; has rank 0 started? Without LOCKSTEP_SECRET its store listens on its own loopback only"
                 : "; has rank 0 started, and are MASTER_ADDR and MASTER_PORT its?";
    return absl::Status(fd.status().code(), absl::StrCat("no connection to the store at ", where, ": ",
                                                         std::string(fd.status().message()), hint));
  }
  auto exchange = std::make_shared<Exchange>(switchboard, where);
  exchange->Open(*std::move(fd));
  return std::make_unique<Client>(std::move(exchange));
}

}  // namespace lockstep::bootstrap
