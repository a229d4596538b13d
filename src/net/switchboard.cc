#include "src/net/switchboard.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "lockstep/version.h"
#include "src/base/log.h"
#include "src/net/acceptor.h"
#include "src/net/dialler.h"
#include "src/net/socket.h"

namespace lockstep::net {

namespace asio = boost::asio;

namespace {

absl::StatusOr<std::vector<Address>> PublishedAddresses(bool loopback_only, const std::string& filter,
                                                        const std::vector<UniqueFd>& listeners) {
  std::vector<Address> addresses;
  if (loopback_only) {
    for (const UniqueFd& fd : listeners) addresses.push_back(LocalAddress(fd.get()));
    return addresses;
  }
  absl::StatusOr<std::vector<std::string>> hosts = UsableHosts(filter);
  if (!hosts.ok()) return hosts.status();
  for (const std::string& host : *hosts) {
    const bool v6 = host.find(':') != std::string::npos;
    for (const UniqueFd& fd : listeners) {
      const Address local = LocalAddress(fd.get());
      if ((local.host.find(':') != std::string::npos) == v6) addresses.push_back({host, local.port});
    }
  }
  return addresses;
}

}  // namespace

class Switchboard::Impl : public std::enable_shared_from_this<Switchboard::Impl> {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        work_(asio::make_work_guard(io_)),
        incarnation_(options_.identity.incarnation) {
    if (options_.identity.library_version.empty()) options_.identity.library_version = Version();
    if (!options_.log) options_.log = [](const std::string& line) { log::Write(log::Level::kWarning, line); };
    if (options_.secret.empty()) options_.loopback_only = true;
  }

  absl::Status Start() {
    absl::StatusOr<std::vector<UniqueFd>> listeners = ListenOnBothFamilies(options_.loopback_only, 0);
    if (!listeners.ok()) return listeners.status();
    absl::StatusOr<std::vector<Address>> addresses =
        PublishedAddresses(options_.loopback_only, options_.interface_filter, *listeners);
    if (!addresses.ok()) return addresses.status();
    addresses_ = *std::move(addresses);
    Acceptor::Options acceptor;
    acceptor.listeners = *std::move(listeners);
    acceptor.secret = options_.secret;
    acceptor.identity = [this] { return identity(); };
    acceptor.admit = [this](const Hello& peer) { return Admit(peer); };
    acceptor.deliver = [this](const Hello& peer, UniqueFd fd) { Deliver(peer, std::move(fd)); };
    acceptor.log = options_.log;
    acceptor_ = Acceptor::Start(io_, std::move(acceptor));
    StartThread();
    return absl::OkStatus();
  }

  // Runs no handler from here on, but for the one that is running.
  void Stop() {
    stopping_ = true;
    io_.stop();
    if (OnControlThread()) {
      thread_.detach();
      return;
    }
    if (thread_.joinable()) thread_.join();
    Clear();
  }

  const std::vector<Address>& addresses() const { return addresses_; }
  const Options& options() const { return options_; }
  void SetIncarnation(uint64_t incarnation) { incarnation_ = incarnation; }
  Hello identity() const {
    Hello identity = options_.identity;
    identity.incarnation = incarnation_;
    identity.peer_rank = -1;
    return identity;
  }
  asio::io_context& io() { return io_; }
  bool OnControlThread() const { return std::this_thread::get_id() == thread_id_.load(); }

  void OnAccept(Role role, AcceptHandler handler) {
    const bool taken_away = !handler;
    {
      absl::MutexLock lock(&mu_);
      std::swap(accept_handlers_[role], handler);
    }
    // What was taken away may be running: wait for that, unless it is the caller.
    if (taken_away && !OnControlThread()) absl::MutexLock running(&running_mu_);
  }

  void Dial(Dialler::Options dial, DialHandler handler) {
    asio::post(io_, [this, dial = std::move(dial), handler = std::move(handler)]() mutable {
      // The handler's own entry is found when it runs, which is after the post inside Start.
      auto place = std::make_shared<std::shared_ptr<Dialler>>();
      *place = Dialler::Start(io_, std::move(dial),
                              [this, place, handler = std::move(handler)](absl::StatusOr<UniqueFd> result) {
                                diallers_.erase(*place);
                                place->reset();
                                handler(std::move(result));
                              });
      diallers_.insert(*place);
    });
  }

