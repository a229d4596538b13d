#include "src/net/dialler.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/net/handshake_session.h"
#include "src/net/socket.h"

namespace lockstep::net {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;
using std::chrono::milliseconds;

constexpr milliseconds kStagger{100};  // RFC 8305 recommends 250 ms for the Internet; clusters are nearer
constexpr milliseconds kRefusedGrace{500};  // a host on the same network answers a SYN well within
constexpr milliseconds kConnectLimit{5000};
constexpr milliseconds kHandshakeLimit{5000};
constexpr std::chrono::hours kLongestTimeout{24 * 365};
constexpr milliseconds kFirstPause{20}, kLongestPause{500};

// One address in one round.
struct Attempt {
  Address address;
  std::optional<Descriptor> connecting;
  std::shared_ptr<HandshakeSession> session;
  bool settled = false;
  bool refused = false;
  absl::Status status;  // why it failed

  bool decisive() const {
    return settled && (refused || absl::IsFailedPrecondition(status) || absl::IsPermissionDenied(status));
  }
  void Close() {
    connecting.reset();
    if (session != nullptr) session->Close();
    session.reset();
    settled = true;
  }
};

class DiallerImpl final : public Dialler {
 public:
  DiallerImpl(asio::io_context& io, Options options, Handler handler)
      : io_(io),
        options_(std::move(options)),
        handler_(std::move(handler)),
        deadline_(io),
        stagger_(io),
        grace_(io),
        connect_limit_(io) {}

  void Begin() {
    if (!handler_) return;
    if (options_.addresses.empty())
      return Finish(absl::InvalidArgumentError(absl::StrCat(Subject(), ": no address is known")));
    attempts_ = std::vector<Attempt>(options_.addresses.size());
    for (size_t i = 0; i < attempts_.size(); ++i) attempts_[i].address = options_.addresses[i];
    deadline_.expires_after(std::min<std::chrono::nanoseconds>(options_.timeout, kLongestTimeout));
    deadline_.async_wait([self = shared_from_this(), this](const boost::system::error_code& error) {
      if (error || !handler_) return;
      Finish(absl::DeadlineExceededError(
          absl::StrCat(Subject(), ": not within ", Seconds(options_.timeout), " s (", Reasons(), ")")));
    });
    BeginRound();
  }

  void Cancel() override {
    handler_ = nullptr;
    CloseAll();
  }

 private:
  // Runs `work` unless cancelled, or this dial or the round that it belongs to has ended.
  template <typename Work>
  auto Guarded(Work work) {
    return [self = shared_from_this(), this, work, round = round_](const boost::system::error_code& error) {
      if (!error && handler_ && round == round_) work();
    };
  }

  template <typename Work>
  void After(asio::steady_timer& timer, std::chrono::nanoseconds time, Work work) {
    timer.expires_after(time);
    timer.async_wait(Guarded(std::move(work)));
  }

  void BeginRound() {
    // What an attempt of the last round said stays for messages until it has something new to say.
    for (Attempt& attempt : attempts_) attempt.settled = attempt.refused = false;
    started_ = 0;
    grace_over_ = grace_running_ = false;
    // Later addresses start before this runs out, but hardly ever by much.
    After(connect_limit_, kConnectLimit + kStagger * static_cast<int64_t>(attempts_.size()),
          [this] { GiveUpConnecting("no answer"); });
    StartNext();
  }

  void StartNext() {
    if (started_ == attempts_.size()) return;
    const size_t index = started_++;
    if (started_ < attempts_.size()) After(stagger_, kStagger, [this] { StartNext(); });
    absl::StatusOr<UniqueFd> fd = BeginConnect(attempts_[index].address);
    if (!fd.ok()) return Fail(index, fd.status(), absl::IsUnavailable(fd.status()));
    attempts_[index].connecting.emplace(io_, fd->release());
    attempts_[index].connecting->async_wait(Descriptor::wait_write, Guarded([this, index] {
                                              if (!attempts_[index].settled) Connected(index);
                                            }));
  }

  void Connected(size_t index) {
    Attempt& attempt = attempts_[index];
    UniqueFd fd(attempt.connecting->release());
    attempt.connecting.reset();
    if (const int error = ConnectError(fd.get()); error != 0)
      return Fail(index, absl::UnavailableError(ErrorText(error)), error == ECONNREFUSED);
    if (IsConnectedToItself(fd.get()))
      return Fail(index, absl::UnavailableError(ErrorText(ECONNREFUSED)), /*refused=*/true);
    attempt.session = HandshakeSession::Start(
        io_, std::move(fd), Handshake(Handshake::Side::kDialler, options_.secret, options_.hello),
        kHandshakeLimit, [self = shared_from_this(), this, index](const absl::Status& status) {
          if (status.ok())
            Win(index);
          else
            Fail(index, status, /*refused=*/false);
        });
  }

