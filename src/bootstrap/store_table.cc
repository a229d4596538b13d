#include "src/bootstrap/store_table.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep::bootstrap {
namespace {

// A message names so many missing keys or ranks, and counts the rest.
constexpr size_t kNamed = 16;

std::string Quoted(const std::string& key) { return absl::StrCat("\"", absl::CHexEscape(key), "\""); }

template <typename Items>
std::string Enumerate(const Items& items) {
  const size_t shown = std::min(items.size(), kNamed);
  std::string text =
      absl::StrJoin(items.begin(), std::next(items.begin(), static_cast<std::ptrdiff_t>(shown)), ", ");
  if (items.size() > shown) absl::StrAppend(&text, " and ", items.size() - shown, " more");
  return text;
}

StoreTable::Clock::time_point DeadlineOf(const Request& request, StoreTable::Clock::time_point now) {
  constexpr int64_t kYear = int64_t{365} * 24 * 3600 * 1'000'000'000;
  return now + std::chrono::nanoseconds(std::clamp<int64_t>(request.timeout_ns, 0, kYear));
}

double Seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

}  // namespace

StoreTable::StoreTable(Send send, size_t max_bytes) : send_(std::move(send)), max_bytes_(max_bytes) {}

void StoreTable::Handle(Client client, const Request& request, Clock::time_point now) {
  switch (request.kind) {
    case Request::Kind::kSet:
      return Reply(client, request.id, Store(request.keys[0], request.value));
    case Request::Kind::kGet:
    case Request::Kind::kWait:
      return Get(client, request, now);
    case Request::Kind::kAdd:
      return Add(client, request);
    case Request::Kind::kCompareAndSet:
      return CompareAndSet(client, request);
    case Request::Kind::kDelete:
      return Delete(client, request);
    case Request::Kind::kBarrier:
      return Barrier(client, request, now);
  }
}

void StoreTable::Get(Client client, const Request& request, Clock::time_point now) {
  Waiter waiter{client, request, {}, DeadlineOf(request, now)};
  for (const std::string& key : request.keys)
    if (values_.count(key) == 0) waiter.missing.insert(key);
  if (waiter.missing.empty()) return ReplyFound(waiter);
  Enqueue(std::move(waiter));
}

void StoreTable::Add(Client client, const Request& request) {
  const std::string& key = request.keys[0];
  int64_t sum = 0;
  if (const auto found = values_.find(key); found != values_.end() && !absl::SimpleAtoi(found->second, &sum))
    return Reply(client, request.id,
                 absl::FailedPreconditionError(
                     absl::StrCat("cannot add to key ", Quoted(key), " (it holds no decimal number)")));
  if (__builtin_add_overflow(sum, request.number, &sum))
    return Reply(client, request.id,
                 absl::FailedPreconditionError(absl::StrCat("the counter ", Quoted(key), " would overflow")));
  absl::Status status = Store(key, absl::StrCat(sum));
  Reply(client, request.id, std::move(status), "", sum);
}

void StoreTable::CompareAndSet(Client client, const Request& request) {
  const auto found = values_.find(request.keys[0]);
  const std::string present = found == values_.end() ? "" : found->second;
  if (present != request.expected) return Reply(client, request.id, absl::OkStatus(), present);
  absl::Status status = Store(request.keys[0], request.value);
  Reply(client, request.id, std::move(status), request.value);
}

void StoreTable::Delete(Client client, const Request& request) {
  const auto found = values_.find(request.keys[0]);
  const bool there = found != values_.end();
  if (there) {
    bytes_ -= kEntryBytes + found->first.size() + found->second.size();
    values_.erase(found);
  }
  Reply(client, request.id, absl::OkStatus(), "", there ? 1 : 0);
}

void StoreTable::Barrier(Client client, const Request& request, Clock::time_point now) {
  const std::string& name = request.keys[0];
  if (request.number < 1 || request.rank < 0)
    return Reply(client, request.id,
                 absl::InvalidArgumentError(absl::StrCat("barrier ", Quoted(name), " of ", request.number,
                                                         " callers, entered by rank ", request.rank)));
  if (const auto present = in_barrier_.find(name); present != in_barrier_.end())
    for (const Waiters::iterator& other : present->second) {
      const Request& theirs = other->request;
      if (theirs.number != request.number || theirs.rank == request.rank)
        return Reply(client, request.id,
                     absl::FailedPreconditionError(absl::StrCat(
                         "barrier ", Quoted(name), ": rank ", request.rank, " entered for ", request.number,
                         " callers, while rank ", theirs.rank, " waits in it for ", theirs.number)));
    }
  Enqueue({client, request, {}, DeadlineOf(request, now)});
  const auto arrived = in_barrier_.find(name);
  if (arrived == in_barrier_.end() || static_cast<int64_t>(arrived->second.size()) < request.number) return;
  for (const Waiters::iterator& waiter : std::list<Waiters::iterator>(arrived->second)) {
    Reply(waiter->client, waiter->request.id);
    Remove(waiter);
  }
}