 private:
  void StartThread() {
    // Signals are the application's: none is to be taken on a thread that it does not know of.
    sigset_t all, before;
    sigfillset(&all);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    absl::Notification started;
    thread_ = std::thread([self = shared_from_this(), &started] {
      self->thread_id_ = std::this_thread::get_id();
      pthread_setname_np(pthread_self(), "lockstep-ctl");
      started.Notify();
      self->Run();
      if (self.use_count() == 1) self->Clear();
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    started.WaitForNotification();
  }

  void Run() {
    while (!stopping_) {
      try {
        io_.run();
      } catch (const std::exception& e) {
        options_.log(absl::StrCat("a handler on the control thread failed (", e.what(), ")"));
      } catch (...) {
        options_.log("a handler on the control thread failed");
      }
    }
  }

  void Clear() {
    acceptor_.reset();
    for (const auto& dialler : std::exchange(diallers_, {})) dialler->Cancel();
  }

  absl::Status Admit(const Hello& peer) {
    if (absl::Status status = CompareHellos(identity(), peer); !status.ok()) return status;
    absl::MutexLock lock(&mu_);
    const auto handler = accept_handlers_.find(peer.role);
    if (handler == accept_handlers_.end() || !handler->second)
      return absl::UnavailableError(
          absl::StrCat("rank ", options_.identity.rank, " does not take connections of this kind yet"));
    return absl::OkStatus();
  }

  void Deliver(const Hello& peer, UniqueFd fd) {
    absl::MutexLock running(&running_mu_);
    AcceptHandler handler;
    {
      absl::MutexLock lock(&mu_);
      handler = accept_handlers_[peer.role];
    }
    if (handler) handler(peer, std::move(fd));
  }

  Options options_;
  std::vector<Address> addresses_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> incarnation_;
  absl::Mutex running_mu_;  // held while an accept handler runs
  absl::Mutex mu_;
  std::map<Role, AcceptHandler> accept_handlers_ ABSL_GUARDED_BY(mu_);
  // Of the control thread.
  std::unique_ptr<Acceptor> acceptor_;
  std::set<std::shared_ptr<Dialler>> diallers_;
};

absl::StatusOr<std::unique_ptr<Switchboard>> Switchboard::Start(Options options) {
  try {
    auto impl = std::make_shared<Impl>(std::move(options));
    if (absl::Status status = impl->Start(); !status.ok()) return status;
    return std::unique_ptr<Switchboard>(new Switchboard(std::move(impl)));
  } catch (const std::exception& e) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start the control thread (", e.what(),
                                                     "); raise the limits of open files and processes"));
  }
}

Switchboard::Switchboard(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Switchboard::~Switchboard() { impl_->Stop(); }

const std::vector<Address>& Switchboard::addresses() const { return impl_->addresses(); }
void Switchboard::SetIncarnation(uint64_t incarnation) { impl_->SetIncarnation(incarnation); }
Hello Switchboard::identity() const { return impl_->identity(); }
const std::string& Switchboard::secret() const { return impl_->options().secret; }
void Switchboard::OnAccept(Role role, AcceptHandler handler) { impl_->OnAccept(role, std::move(handler)); }

void Switchboard::Dial(std::vector<Address> addresses, Hello hello, std::chrono::nanoseconds timeout,
                       bool retry_refused, DialHandler handler) {
  Hello mine = impl_->identity();
  mine.role = hello.role;
  mine.peer_rank = hello.peer_rank;
  mine.communicator = hello.communicator;
  mine.lane = hello.lane;
  mine.stripe = hello.stripe;
  impl_->Dial({.addresses = std::move(addresses),
               .secret = impl_->options().secret,
               .hello = std::move(mine),
               .timeout = timeout,
               .retry_refused = retry_refused},
              std::move(handler));
}

asio::io_context& Switchboard::io() { return impl_->io(); }
void Switchboard::Post(std::function<void()> work) { asio::post(impl_->io(), std::move(work)); }

void Switchboard::RunSync(const std::function<void()>& work) {
  if (OnControlThread()) return work();
  absl::Notification done;
  asio::post(impl_->io(), [&work, &done] {
    // Also when `work` throws.
    struct Notifier {
      absl::Notification& done;
      ~Notifier() { done.Notify(); }
    } notifier{done};
    work();
  });
  done.WaitForNotification();
}

bool Switchboard::OnControlThread() const { return impl_->OnControlThread(); }
void Switchboard::Log(const std::string& line) const { impl_->options().log(line); }

}  // namespace lockstep::net
