#include "src/comm/engine.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/comm/progress_thread.h"

namespace lockstep::comm {
namespace {

using collectives::OpKind;

// A sleeping driver looks at deadlines and stalls this often.
constexpr std::chrono::milliseconds kTimerTick{50};
// ... and at events that no descriptor announces (kernels and streams) this often.
constexpr std::chrono::milliseconds kEventTick{1};

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Engine::Engine(const Options& options, std::shared_ptr<ControlPlane> control,
               std::shared_ptr<ProgressThread> progress)
    : options_(options),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      control_(std::move(control)),
      progress_(std::move(progress)),
      sent_(options.members.size()),
      received_(options.members.size()) {}

absl::StatusOr<std::shared_ptr<Engine>> Engine::Create(const Options& options,
                                                       std::shared_ptr<ControlPlane> control,
                                                       std::shared_ptr<ProgressThread> progress,
                                                       const BackendFactory& make_backend) {
  std::shared_ptr<Engine> engine(new Engine(options, control, progress));
  if (!engine->wake_fd_)
    return absl::ResourceExhaustedError("no descriptor left for an eventfd; raise ulimit -n");
  absl::StatusOr<std::unique_ptr<backend::Backend>> backend =
      make_backend([raw = engine.get()] { raw->Wake(); });
  if (!backend.ok()) return std::move(backend).status();
  {
    absl::MutexLock lock(&engine->mu_);
    engine->backend_ = *std::move(backend);
  }
  if (control != nullptr) control->Register(options.communicator, options.members, engine.get());
  if (progress != nullptr) progress->Add(engine.get());
  return engine;
}

Engine::~Engine() = default;

WorkState* Engine::NewWork() {
  std::unique_ptr<WorkState> work;
  {
    absl::MutexLock lock(&pool_mu_);
    if (!pool_.empty()) {
      work = std::move(pool_.back());
      pool_.pop_back();
    }
  }
  if (work == nullptr) work = std::make_unique<WorkState>();
  work->Reset(shared_from_this());
  return work.release();
}

void Engine::Recycle(WorkState* work, std::shared_ptr<Engine> engine) {
  absl::MutexLock lock(&engine->pool_mu_);
  engine->pool_.emplace_back(work);
}

Work Engine::Ended(const absl::Status& status) {
  WorkState* work = NewWork();
  work->Complete(status, Clock::now());
  return Work(work);
}

Work Engine::Submit(collectives::Arguments arguments, const Stream& stream,
                    std::chrono::nanoseconds timeout) {
  WorkState* work = NewWork();
  work->arguments = std::move(arguments);
  absl::MutexLock lock(&mu_);
  return Accept(work, stream, timeout);
}

Work Engine::SubmitPointToPoint(collectives::Arguments arguments, int peer, const Stream& stream,
                                std::chrono::nanoseconds timeout) {
  WorkState* work = NewWork();
  work->arguments = std::move(arguments);
  work->peer = peer;
  absl::MutexLock lock(&mu_);
  return Accept(work, stream, timeout);
}

Work Engine::Accept(WorkState* work, const Stream& stream, std::chrono::nanoseconds timeout) {
  const Clock::time_point now = Clock::now();
  TakeNews(now);
  if (!poison_.ok()) {
    work->Complete(poison_, now);
    return Work(work);
  }
  work->timing.enqueued = now;
  work->timeout = timeout.count() > 0 ? timeout : options_.timeout;
  work->deadline = now + work->timeout;
  work->start_seen = stream.impl() == nullptr;
  if (!work->start_seen) work->start = Stream(stream).Record();
  if (!PendingLocked()) last_progress_ = now;
  work->Reference();  // the queue's
  if (work->peer < 0) {
    work->sequence = ++sequence_;
    flight_.Enqueue(work->sequence, work->arguments.descriptor, now);
    (head_ == nullptr ? head_ : tail_->next) = work;
    tail_ = work;
  } else {
    std::vector<uint64_t>& counter = work->arguments.descriptor.op == OpKind::kSend ? sent_ : received_;
    work->sequence = ++counter[static_cast<size_t>(work->peer)];
    point_to_point_.push_back(work);
  }
  AfterSubmit();
  return Work(work);
}

void Engine::AfterSubmit() {
  if (driving_) {
    if (sleeping_) Wake();
    return;
  }
  Step(Clock::now());
  if (PendingLocked() && progress_ != nullptr) progress_->Nudge();
}

absl::Status Engine::Wait(WorkState* work) {
  absl::MutexLock lock(&mu_);
  ++inside_;
  while (!work->done()) {
    if (driving_) {
      ++followers_;
      ended_.Wait(&mu_);
      --followers_;
    } else {
      DriveUntil(work);
    }
  }
  Leave();
  return work->status();
}

bool Engine::Test(WorkState* work) {
  if (work->done()) return true;
  absl::MutexLock lock(&mu_);
  ++inside_;
  if (AwaitsEvents()) PollEvents();
  if (!work->done() && !driving_) Step(Clock::now());
  Leave();
  return work->done();
}

WorkTiming Engine::Timing(const WorkState* work) {
  absl::MutexLock lock(&mu_);
  return work->timing;
}

void Engine::Leave() {
  --inside_;
  if (followers_ > 0 || shut_down_) ended_.SignalAll();
}

void Engine::DriveUntil(WorkState* work) {
  if (progress_ != nullptr) progress_->LeaveToWaiter();
  Clock::time_point idle_since{};
  driving_ = true;
  while (!work->done()) {
    if (AwaitsEvents()) {
      driving_ = false;
      PollEvents();
      if (driving_) return;  // another thread took over meanwhile
      driving_ = true;
    }
    const Clock::time_point now = Clock::now();
    if (Step(now)) {
      idle_since = {};
      if (followers_ > 0) ended_.SignalAll();
      continue;
    }
    if (idle_since == Clock::time_point{}) idle_since = now;
    if (now - idle_since < options_.spin) {
      mu_.Unlock();
      if (options_.yield) {
        sched_yield();
      } else {
        Pause();
      }
      mu_.Lock();
    } else {
      Sleep(now);
    }
  }
  driving_ = false;
}

bool Engine::Step(Clock::time_point now) {
  if (TakeNews(now)) return true;
  if (backend_ == nullptr || !PendingLocked()) return false;
  bool moved = AdvancePointToPoint(now) | AdvanceCollectives(now);
  if (backend_ != nullptr && backend_->Progress()) {
    moved = true;
    AdvancePointToPoint(now);
    AdvanceCollectives(now);
  }
  if (moved) last_progress_ = now;
  // Not only when nothing moves: one call may stand still beside others that flow.
  if (!moved || now - last_check_ >= kTimerTick) {
    last_check_ = now;
    CheckTimers(now);
  }
  return moved;
}

bool Engine::AdvanceCollectives(Clock::time_point now) {
  bool moved = false;
  while (head_ != nullptr && !failure_) {
    WorkState* work = head_;
    if (work->collective == nullptr && !Begin(work, now)) return moved;
    if (!poison_.ok()) return true;
    absl::StatusOr<bool> finished = work->collective->Advance();
    if (!finished.ok()) {
      NoteFailure(work, finished.status(), now);
      return true;
    }
    if (!*finished) return moved;
    moved = true;
    head_ = work->next;
    flight_.End(work->sequence, true, now);
    work->Complete(absl::OkStatus(), now);
    work->Release();
  }
  return moved;
}

bool Engine::Begin(WorkState* work, Clock::time_point now) {
  if (!work->start_seen) return false;
  Algorithm chosen = Algorithm::kAuto;
  absl::StatusOr<std::unique_ptr<collectives::Collective>> collective =
      backend_->Begin(work->arguments, work->sequence, work->stream, &chosen);
  work->timing.started = now;
  flight_.Start(work->sequence, chosen, now);
  if (!collective.ok()) {
    Poison(
        absl::Status(collective.status().code(), absl::StrCat(CallName(*work), " cannot begin", Where(), ": ",
                                                              std::string(collective.status().message()))),
        /*tell_others=*/true, work->sequence, now);
    return false;
  }
  work->collective = *std::move(collective);
  return true;
}

bool Engine::AdvancePointToPoint(Clock::time_point now) {
  bool moved = false;
  for (size_t i = 0; i < point_to_point_.size() && !failure_;) {
    WorkState* work = point_to_point_[i];
    if (work->timing.started == Clock::time_point{}) {
      if (!work->start_seen) {
        ++i;
        continue;
      }
      Post(work, now);
      moved = true;
    }
    if (!work->operation.done()) {
      ++i;
      continue;
    }
    moved = true;
    if (!work->operation.status().ok()) {
      NoteFailure(work, work->operation.status(), now);
      return true;
    }
    point_to_point_.erase(point_to_point_.begin() + static_cast<std::ptrdiff_t>(i));
    work->Complete(absl::OkStatus(), now);
    work->Release();
  }
  return moved;
}

void Engine::Post(WorkState* work, Clock::time_point now) {
  work->timing.started = now;
  collectives::Descriptor both_sides = work->arguments.descriptor;
  const bool send = both_sides.op == OpKind::kSend;
  both_sides.op = OpKind::kSend;
  const transport::Tag tag{work->sequence, both_sides.Hash(), 0};
  const auto bytes = static_cast<size_t>(both_sides.count * SizeOf(both_sides.dtype));
  if (send) {
    backend_->PostSend(work->peer, tag, {work->arguments.input, bytes}, &work->operation);
  } else {
    backend_->PostReceive(work->peer, tag, {work->arguments.output, bytes}, &work->operation);
  }
}

bool Engine::AwaitsEvents() const {
  if (head_ != nullptr && (!head_->start_seen || head_->stream.impl() != nullptr)) return true;
  return std::any_of(point_to_point_.begin(), point_to_point_.end(),
                     [](const WorkState* work) { return !work->start_seen; });
}

void Engine::PollEvents() {
  // A host stream runs its queued work in whoever polls: that work may call this communicator, so not under
  // the lock.
  std::vector<std::pair<WorkState*, Event>> waiting;
  const auto add = [&](WorkState* work) {
    if (work->start_seen) return;
    work->Reference();
    waiting.emplace_back(work, work->start);
  };
  if (head_ != nullptr) add(head_);
  for (WorkState* work : point_to_point_) add(work);
  std::vector<bool> seen;
  mu_.Unlock();
  for (const auto& [work, start] : waiting) seen.push_back(start.Done());
  mu_.Lock();
  for (size_t i = 0; i < waiting.size(); ++i) {
    WorkState* work = waiting[i].first;
    if (seen[i]) work->start_seen = true;
    work->Release();
  }
}

void Engine::Sleep(Clock::time_point now) {
  waits_.clear();
  waits_.push_back({wake_fd_.get(), POLLIN, 0});
  if (backend_ != nullptr) backend_->AppendWaits(&waits_);
  auto tick = AwaitsEvents() ? kEventTick : kTimerTick;
  if (head_ != nullptr && head_->deadline - now < tick)
    tick = std::max(std::chrono::milliseconds(1),
                    std::chrono::duration_cast<std::chrono::milliseconds>(head_->deadline - now));
  sleeping_ = true;
  std::vector<pollfd> waits = std::move(waits_);
  mu_.Unlock();
  poll(waits.data(), waits.size(), static_cast<int>(tick.count()));
  if ((waits[0].revents & POLLIN) != 0) {
    eventfd_t ignored;
    eventfd_read(wake_fd_.get(), &ignored);
  }
  mu_.Lock();
  waits_ = std::move(waits);
  sleeping_ = false;
}

void Engine::Wake() { eventfd_write(wake_fd_.get(), 1); }

Engine::BackgroundResult Engine::BackgroundStep(std::vector<pollfd>* waits) {
  absl::MutexLock lock(&mu_);
  BackgroundResult result;
  if (!driving_ && AwaitsEvents()) PollEvents();
  if (driving_ || shut_down_) return result;
  result.moved = Step(Clock::now());
  if (followers_ > 0) ended_.SignalAll();
  result.pending = PendingLocked();
  result.poll = result.pending && AwaitsEvents();
  if (result.pending && backend_ != nullptr) {
    waits->push_back({wake_fd_.get(), POLLIN, 0});
    backend_->AppendWaits(waits);
  }
  eventfd_t ignored;
  eventfd_read(wake_fd_.get(), &ignored);
  return result;
}

std::string Engine::Report() {
  absl::MutexLock lock(&mu_);
  std::string report = absl::StrCat("communicator \"", options_.name, "\": rank ", options_.rank, " of ",
                                    options_.members.size(), ", epoch ", options_.epoch, "\n");
  if (backend_ != nullptr) {
    const transport::Transport::Counters counters = backend_->counters();
    absl::StrAppend(&report, "  backend ", backend_->name(), ", staging memory at most ",
                    backend_->buffer_bytes(), " bytes\n  ", sequence_, " collectives; sent ",
                    counters.bytes_sent, " bytes in ", counters.messages_sent, " messages, received ",
                    counters.bytes_received, " bytes in ", counters.messages_received, " messages\n");
  }
  absl::StrAppend(&report, "  status: ", poison_.ok() ? std::string("OK") : poison_.ToString(), "\n");
  return report;
}

}  // namespace lockstep::comm
