#pragma once

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "src/net/switchboard.h"
#include "tests/net/log_lines.h"

namespace lockstep::net {

// A rank on loopback with the secret and settings that the tests of this folder agree on.
inline Switchboard::Options Rank(int rank, LogLines* log = nullptr) {
  Switchboard::Options options;
  options.secret = "the job's secret";
  options.loopback_only = true;
  options.identity.rank = rank;
  options.identity.settings = "timeout=600";
  if (log != nullptr) options.log = log->Writer();
  return options;
}

struct Accepted {
  Hello peer;
  UniqueFd fd;
};

// A switchboard whose data connections can be waited for.
class Node {
 public:
  explicit Node(Switchboard::Options options) : switchboard_(Switchboard::Start(std::move(options)).value()) {
    switchboard_->OnAccept(Role::kData, [this](const Hello& peer, UniqueFd fd) {
      absl::MutexLock lock(&mu_);
      accepted_.push_back({peer, std::move(fd)});
    });
  }

  absl::StatusOr<UniqueFd> Dial(const std::vector<Address>& addresses, int peer_rank,
                                std::chrono::nanoseconds timeout = std::chrono::seconds(10),
                                bool retry_refused = false, Role role = Role::kData) {
    Hello hello;
    hello.role = role;
    hello.peer_rank = peer_rank;
    hello.communicator = 17;
    hello.lane = 1;
    std::promise<absl::StatusOr<UniqueFd>> promise;
    switchboard_->Dial(addresses, hello, timeout, retry_refused,
                       [&](absl::StatusOr<UniqueFd> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }

  absl::StatusOr<UniqueFd> Dial(Node& other, int peer_rank) { return Dial(other->addresses(), peer_rank); }

  Accepted WaitForAccepted() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](std::vector<Accepted>* accepted) { return !accepted->empty(); }, &accepted_));
    Accepted first = std::move(accepted_.front());
    accepted_.erase(accepted_.begin());
    return first;
  }
  size_t accepted_count() {
    absl::MutexLock lock(&mu_);
    return accepted_.size();
  }

  Switchboard* operator->() { return switchboard_.get(); }
  Switchboard& operator*() { return *switchboard_; }

 private:
  absl::Mutex mu_;
  std::vector<Accepted> accepted_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Switchboard> switchboard_;
};

}  // namespace lockstep::net
