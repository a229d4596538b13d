#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/bootstrap/store_protocol.h"

namespace lockstep::bootstrap {

// What a store holds and who waits for what, without sockets and clocks: both are handed in. Not thread-safe.
//
// Keys and values take at most `max_bytes` together (each entry counts kEntryBytes more); what would exceed
// it is refused with ResourceExhausted. A client may have kMaxWaiting requests waiting.
class StoreTable {
 public:
  using Clock = std::chrono::steady_clock;
  using Client = uint64_t;
  // Where responses go; may not call back into the table.
  using Send = std::function<void(Client, const Response&)>;

  static constexpr size_t kEntryBytes = 64;
  static constexpr size_t kMaxWaiting = 1024;

  explicit StoreTable(Send send, size_t max_bytes = size_t{64} << 20);

  // Answers at once or when what the request waits for is there; a wait that is not over by its time-out is
  // answered by Expire.
  void Handle(Client client, const Request& request, Clock::time_point now);
  // The client is gone: nothing of it waits any more, and it is in no barrier.
  void Forget(Client client);
  void Expire(Clock::time_point now);
  std::optional<Clock::time_point> next_deadline() const;

  size_t bytes() const { return bytes_; }
  size_t waiting() const { return waiters_.size(); }

 private:
  struct Waiter {
    Client client;
    Request request;
    std::set<std::string> missing;  // keys; of a barrier: none
    Clock::time_point deadline;
  };
  using Waiters = std::list<Waiter>;

  void Get(Client client, const Request& request, Clock::time_point now);
  void Add(Client client, const Request& request);
  void CompareAndSet(Client client, const Request& request);
  void Delete(Client client, const Request& request);
  void Barrier(Client client, const Request& request, Clock::time_point now);

  // Sets, and answers the waits that this ends.
  absl::Status Store(const std::string& key, const std::string& value);
  void Enqueue(Waiter waiter);
  void Remove(Waiters::iterator waiter);
  void Reply(Client client, uint64_t id, absl::Status status = absl::OkStatus(), std::string value = "",
             int64_t number = 0);
  // What a finished Get or Wait is answered with.
  void ReplyFound(const Waiter& waiter);
  std::string WhatIsMissing(const Waiter& waiter) const;

  const Send send_;
  const size_t max_bytes_;
  std::map<std::string, std::string> values_;
  size_t bytes_ = 0;
  Waiters waiters_;
  std::map<std::string, std::list<Waiters::iterator>> waiting_for_key_;
  std::map<std::string, std::list<Waiters::iterator>> in_barrier_;  // by name, in order of arrival
  std::map<Client, size_t> waiting_of_client_;
  std::multimap<Clock::time_point, Waiters::iterator> deadlines_;
};

}  // namespace lockstep::bootstrap