absl::Status StoreTable::Store(const std::string& key, const std::string& value) {
  const auto found = values_.find(key);
  const size_t before = found == values_.end() ? 0 : kEntryBytes + key.size() + found->second.size();
  const size_t after = kEntryBytes + key.size() + value.size();
  if (bytes_ - before + after > max_bytes_)
    return absl::ResourceExhaustedError(absl::StrCat("no room for key ", Quoted(key), " in the store (",
                                                     value.size(), " bytes; ", bytes_, " of ", max_bytes_,
                                                     " are taken); delete keys that are read"));
  bytes_ = bytes_ - before + after;
  values_[key] = value;
  const auto waiting = waiting_for_key_.find(key);
  if (waiting == waiting_for_key_.end()) return absl::OkStatus();
  for (const Waiters::iterator& waiter : std::list<Waiters::iterator>(waiting->second)) {
    // Out of this key's list first: Remove looks for the keys that are still missing.
    waiter->missing.erase(key);
    if (!waiter->missing.empty()) continue;
    ReplyFound(*waiter);
    Remove(waiter);
  }
  waiting_for_key_.erase(key);
  return absl::OkStatus();
}

void StoreTable::Enqueue(Waiter waiter) {
  size_t& waiting = waiting_of_client_[waiter.client];
  if (waiting >= kMaxWaiting)
    return Reply(waiter.client, waiter.request.id,
                 absl::ResourceExhaustedError(
                     absl::StrCat("too many calls of one rank wait in the store (", waiting, ")")));
  ++waiting;
  const auto place = waiters_.insert(waiters_.end(), std::move(waiter));
  for (const std::string& key : place->missing) waiting_for_key_[key].push_back(place);
  if (place->request.kind == Request::Kind::kBarrier) in_barrier_[place->request.keys[0]].push_back(place);
  deadlines_.emplace(place->deadline, place);
}

void StoreTable::Remove(Waiters::iterator waiter) {
  const auto drop = [waiter](auto* index, const std::string& name) {
    const auto entry = index->find(name);
    if (entry == index->end()) return;
    entry->second.remove(waiter);
    if (entry->second.empty()) index->erase(entry);
  };
  for (const std::string& key : waiter->missing) drop(&waiting_for_key_, key);
  if (waiter->request.kind == Request::Kind::kBarrier) drop(&in_barrier_, waiter->request.keys[0]);
  const auto [first, last] = deadlines_.equal_range(waiter->deadline);
  deadlines_.erase(std::find_if(first, last, [waiter](const auto& entry) { return entry.second == waiter; }));
  const auto count = waiting_of_client_.find(waiter->client);
  if (--count->second == 0) waiting_of_client_.erase(count);
  waiters_.erase(waiter);
}

void StoreTable::Forget(Client client) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const auto next = std::next(waiter);
    if (waiter->client == client) Remove(waiter);
    waiter = next;
  }
  waiting_of_client_.erase(client);
}

void StoreTable::Expire(Clock::time_point now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const Waiters::iterator waiter = deadlines_.begin()->second;
    Reply(waiter->client, waiter->request.id,
          absl::DeadlineExceededError(
              absl::StrCat(WhatIsMissing(*waiter), " within ", Seconds(waiter->request.timeout_ns), " s")));
    Remove(waiter);
  }
}

std::optional<StoreTable::Clock::time_point> StoreTable::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

void StoreTable::Reply(Client client, uint64_t id, absl::Status status, std::string value, int64_t number) {
  send_(client, {.id = id, .status = std::move(status), .number = number, .value = std::move(value)});
}

void StoreTable::ReplyFound(const Waiter& waiter) {
  const bool get = waiter.request.kind == Request::Kind::kGet;
  Reply(waiter.client, waiter.request.id, absl::OkStatus(), get ? values_[waiter.request.keys[0]] : "");
}

std::string StoreTable::WhatIsMissing(const Waiter& waiter) const {
  if (waiter.request.kind != Request::Kind::kBarrier) {
    std::vector<std::string> keys;
    for (const std::string& key : waiter.missing) keys.push_back(Quoted(key));
    return absl::StrCat("nobody set ", keys.size() == 1 ? "key " : "keys ", Enumerate(keys));
  }
  const auto& arrived = in_barrier_.at(waiter.request.keys[0]);
  std::set<int> ranks;
  for (const Waiters::iterator& other : arrived) ranks.insert(other->request.rank);
  std::vector<int> absent;
  // Callers are normally ranks 0 to count - 1. Of a large count the first that are absent say enough.
  for (int64_t rank = 0; rank < waiter.request.number && absent.size() < 4096; ++rank)
    if (ranks.count(static_cast<int>(rank)) == 0) absent.push_back(static_cast<int>(rank));
  return absl::StrCat("barrier ", Quoted(waiter.request.keys[0]), ": ", arrived.size(), " of ",
                      waiter.request.number, " ranks came, ", absent.size() == 1 ? "rank " : "ranks ",
                      Enumerate(absent), " did not");
}

}  // namespace lockstep::bootstrap