  void Win(size_t index) {
    absl::StatusOr<UniqueFd> fd = attempts_[index].session->Take();
    if (!fd.ok()) return Fail(index, fd.status(), /*refused=*/false);
    attempts_[index].session.reset();
    Finish(std::move(fd));
  }

  void Fail(size_t index, absl::Status status, bool refused) {
    Attempt& attempt = attempts_[index];
    attempt.Close();
    attempt.status = std::move(status);
    attempt.refused = refused;
    if (refused && !options_.retry_refused && !std::exchange(grace_running_, true))
      After(grace_, kRefusedGrace, [this] {
        grace_over_ = true;
        started_ = attempts_.size();
        GiveUpConnecting("no answer");
      });
    if (started_ < attempts_.size() && !grace_over_) {
      stagger_.cancel();
      // Not from here: a long list of refusing addresses would nest as deep.
      asio::post(io_, [next = Guarded([this] { StartNext(); })] { next({}); });
    }
    EndRoundIfSettled();
  }

  void GiveUpConnecting(const char* reason) {
    for (Attempt& attempt : attempts_)
      if (!attempt.settled && attempt.session == nullptr) {
        attempt.Close();
        attempt.status = absl::UnavailableError(reason);
      }
    EndRoundIfSettled();
  }

  void EndRoundIfSettled() {
    if (!std::all_of(attempts_.begin(), attempts_.end(), [](const Attempt& a) { return a.settled; })) return;
    const auto decisive =
        std::find_if(attempts_.begin(), attempts_.end(), [](const Attempt& a) { return a.decisive(); });
    if (decisive != attempts_.end()) {
      if (!decisive->refused)
        return Finish(absl::Status(decisive->status.code(),
                                   absl::StrCat(Subject(), " at ", ToString(decisive->address), ": ",
                                                std::string(decisive->status.message()))));
      if (!options_.retry_refused)
        return Finish(absl::UnavailableError(
            absl::StrCat(Subject(), ": connection refused, its process is gone (", Reasons(), ")")));
    }
    ++round_;
    After(stagger_, pause_, [this] { BeginRound(); });
    pause_ = std::min(2 * pause_, kLongestPause);
  }

  void Finish(absl::StatusOr<UniqueFd> result) {
    CloseAll();
    if (const Handler handler = std::exchange(handler_, nullptr)) handler(std::move(result));
  }

  void CloseAll() {
    ++round_;
    for (asio::steady_timer* timer : {&deadline_, &stagger_, &grace_, &connect_limit_}) timer->cancel();
    for (Attempt& attempt : attempts_) attempt.Close();
  }

  std::string Subject() const {
    return options_.hello.peer_rank < 0 ? absl::StrCat("rank ", options_.hello.rank, " cannot connect")
                                        : absl::StrCat("rank ", options_.hello.rank,
                                                       " cannot connect to rank ", options_.hello.peer_rank);
  }

  // "192.0.2.1:4711 connection refused; [::1]:4711 no answer"
  std::string Reasons() const {
    return absl::StrJoin(attempts_, "; ", [](std::string* out, const Attempt& attempt) {
      const std::string reason(attempt.status.message());
      absl::StrAppend(out, ToString(attempt.address), " ", reason.empty() ? "no answer yet" : reason);
    });
  }

  static double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

  asio::io_context& io_;
  const Options options_;
  Handler handler_;  // empty once this dial has ended
  asio::steady_timer deadline_, stagger_, grace_, connect_limit_;
  std::vector<Attempt> attempts_;
  size_t started_ = 0;
  uint64_t round_ = 0;
  bool grace_running_ = false, grace_over_ = false;
  milliseconds pause_ = kFirstPause;
};

}  // namespace

std::shared_ptr<Dialler> Dialler::Start(asio::io_context& io, Options options, Handler handler) {
  auto dialler = std::make_shared<DiallerImpl>(io, std::move(options), std::move(handler));
  asio::post(io, [dialler] { dialler->Begin(); });
  return dialler;
}

}  // namespace lockstep::net
