#include "lockstep/work.h"

#include <utility>

#include "src/comm/engine.h"
#include "src/comm/work_state.h"

namespace lockstep::inline v0 {
namespace internal {

void WorkState::Reset(std::shared_ptr<comm::Engine> owner) {
  engine_ = std::move(owner);
  references_.store(1, std::memory_order_relaxed);
  done_.store(false, std::memory_order_relaxed);
  status_ = absl::OkStatus();
  sequence = 0;
  timing = {};
  stream = Stream();
  start = Event();
  start_seen = false;
  peer = -1;
  next = nullptr;
}

void WorkState::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  comm::Engine::Recycle(this, std::move(engine_));
}

}  // namespace internal

Work::Work(const Work& other) : state_(other.state_) {
  if (state_ != nullptr) state_->Reference();
}

Work::Work(Work&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Work& Work::operator=(Work other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Work::~Work() {
  if (state_ != nullptr) state_->Release();
}

absl::Status Work::Wait() {
  if (state_ == nullptr) return absl::OkStatus();
  if (state_->done()) return state_->status();
  return state_->engine()->Wait(state_);
}

absl::Status Work::Wait(Stream stream) {
  if (stream.impl() == nullptr) return Wait();
  stream.Enqueue([work = *this]() mutable { work.Wait().IgnoreError(); });
  return status();
}

bool Work::Test() { return state_ == nullptr || state_->engine()->Test(state_); }

absl::Status Work::status() const {
  return state_ == nullptr || !state_->done() ? absl::OkStatus() : state_->status();
}

WorkTiming Work::timing() const {
  return state_ == nullptr ? WorkTiming{} : state_->engine()->Timing(state_);
}

uint64_t Work::sequence() const { return state_ == nullptr ? 0 : state_->sequence; }

}  // namespace lockstep::inline v0
