// How an Engine fails: what it hears, what it notices itself, and how both become one status.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/lost_ranks.h"
#include "src/comm/engine.h"
#include "src/comm/progress_thread.h"

namespace lockstep::comm {
namespace {

// Without progress for this long, ranks compare what they called.
constexpr std::chrono::milliseconds kStall{200};
// ... and again this often, since a rank may enter the call late.
constexpr std::chrono::seconds kCompareAgain{2};
// A rank that left in good order may have left data on the way: only when nothing has come for this long is
// it missed.
constexpr std::chrono::milliseconds kLeaverGrace{500};
// How long a broken connection or a message that does not fit waits for the control plane, which knows who is
// to blame.
constexpr std::chrono::milliseconds kVerdictGrace{1500};

double Seconds(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::string Engine::CallName(const WorkState& work) {
  const collectives::Descriptor& call = work.arguments.descriptor;
  if (work.peer < 0) return absl::StrCat("#", work.sequence, " ", call.ToString());
  return absl::StrCat(call.ToString(), call.op == collectives::OpKind::kSend ? " to rank " : " from rank ",
                      work.peer, " (#", work.sequence, " of this pair)");
}

std::string Engine::CurrentCall() const {
  if (head_ != nullptr) return CallName(*head_);
  if (!point_to_point_.empty()) return CallName(*point_to_point_.front());
  return "no call";
}

std::string Engine::Where() const {
  return absl::StrCat(" on rank ", options_.rank, " of communicator \"", options_.name, "\"");
}

int Engine::RankOf(int job_rank) const {
  auto member = std::find(options_.members.begin(), options_.members.end(), job_rank);
  return member == options_.members.end() ? -1 : static_cast<int>(member - options_.members.begin());
}

void Engine::OnLost(const LostRank& lost) {
  {
    absl::MutexLock lock(&news_mu_);
    news_.lost.push_back(lost);
    has_news_.store(true, std::memory_order_release);
  }
  Wake();
}

void Engine::OnPoison(uint64_t sequence, const absl::Status& status) {
  {
    absl::MutexLock lock(&news_mu_);
    news_.poison.emplace_back(sequence, status);
    has_news_.store(true, std::memory_order_release);
  }
  Wake();
}

std::optional<collectives::Descriptor> Engine::DescriptorAt(uint64_t sequence) {
  std::optional<FlightRing::Record> record = flight_.Find(sequence);
  if (!record) return std::nullopt;
  return record->descriptor;
}

bool Engine::TakeNews(Clock::time_point now) {
  if (!has_news_.load(std::memory_order_acquire)) return false;
  News news;
  {
    absl::MutexLock lock(&news_mu_);
    news = std::exchange(news_, {});
    has_news_.store(false, std::memory_order_relaxed);
  }
  std::vector<int> gone;
  std::string details;
  for (const LostRank& lost : news.lost) {
    const int rank = RankOf(lost.rank);
    if (rank < 0) continue;
    if (lost.kind == LostRank::Kind::kLeft) {
      left_.insert(rank);
      continue;
    }
    gone.push_back(rank);
    absl::StrAppend(
        &details, gone.size() > 1 ? "; rank " : "rank ", rank, " (", lost.detail, ") was lost: ",
        lost.kind == LostRank::Kind::kDied ? "its process is gone" : "it has been silent too long");
  }
  if (!gone.empty())
    Poison(LostRanksError(gone, absl::StrCat(details, ", in ", CurrentCall(), Where(),
                                             "; Shrink() makes a communicator of those that are left")),
           /*tell_others=*/false, 0, now);
  for (const auto& [sequence, status] : news.poison) Poison(status, /*tell_others=*/false, sequence, now);
  return true;
}

void Engine::CheckTimers(Clock::time_point now) {
  if (failure_) {
    const bool knows_why = !left_.empty() && failure_->status.code() == absl::StatusCode::kUnavailable;
    if (now - failure_->since >= kVerdictGrace || (knows_why && now - failure_->since >= kStall)) {
      if (knows_why) last_progress_ = now - kLeaverGrace;
      CheckLeavers(now);
      if (poison_.ok()) Poison(failure_->status, /*tell_others=*/true, 0, now);
    }
    return;
  }
  CheckLeavers(now);
  if (!poison_.ok()) return;
  // A collective that takes long is compared, too: what moves may be something else.
  const bool stalled = head_ != nullptr && head_->collective != nullptr &&
                       (now - last_progress_ >= kStall || now - head_->timing.started >= kCompareAgain);
  if (stalled && control_ != nullptr && now >= next_compare_) {
    next_compare_ = now + kCompareAgain;
    control_->Compare(options_.communicator, head_->sequence);
  }
  if (options_.suspend_deadlines) return;
  if (head_ != nullptr) CheckDeadline(head_, now);
  for (size_t i = 0; i < point_to_point_.size() && poison_.ok(); ++i) CheckDeadline(point_to_point_[i], now);
}

void Engine::CheckLeavers(Clock::time_point now) {
  if (left_.empty() || now - last_progress_ < kLeaverGrace) return;
  const bool missed =
      head_ != nullptr || std::any_of(point_to_point_.begin(), point_to_point_.end(),
                                      [&](const WorkState* work) { return left_.count(work->peer) > 0; });
  if (!missed) return;
  // The others hear it from the first to miss somebody, before its own leaving confuses them.
  const std::vector<int> ranks(left_.begin(), left_.end());
  Poison(LostRanksError(ranks,
                        absl::StrCat("rank ", absl::StrJoin(ranks, ", "), " finished and left while rank ",
                                     options_.rank, " waits in ", CurrentCall(), " of communicator \"",
                                     options_.name, "\" (ranks must make the same calls)")),
         /*tell_others=*/true, 0, now);
}

void Engine::CheckDeadline(WorkState* work, Clock::time_point now) {
  if (now < work->deadline) return;
  std::vector<int> absent;
  if (control_ != nullptr && work->peer < 0) absent = control_->Absent(options_.communicator, work->sequence);
  const std::string why = absent.empty()
                              ? "a rank is slow, stopped, or never made its call"
                              : absl::StrCat("rank ", absl::StrJoin(absent, ", "), " never made this call");
  Poison(
      absl::DeadlineExceededError(absl::StrCat(
          CallName(*work), " did not end within ", Seconds(work->timeout), " s", Where(), " (", why,
          "); look at what the other ranks do, or raise the timeout of the call, of CommunicatorOptions or ",
          "LOCKSTEP_TIMEOUT")),
      /*tell_others=*/true, work->peer < 0 ? work->sequence : 0, now);
}

void Engine::NoteFailure(WorkState* work, const absl::Status& status, Clock::time_point now) {
  if (failure_ || !poison_.ok()) return;
  absl::Status full(status.code(),
                    absl::StrCat(CallName(*work), " failed", Where(), ": ", std::string(status.message())));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { full.SetPayload(url, payload); });
  const std::vector<int> suspects = LostRanks(status);
  const bool disagreement = status.code() == absl::StatusCode::kFailedPrecondition && work->peer < 0;
  if (control_ == nullptr || (suspects.empty() && !disagreement))
    return Poison(full, /*tell_others=*/true, work->peer < 0 ? work->sequence : 0, now);
  failure_ = PendingFailure{full, now, CallName(*work), work->peer < 0};
  for (int rank : suspects) control_->Suspect(options_.members[static_cast<size_t>(rank)]);
  if (disagreement) control_->Compare(options_.communicator, work->sequence);
}

void Engine::Poison(const absl::Status& status, bool tell_others, uint64_t sequence, Clock::time_point now) {
  if (!poison_.ok()) return;
  poison_ = status;
  failure_.reset();
  if (backend_ != nullptr) backend_->Abort(status);
  if (tell_others && control_ != nullptr) control_->Poison(options_.communicator, sequence, status);
  for (WorkState* work = std::exchange(head_, nullptr); work != nullptr;) {
    WorkState* next = work->next;
    flight_.End(work->sequence, false, now);
    work->Complete(status, now);
    work->Release();
    work = next;
  }
  for (WorkState* work : std::exchange(point_to_point_, {})) {
    work->Complete(status, now);
    work->Release();
  }
  ended_.SignalAll();
}

absl::Status Engine::status() {
  absl::MutexLock lock(&mu_);
  TakeNews(Clock::now());
  return poison_;
}

void Engine::Abort(const absl::Status& reason) {
  absl::MutexLock lock(&mu_);
  Poison(reason, /*tell_others=*/true, 0, Clock::now());
  if (sleeping_) Wake();
}

void Engine::Shutdown() {
  std::shared_ptr<ControlPlane> control;
  std::shared_ptr<ProgressThread> progress;
  {
    absl::MutexLock lock(&mu_);
    Poison(absl::AbortedError(absl::StrCat("the communicator \"", options_.name, "\" was destroyed")),
           /*tell_others=*/false, 0, Clock::now());
    shut_down_ = true;
    if (sleeping_) Wake();
    control = control_;
    progress = progress_;
  }
  if (progress != nullptr) progress->Remove(this);
  if (control != nullptr) control->Unregister(options_.communicator);
  std::unique_ptr<backend::Backend> backend;
  {
    absl::MutexLock lock(&mu_);
    while (inside_ > 0) ended_.Wait(&mu_);
    backend = std::move(backend_);
    control_ = nullptr;
    progress_ = nullptr;
  }
}

}  // namespace lockstep::comm
