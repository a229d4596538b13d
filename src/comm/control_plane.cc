#include "src/comm/control_plane.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "lockstep/status.h"
#include "src/comm/control/control_link.h"
#include "src/comm/control/control_machine.h"

namespace lockstep::comm {
namespace {

namespace asio = boost::asio;

// How long a peer has for the handshake when it is asked whether it lives.
constexpr std::chrono::seconds kDialTimeout{2};
// How long a goodbye waits for the neighbours to have heard it.
constexpr std::chrono::milliseconds kGoodbyeTimeout{500};

double Seconds(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

std::string Ranks(const std::vector<int>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", absl::StrJoin(ranks, ", "));
}

// Nobody listens where the rank was, or somebody else does. Other errors tell nothing of it.
bool IsGone(const absl::Status& dialled) {
  return absl::IsUnavailable(dialled) || absl::IsFailedPrecondition(dialled) ||
         absl::IsPermissionDenied(dialled);
}

// Drives a ControlMachine: what it sends goes out on the switchboard's control thread, where also its timers
// are and what comes in is read. Two ranks may hold several connections to each other, when both have dialled
// at once; the newest is written to, all are read, and the link is up while there is one.
class AsioControlPlane : public ControlPlane, ControlMachine::Outputs {
 public:
  AsioControlPlane(std::shared_ptr<net::Switchboard> switchboard, Options options)
      : switchboard_(std::move(switchboard)),
        options_(std::move(options)),
        machine_({options_.rank, options_.world_size, options_.heartbeat_timeout, options_.descriptions},
                 this),
        tick_(switchboard_->io()),
        flush_(switchboard_->io()) {}

  absl::Status Link() {
    switchboard_->OnAccept(net::Role::kControl, [this](const net::Hello& peer, net::UniqueFd socket) {
      AddLink(peer.rank, std::move(socket));
    });
    switchboard_->RunSync([this] {
      absl::MutexLock lock(&mu_);
      machine_.Start(Now());
      ArmTick();
    });
    absl::MutexLock lock(&mu_);
    const absl::Time deadline = absl::Now() + absl::FromChrono(options_.creation_timeout);
    while (!machine_.LinkedWithAllNeighbours()) {
      if (!refusal_.ok()) return refusal_;
      if (!changed_.WaitWithDeadline(&mu_, deadline)) continue;
      return absl::DeadlineExceededError(
          absl::StrCat("no control connection with ", Ranks(machine_.MissingNeighbours()), " within ",
                       Seconds(options_.creation_timeout),
                       " s (they did not answer at their addresses); see that the network lets the ranks "
                       "reach each other, or raise the creation time-out"));
    }
    return absl::OkStatus();
  }

  ~AsioControlPlane() override {
    switchboard_->OnAccept(net::Role::kControl, {});
    {
      absl::MutexLock lock(&mu_);
      machine_.Flush();
    }
    switchboard_->RunSync([this] { SayGoodbye(); });
    if (!switchboard_->OnControlThread()) {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(this, &AsioControlPlane::AllClosed),
                           absl::FromChrono(kGoodbyeTimeout));
    }
    switchboard_->RunSync([this] {
      for (auto& [peer, links] : links_)
        for (const std::shared_ptr<ControlLink>& link : links) link->Close();
      for (const std::shared_ptr<ControlLink>& link : finishing_) link->Close();
      tick_.cancel();
      flush_.cancel();
      // Handlers of dials and timers that are still to come look here first.
      *alive_ = false;
    });
  }

  void Register(uint64_t communicator, std::vector<int> members, ControlListener* listener) override {
    absl::MutexLock lock(&mu_);
    machine_.Register(communicator, std::move(members), listener, Now());
    AfterChange();
  }

  // Listeners are called with mu_ held: none is running after this.
  void Unregister(uint64_t communicator) override {
    absl::MutexLock lock(&mu_);
    machine_.Unregister(communicator);
  }

  void Compare(uint64_t communicator, uint64_t sequence) override {
    absl::MutexLock lock(&mu_);
    machine_.Compare(communicator, sequence, Now());
    AfterChange();
  }

  void Poison(uint64_t communicator, uint64_t sequence, const absl::Status& status) override {
    absl::MutexLock lock(&mu_);
    machine_.Poison(communicator, sequence, status, Now());
    AfterChange();
  }

  void Suspect(int rank) override {
    absl::MutexLock lock(&mu_);
    machine_.Suspect(rank, Now());
  }

  std::vector<int> Absent(uint64_t communicator, uint64_t sequence) const override {
    absl::MutexLock lock(&mu_);
    return machine_.Absent(communicator, sequence);
  }

  std::vector<LostRank> lost() const override {
    absl::MutexLock lock(&mu_);
    std::vector<LostRank> lost;
    for (const auto& [rank, fact] : machine_.lost()) lost.push_back(fact);
    return lost;
  }

  absl::StatusOr<std::vector<int>> AgreeOnSurvivors(uint64_t communicator, uint32_t epoch,
                                                    std::chrono::nanoseconds timeout) override {
    const absl::Time deadline = absl::Now() + absl::FromChrono(timeout);
    absl::MutexLock lock(&mu_);
    machine_.BeginAgreement(communicator, epoch, Now());
    AfterChange();
    for (;;) {
      absl::StatusOr<std::optional<std::vector<int>>> agreed = machine_.Agreed(communicator, epoch);
      if (!agreed.ok()) return std::move(agreed).status();
      if (*agreed) return **agreed;
      if (!changed_.WaitWithDeadline(&mu_, deadline)) continue;
      return absl::DeadlineExceededError(absl::StrCat(
          "rank ", options_.rank, " of the job waited ", Seconds(timeout),
          " s for an agreement on the survivors (", Ranks(machine_.AgreementMissing(communicator, epoch)),
          " of the job did not take part); every rank that is left must call Shrink()"));
    }
  }

 private:
  using Links = std::vector<std::shared_ptr<ControlLink>>;

  static ControlMachine::Time Now() { return std::chrono::steady_clock::now().time_since_epoch(); }

  // ControlMachine::Outputs: with mu_ held, on any thread.
  void Send(int peer, net::FrameKind kind, const std::string& payload) override {
    switchboard_->Post([this, alive = alive_, peer, kind, payload] {
      if (!*alive) return;
      const auto links = links_.find(peer);
      if (links == links_.end()) return;
      const std::shared_ptr<ControlLink> newest = links->second.back();
      newest->Send(kind, payload);
    });
  }

  void CloseLink(int peer) override {
    switchboard_->Post([this, alive = alive_, peer] {
      if (!*alive) return;
      const auto links = links_.find(peer);
      if (links == links_.end()) return;
      for (const std::shared_ptr<ControlLink>& link : links->second) Finish(link);
      links_.erase(links);
    });
  }

  void Dial(int peer) override {
    net::Hello hello;
    hello.role = net::Role::kControl;
    hello.peer_rank = peer;
    switchboard_->Dial(options_.addresses[static_cast<size_t>(peer)], hello, kDialTimeout,
                       /*retry_refused=*/false,
                       [this, alive = alive_, peer](absl::StatusOr<net::UniqueFd> socket) {
                         if (!*alive) return;
                         if (socket.ok()) return AddLink(peer, *std::move(socket));
                         absl::MutexLock lock(&mu_);
                         // At creation, ranks that do not fit each other are to say so.
                         if (!absl::IsUnavailable(socket.status()) && IsGone(socket.status()))
                           refusal_ = socket.status();
                         machine_.OnDialFailed(peer, IsGone(socket.status()), Now());
                         AfterChange();
                       });
  }

  // On the control thread, as all below.
  void AddLink(int peer, net::UniqueFd socket) {
    if (peer < 0 || peer >= options_.world_size || peer == options_.rank) return;
    auto self = std::make_shared<std::weak_ptr<ControlLink>>();
    const std::shared_ptr<ControlLink> link = ControlLink::Make(
        switchboard_->io(), std::move(socket),
        [this, peer](net::FrameKind kind, const std::string& payload) {
          absl::MutexLock lock(&mu_);
          const absl::Status taken = machine_.OnFrame(peer, kind, payload, Now());
          AfterChange();
          return taken;
        },
        [this, peer, self] { RemoveLink(peer, self->lock()); });
    if (link != nullptr) {
      *self = link;
      links_[peer].push_back(link);
      link->Start();
    }
    absl::MutexLock lock(&mu_);
    if (link != nullptr)
      machine_.OnLinkUp(peer, Now());
    else
      machine_.OnDialFailed(peer, /*refused=*/false, Now());
    AfterChange();
  }

  void RemoveLink(int peer, const std::shared_ptr<ControlLink>& link) {
    const auto finished = std::find(finishing_.begin(), finishing_.end(), link);
    absl::MutexLock lock(&mu_);
    if (finished != finishing_.end()) {
      finishing_.erase(finished);
      all_closed_ = finishing_.empty();
      return;
    }
    const auto links = links_.find(peer);
    if (links == links_.end()) return;
    links->second.erase(std::remove(links->second.begin(), links->second.end(), link), links->second.end());
    if (!links->second.empty()) return;
    links_.erase(links);
    machine_.OnLinkDown(peer, Now());
    AfterChange();
  }

  void Finish(const std::shared_ptr<ControlLink>& link) {
    finishing_.push_back(link);
    link->Finish();
  }

  void SayGoodbye() {
    for (const auto& [peer, links] : std::exchange(links_, {})) {
      for (const std::shared_ptr<ControlLink>& link : links) {
        link->Send(net::FrameKind::kGoodbye, "");
        Finish(link);
      }
    }
    absl::MutexLock lock(&mu_);
    all_closed_ = finishing_.empty();
  }
  bool AllClosed() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return all_closed_; }

