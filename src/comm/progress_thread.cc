#include "src/comm/progress_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/comm/engine.h"

namespace lockstep::comm {
namespace {

// How often the thread looks for calls that nobody waits for, while calls keep coming: at first, and after
// many looks that found nothing.
constexpr std::chrono::microseconds kFirstLook{200}, kLastLook{5000};
// With no call for this long it sleeps until it is woken.
constexpr std::chrono::milliseconds kQuiet{50};
// With calls pending: deadlines and stalls are looked at this often.
constexpr std::chrono::milliseconds kTimerTick{50};
constexpr std::chrono::microseconds kEventTick{200};

void SleepOn(std::vector<pollfd>* waits, std::chrono::nanoseconds timeout) {
  timespec limit{timeout.count() / 1'000'000'000, timeout.count() % 1'000'000'000};
  ppoll(waits->data(), waits->size(), timeout.count() < 0 ? nullptr : &limit, nullptr);
}

}  // namespace

absl::StatusOr<std::shared_ptr<ProgressThread>> ProgressThread::Start() {
  net::UniqueFd wake_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_fd) return absl::ResourceExhaustedError("no descriptor left for an eventfd; raise ulimit -n");
  std::shared_ptr<ProgressThread> progress(new ProgressThread(std::move(wake_fd)));
  progress->thread_ = std::thread([raw = progress.get()] { raw->Run(); });
  pthread_setname_np(progress->thread_.native_handle(), "lockstep-prog");
  return progress;
}

ProgressThread::~ProgressThread() {
  stop_ = true;
  Wake();
  thread_.join();
}

void ProgressThread::Add(Engine* engine) {
  absl::MutexLock lock(&mu_);
  engines_.push_back(engine);
}

void ProgressThread::Remove(Engine* engine) {
  Wake();
  absl::MutexLock lock(&mu_);
  engines_.erase(std::remove(engines_.begin(), engines_.end(), engine), engines_.end());
}

void ProgressThread::Nudge() {
  submissions_.fetch_add(1);
  if (asleep_.load()) Wake();
}

void ProgressThread::LeaveToWaiter() {
  if (watching_.exchange(false)) Wake();
}

void ProgressThread::Wake() { eventfd_write(wake_fd_.get(), 1); }

void ProgressThread::Run() {
  using Clock = std::chrono::steady_clock;
  std::vector<pollfd> waits;
  uint64_t seen = 0;
  Clock::time_point last_call = Clock::now();
  std::chrono::nanoseconds look = kFirstLook;
  while (!stop_.load()) {
    waits.assign(1, {wake_fd_.get(), POLLIN, 0});
    const uint64_t submissions = submissions_.load();
    if (submissions != std::exchange(seen, submissions)) last_call = Clock::now();
    Engine::BackgroundResult all;
    watching_.store(true);
    {
      absl::MutexLock lock(&mu_);
      for (Engine* engine : engines_) {
        const Engine::BackgroundResult one = engine->BackgroundStep(&waits);
        all.pending |= one.pending;
        all.moved |= one.moved;
        all.poll |= one.poll;
      }
    }
    if (all.moved) {
      look = kFirstLook;
      continue;
    }
    if (all.pending) {
      if (watching_.load()) SleepOn(&waits, all.poll ? std::chrono::nanoseconds(kEventTick) : kTimerTick);
    } else if (Clock::now() - last_call < kQuiet) {
      waits.resize(1);
      SleepOn(&waits, look);
      look = std::min<std::chrono::nanoseconds>(look * 2, kLastLook);
    } else {
      asleep_.store(true);
      if (submissions_.load() == seen && !stop_.load()) {
        waits.resize(1);
        SleepOn(&waits, std::chrono::nanoseconds(-1));
      }
      asleep_.store(false);
      look = kFirstLook;
    }
    eventfd_t ignored;
    eventfd_read(wake_fd_.get(), &ignored);
  }
}

}  // namespace lockstep::comm
