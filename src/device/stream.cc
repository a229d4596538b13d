#include "lockstep/stream.h"

#include <utility>

#include "src/device/host_stream.h"
#include "src/device/stream_impl.h"

namespace lockstep::inline v0 {

Event::Event(std::shared_ptr<internal::StreamImpl> stream, uint64_t ticket)
    : stream_(std::move(stream)), ticket_(ticket) {}

bool Event::Done() const { return stream_ == nullptr || stream_->Done(ticket_); }

void Event::WaitSync() const {
  if (stream_ != nullptr) stream_->WaitSync(ticket_);
}

Stream::Stream(std::shared_ptr<internal::StreamImpl> impl) : impl_(std::move(impl)) {}

Stream Stream::Host() { return Stream(std::make_shared<device::HostStream>()); }

Device Stream::device() const { return impl_ == nullptr ? Device{} : impl_->device(); }

void Stream::Enqueue(std::function<void()> work) {
  if (impl_ == nullptr) return work();
  impl_->Enqueue(std::move(work));
}

Event Stream::Record() { return impl_ == nullptr ? Event() : impl_->Record(); }

void Stream::WaitFor(const Event& event) {
  if (impl_ == nullptr) return event.WaitSync();
  impl_->WaitFor(event);
}

void Stream::WaitSync() {
  if (impl_ != nullptr) impl_->WaitSync(impl_->Newest());
}

bool Stream::Idle() const { return impl_ == nullptr || impl_->Done(impl_->Newest()); }

}  // namespace lockstep::inline v0
