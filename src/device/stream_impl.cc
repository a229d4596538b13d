#include "src/device/stream_impl.h"

#include <utility>

#include "absl/container/inlined_vector.h"

namespace lockstep::inline v0::internal {

bool StreamImpl::TryRun(absl::FunctionRef<void()> /*work*/) { return false; }

Event StreamImpl::Record() {
  const uint64_t newest = Newest();
  return Passed(newest) ? Event() : Event(shared_from_this(), newest);
}

bool StreamImpl::Done(uint64_t ticket) { return Passed(ticket) || Drive(ticket, /*wait=*/false); }

void StreamImpl::WaitSync(uint64_t ticket) {
  if (!Passed(ticket)) Drive(ticket, /*wait=*/true);
}

bool StreamImpl::HasPassed(const Event& event) {
  return event.stream_ == nullptr || event.stream_->Passed(event.ticket_);
}

bool StreamImpl::Drive(uint64_t ticket, bool wait) {
  absl::InlinedVector<Event, 4> chain = {Event(shared_from_this(), ticket)};
  for (;;) {
    // By value: what runs may wait for streams itself, but never touches this chain.
    StreamImpl* stream = chain.back().stream_.get();
    const uint64_t wanted = chain.back().ticket_;
    Event blocker;
    if (stream->Advance(wanted, &blocker)) {
      chain.pop_back();
      if (chain.empty()) return true;
    } else if (blocker.stream_ != nullptr) {
      chain.push_back(std::move(blocker));
    } else if (wait) {
      stream->AwaitChange(wanted);
    } else {
      return false;
    }
  }
}

}  // namespace lockstep::inline v0::internal