  // What the machine wants to say goes out a little later, with what else comes until then. On any thread.
  void AfterChange() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    changed_.SignalAll();
    if (!machine_.NeedsFlush() || flush_armed_) return;
    flush_armed_ = true;
    switchboard_->Post([this, alive = alive_] {
      if (!*alive) return;
      flush_.expires_after(ControlMachine::kFlushDelay);
      flush_.async_wait([this, alive](const boost::system::error_code& error) {
        if (error || !*alive) return;
        absl::MutexLock lock(&mu_);
        flush_armed_ = false;
        machine_.Flush();
      });
    });
  }

  void ArmTick() {
    tick_.expires_after(ControlMachine::kTick);
    tick_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
      if (error || !*alive) return;
      {
        absl::MutexLock lock(&mu_);
        machine_.Tick(Now());
        AfterChange();
      }
      ArmTick();
    });
  }

  const std::shared_ptr<net::Switchboard> switchboard_;
  const Options options_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // control thread only
  mutable absl::Mutex mu_;
  absl::CondVar changed_;
  ControlMachine machine_ ABSL_GUARDED_BY(mu_);
  absl::Status refusal_ ABSL_GUARDED_BY(mu_);
  bool flush_armed_ ABSL_GUARDED_BY(mu_) = false;
  bool all_closed_ ABSL_GUARDED_BY(mu_) = false;
  // The control thread's own.
  std::map<int, Links> links_;  // none empty
  Links finishing_;             // closed here, not yet by the peer
  asio::steady_timer tick_, flush_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<ControlPlane>> ControlPlane::Start(
    std::shared_ptr<net::Switchboard> switchboard, Options options) {
  auto control = std::make_shared<AsioControlPlane>(std::move(switchboard), std::move(options));
  LOCKSTEP_RETURN_IF_ERROR(control->Link());
  return std::shared_ptr<ControlPlane>(std::move(control));
}

}  // namespace lockstep::comm
