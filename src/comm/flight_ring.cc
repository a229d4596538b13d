#include "src/comm/flight_ring.h"

#include <algorithm>

namespace lockstep::comm {

FlightRing::Record* FlightRing::Slot(uint64_t sequence) {
  Record& record = records_[sequence % kCapacity];
  return record.sequence == sequence ? &record : nullptr;
}

void FlightRing::Enqueue(uint64_t sequence, const collectives::Descriptor& descriptor,
                         Clock::time_point now) {
  absl::MutexLock lock(&mu_);
  Record& record = records_[sequence % kCapacity];
  record = Record{};
  record.sequence = sequence;
  record.descriptor = descriptor;
  record.enqueued = now;
}

void FlightRing::Start(uint64_t sequence, Algorithm algorithm, Clock::time_point now) {
  absl::MutexLock lock(&mu_);
  if (Record* record = Slot(sequence)) {
    record->algorithm = algorithm;
    record->state = State::kStarted;
    record->started = now;
  }
}

void FlightRing::End(uint64_t sequence, bool ok, Clock::time_point now) {
  absl::MutexLock lock(&mu_);
  if (Record* record = Slot(sequence)) {
    record->state = ok ? State::kDone : State::kFailed;
    record->ended = now;
  }
}

std::optional<FlightRing::Record> FlightRing::Find(uint64_t sequence) const {
  absl::MutexLock lock(&mu_);
  const Record& record = records_[sequence % kCapacity];
  if (sequence == 0 || record.sequence != sequence) return std::nullopt;
  return record;
}

std::vector<FlightRing::Record> FlightRing::Snapshot() const {
  std::vector<Record> snapshot;
  {
    absl::MutexLock lock(&mu_);
    std::copy_if(records_.begin(), records_.end(), std::back_inserter(snapshot),
                 [](const Record& record) { return record.sequence != 0; });
  }
  std::sort(snapshot.begin(), snapshot.end(),
            [](const Record& a, const Record& b) { return a.sequence < b.sequence; });
  return snapshot;
}

}  // namespace lockstep::comm
