// Teaches ThreadSanitizer the locks of an Abseil that was built without it, as a distribution's is: it cannot
// see that absl::Mutex orders anything, and would call every guarded member a race. Linked into every program
// of a thread-sanitizer build, these definitions come before the shared library's, tell the sanitizer what
// the mutex orders, and call the library's own.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include "absl/base/options.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace {

#define LOCKSTEP_STRING(x) #x
#define LOCKSTEP_EXPANDED_STRING(x) LOCKSTEP_STRING(x)

// The library's definition of the member function whose mangled name ends in `rest`: "5Mutex4LockEv".
template <typename Function>
Function* Real(bool is_const, const char* rest) {
  const std::string inline_namespace = LOCKSTEP_EXPANDED_STRING(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  const std::string nested = "4absl" + std::to_string(inline_namespace.size()) + inline_namespace;
  const std::string name = (is_const ? "_ZNK" : "_ZN") + nested + rest;
  void* const symbol = dlsym(RTLD_NEXT, name.c_str());
  if (symbol == nullptr) std::abort();
  return reinterpret_cast<Function*>(symbol);
}

// Evaluates a condition as what it is: code that runs with the mutex held, by whichever thread lets go of it.
class HeldCondition {
 public:
  HeldCondition(absl::Mutex* mutex, const absl::Condition& condition)
      : mutex_(mutex), condition_(condition), view_(&HeldCondition::Eval, static_cast<void*>(this)) {}
  const absl::Condition& view() const { return view_; }

 private:
  // Not looked at, because it reads its own members before it can say what orders them.
  __attribute__((no_sanitize("thread"))) static bool Eval(void* self) {
    auto* const held = static_cast<HeldCondition*>(self);
    __tsan_acquire(held->mutex_);
    const bool met = held->condition_.Eval();
    __tsan_release(held->mutex_);
    return met;
  }

  absl::Mutex* const mutex_;
  const absl::Condition& condition_;
  const absl::Condition view_;
};

// Abseil's own search for deadlocks keeps its graph of locks under a lock that the sanitizer cannot see. The
// sanitizer searches for them, too.
[[maybe_unused]] const bool no_search = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();

// One lock for all counts of the same status.
std::mutex& LockOf(uintptr_t status) {
  static std::mutex locks[64];
  return locks[status / 64 % 64];
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const real = Real<void(Mutex*)>(false, "5Mutex4LockEv");
  real(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static auto* const real = Real<void(Mutex*)>(false, "5Mutex6UnlockEv");
  __tsan_release(this);
  real(this);
}

bool Mutex::TryLock() {
  static auto* const real = Real<bool(Mutex*)>(false, "5Mutex7TryLockEv");
  const bool locked = real(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::ReaderLock() {
  static auto* const real = Real<void(Mutex*)>(false, "5Mutex10ReaderLockEv");
  real(this);
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  static auto* const real = Real<void(Mutex*)>(false, "5Mutex12ReaderUnlockEv");
  __tsan_release(this);
  real(this);
}

void Mutex::Await(const Condition& condition) {
  static auto* const real = Real<void(Mutex*, const Condition&)>(false, "5Mutex5AwaitERKNS0_9ConditionE");
  HeldCondition held(this, condition);
  __tsan_release(this);
  real(this, held.view());
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const real = Real<bool(Mutex*, const Condition&, Duration)>(
      false, "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  HeldCondition held(this, condition);
  __tsan_release(this);
  const bool met = real(this, held.view(), timeout);
  __tsan_acquire(this);
  return met;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static auto* const real = Real<bool(Mutex*, const Condition&, Time)>(
      false, "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  HeldCondition held(this, condition);
  __tsan_release(this);
  const bool met = real(this, held.view(), deadline);
  __tsan_acquire(this);
  return met;
}

void Mutex::LockWhen(const Condition& condition) {
  static auto* const real = Real<void(Mutex*, const Condition&)>(false, "5Mutex8LockWhenERKNS0_9ConditionE");
  HeldCondition held(this, condition);
  __tsan_release(this);
  real(this, held.view());
  __tsan_acquire(this);
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const real = Real<void(CondVar*, Mutex*)>(false, "7CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  real(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const real =
      Real<bool(CondVar*, Mutex*, Duration)>(false, "7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mutex);
  const bool timed_out = real(this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const real =
      Real<bool(CondVar*, Mutex*, Time)>(false, "7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool timed_out = real(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

void Notification::Notify() {
  static auto* const real = Real<void(Notification*)>(false, "12Notification6NotifyEv");
  __tsan_release(this);
  real(this);
}

void Notification::WaitForNotification() const {
  static auto* const real = Real<void(const Notification*)>(true, "12Notification19WaitForNotificationEv");
  real(this);
  __tsan_acquire(const_cast<Notification*>(this));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static auto* const real = Real<bool(const Notification*, Duration)>(
      true, "12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  const bool notified = real(this, timeout);
  if (notified) __tsan_acquire(const_cast<Notification*>(this));
  return notified;
}

// A status is shared by inline code that the sanitizer sees, and freed by the library's that it does not.
void Status::UnrefNonInlined(uintptr_t rep) {
  static auto* const real = Real<void(uintptr_t)>(false, "6Status15UnrefNonInlinedEm");
  const std::lock_guard<std::mutex> lock(LockOf(rep));
  real(rep);
}

ABSL_NAMESPACE_END
}  // namespace absl
