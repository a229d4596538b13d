#include "src/comm/control_plane.h"

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "lockstep/status.h"
#include "src/comm/control/control_link.h"
#include "src/comm/control/control_machine.h"

namespace lockstep::comm {
namespace {

namespace asio = boost::asio;

// How long a peer has for the handshake when it is asked whether it lives.
constexpr std::chrono::seconds kDialTimeout{2};

// A rank that leaves waits this long for its links to take what it has to say.
constexpr std::chrono::milliseconds kLastWords{500};

// Drives a ControlMachine on the switchboard's control thread.
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
    const auto deadline = std::chrono::steady_clock::now() + options_.creation_timeout;
    switchboard_->OnAccept(net::Role::kControl, [this](const net::Hello& peer, net::UniqueFd socket) {
      AddLink(peer.rank, std::move(socket));
    });
    switchboard_->RunSync([this] {
      absl::MutexLock lock(&mu_);
      machine_.Start(Now());
      ArmTick();
    });
    while (std::chrono::steady_clock::now() < deadline) {
      {
        absl::MutexLock lock(&mu_);
        if (machine_.LinkedWithAllNeighbours()) return absl::OkStatus();
        changed_.WaitWithTimeout(&mu_, absl::Milliseconds(50));
      }
    }
    return absl::DeadlineExceededError(
        "not all control connections could be made within the creation time-out");
  }

  ~AsioControlPlane() override {
    switchboard_->OnAccept(net::Role::kControl, {});
    SendWhatIsLeft();
    switchboard_->RunSync([this] {
      for (auto& [peer, link] : links_) link->SayGoodbye();
      links_.clear();
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

  // Listeners are called with mu_ held.
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
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    absl::MutexLock lock(&mu_);
    machine_.BeginAgreement(communicator, epoch, Now());
    AfterChange();
    for (;;) {
      absl::StatusOr<std::optional<std::vector<int>>> agreed = machine_.Agreed(communicator, epoch);
      if (!agreed.ok()) return std::move(agreed).status();
      if (*agreed) return **agreed;
      if (std::chrono::steady_clock::now() >= deadline)
        return absl::DeadlineExceededError(absl::StrCat(
            "rank ", options_.rank, " of the job waited for an agreement on the survivors, but rank ",
            absl::StrJoin(machine_.AgreementMissing(communicator, epoch), ", "), " did not call Shrink()"));
      changed_.WaitWithTimeout(&mu_, absl::Milliseconds(50));
    }
  }

 private:
  static ControlMachine::Time Now() { return std::chrono::steady_clock::now().time_since_epoch(); }

  // ControlMachine::Outputs: with mu_ held, on any thread.
  void Send(int peer, net::FrameKind kind, const std::string& payload) override {
    switchboard_->Post([this, alive = alive_, peer, kind, payload] {
      if (!*alive) return;
      if (const auto link = links_.find(peer); link != links_.end()) link->second->Send(kind, payload);
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
                         // Another process where the peer was, or nobody: either way the peer is gone. A
                         // time-out tells nothing.
                         const bool refused = !absl::IsDeadlineExceeded(socket.status());
                         absl::MutexLock lock(&mu_);
                         machine_.OnDialFailed(peer, refused, Now());
                         AfterChange();
                       });
  }

  // Others may be waiting for what this rank knows last: why it fails.
  void SendWhatIsLeft() {
    {
      absl::MutexLock lock(&mu_);
      machine_.Flush();
    }
    const auto deadline = std::chrono::steady_clock::now() + kLastWords;
    for (bool left = true; left && std::chrono::steady_clock::now() < deadline;) {
      left = false;
      switchboard_->RunSync([&] {
        for (const auto& [peer, link] : links_) left |= link->sending();
      });
      if (left) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // On the control thread.
  void AddLink(int peer, net::UniqueFd socket) {
    if (peer < 0 || peer >= options_.world_size || peer == options_.rank) return;
    const auto serial = ++serial_;
    std::shared_ptr<ControlLink> link = ControlLink::Make(
        switchboard_->io(), std::move(socket),
        [this, peer](net::FrameKind kind, const std::string& payload) {
          absl::MutexLock lock(&mu_);
          const absl::Status taken = machine_.OnFrame(peer, kind, payload, Now());
          AfterChange();
          return taken;
        },
        [this, peer, serial] {
          const auto found = serials_.find(peer);
          if (found == serials_.end() || found->second != serial) return;  // replaced meanwhile
          links_.erase(peer);
          absl::MutexLock lock(&mu_);
          machine_.OnLinkDown(peer, Now());
          AfterChange();
        });
    if (link == nullptr) return;
    if (const auto old = links_.find(peer); old != links_.end()) old->second->Close();
    links_[peer] = link;
    serials_[peer] = serial;
    link->Start();
    absl::MutexLock lock(&mu_);
    machine_.OnLinkUp(peer, Now());
    AfterChange();
  }

  // What the machine wants to say goes out a little later, with what else comes until then.
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
  bool flush_armed_ ABSL_GUARDED_BY(mu_) = false;
  // The control thread's own.
  std::map<int, std::shared_ptr<ControlLink>> links_;
  std::map<int, uint64_t> serials_;
  uint64_t serial_ = 0;
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
