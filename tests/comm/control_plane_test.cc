// The control plane over sockets, ranks as threads' worth of objects in one process. What a dead process
// looks like is in failure_test.cc.

#include "src/comm/control_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "lockstep/status.h"

namespace lockstep::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kCommunicator = 17;

collectives::Descriptor NoCall() {
  collectives::Descriptor call;
  call.count = -1;
  return call;
}

// What one communicator hears.
class Listener : public ControlListener {
 public:
  void OnLost(const LostRank& lost) override {
    absl::MutexLock lock(&mu_);
    EXPECT_TRUE(lost_.emplace(lost.rank, lost).second);
  }
  void OnPoison(uint64_t sequence, const absl::Status& status) override {
    absl::MutexLock lock(&mu_);
    poison_.emplace_back(sequence, status);
  }
  std::optional<collectives::Descriptor> DescriptorAt(uint64_t sequence) override {
    absl::MutexLock lock(&mu_);
    if (sequence != 12 || call_.count < 0) return std::nullopt;
    return call_;
  }
  void Call(int64_t count) {
    absl::MutexLock lock(&mu_);
    call_.op = collectives::OpKind::kAllReduce;
    call_.count = count;
  }
  LostRank AwaitLost(int rank) {
    absl::MutexLock lock(&mu_);
    auto is_lost = [&] { return lost_.count(rank) > 0; };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&is_lost), absl::Seconds(10)));
    return lost_[rank];
  }
  std::pair<uint64_t, absl::Status> AwaitPoison() {
    absl::MutexLock lock(&mu_);
    auto is_poisoned = [&] { return !poison_.empty(); };
    if (!mu_.AwaitWithTimeout(absl::Condition(&is_poisoned), absl::Seconds(10))) return {};
    return poison_.front();
  }
  size_t lost_count() {
    absl::MutexLock lock(&mu_);
    return lost_.size();
  }

 private:
  absl::Mutex mu_;
  std::map<int, LostRank> lost_;
  std::vector<std::pair<uint64_t, absl::Status>> poison_;
  collectives::Descriptor call_ = NoCall();
};

// A job of ranks that all listen; their planes are started side by side.
class Job {
 public:
  explicit Job(int world_size, int without = -1, milliseconds creation_timeout = seconds(20)) {
    for (int rank = 0; rank < world_size; ++rank) {
      net::Switchboard::Options options;
      options.secret = "the job's secret";
      options.loopback_only = true;
      options.identity.rank = rank;
      options.identity.incarnation = 5;
      switchboards_.push_back(net::Switchboard::Start(options).value());
      options_.addresses.push_back(switchboards_.back()->addresses());
      options_.descriptions.push_back(absl::StrCat("host n", rank));
      members_.push_back(rank);
    }
    options_.world_size = world_size;
    options_.creation_timeout = creation_timeout;
    std::vector<std::future<absl::StatusOr<std::shared_ptr<ControlPlane>>>> starts;
    for (int rank = 0; rank < world_size; ++rank)
      starts.push_back(
          std::async(std::launch::async, [&, rank]() -> absl::StatusOr<std::shared_ptr<ControlPlane>> {
            ControlPlane::Options options = options_;
            options.rank = rank;
            if (rank == without) return nullptr;
            return ControlPlane::Start(switchboards_[static_cast<size_t>(rank)], options);
          }));
    for (auto& start : starts) {
      absl::StatusOr<std::shared_ptr<ControlPlane>> plane = start.get();
      statuses.push_back(plane.status());
      planes.push_back(plane.ok() ? *plane : nullptr);
      listeners.push_back(std::make_unique<Listener>());
      if (planes.back() != nullptr) planes.back()->Register(kCommunicator, members_, listeners.back().get());
    }
  }
  ~Job() {
    for (size_t rank = 0; rank < planes.size(); ++rank)
      if (planes[rank] != nullptr) planes[rank]->Unregister(kCommunicator);
  }
  void Leave(size_t rank) {
    planes[rank]->Unregister(kCommunicator);
    planes[rank] = nullptr;
  }

 private:
  ControlPlane::Options options_;
  std::vector<std::shared_ptr<net::Switchboard>> switchboards_;
  std::vector<int> members_;

 public:
  std::vector<absl::Status> statuses;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::shared_ptr<ControlPlane>> planes;
};

TEST(ControlPlaneTest, TellsEveryoneWhoLeft) {
  for (int size : {2, 3, 9}) {
    Job job(size);
    job.Leave(1);
    for (int rank = 0; rank < size; ++rank) {
      if (rank == 1) continue;
      const LostRank lost = job.listeners[static_cast<size_t>(rank)]->AwaitLost(1);
      EXPECT_EQ(lost.kind, LostRank::Kind::kLeft);
      EXPECT_THAT(lost.detail, HasSubstr("host n1"));
      EXPECT_EQ(job.planes[static_cast<size_t>(rank)]->lost().size(), 1u);
    }
  }
}

TEST(ControlPlaneTest, AllMayLeaveAtOnce) {
  for (int i = 0; i < 5; ++i) {
    Job job(8);
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < 8; ++rank) threads.emplace_back([&job, rank] { job.Leave(rank); });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(ControlPlaneTest, WhatARankSaysBeforeItLeavesArrives) {
  for (int i = 0; i < 10; ++i) {
    Job job(5);
    job.planes[2]->Poison(kCommunicator, 0, absl::AbortedError("the loss is NaN"));
    job.Leave(2);
    for (size_t rank : {0, 1, 3, 4}) {
      const auto [sequence, status] = job.listeners[rank]->AwaitPoison();
      EXPECT_EQ(sequence, 0u);
      EXPECT_EQ(status, absl::AbortedError("the loss is NaN")) << "rank " << rank;
      EXPECT_EQ(job.listeners[rank]->AwaitLost(2).kind, LostRank::Kind::kLeft);
    }
  }
}

TEST(ControlPlaneTest, RanksThatCalledDifferentThingsAllHearBothSides) {
  Job job(4);
  for (size_t rank = 0; rank < 4; ++rank) job.listeners[rank]->Call(rank == 2 ? 999 : 1000);
  job.planes[1]->Compare(kCommunicator, 12);
  for (size_t rank = 0; rank < 4; ++rank) {
    const auto [sequence, status] = job.listeners[rank]->AwaitPoison();
    EXPECT_EQ(sequence, 12u);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("ranks 0, 1, 3 called allreduce f32 x 1000 sum; rank 2 called allreduce f32 x 999 sum"));
  }
}

TEST(ControlPlaneTest, NamesWhoHasNotCalled) {
  Job job(4);
  for (size_t rank : {0, 1, 2}) job.listeners[rank]->Call(1000);
  job.planes[0]->Compare(kCommunicator, 12);
  for (int i = 0; i < 1000 && job.planes[0]->Absent(kCommunicator, 12).size() != 1; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_THAT(job.planes[0]->Absent(kCommunicator, 12), ElementsAre(3));
}

TEST(ControlPlaneTest, SurvivorsAgree) {
  Job job(6);
  job.Leave(3);
  job.Leave(0);
  std::vector<std::future<absl::StatusOr<std::vector<int>>>> agreed;
  for (size_t rank : {1, 2, 4, 5})
    agreed.push_back(std::async(std::launch::async, [&job, rank] {
      return job.planes[rank]->AgreeOnSurvivors(kCommunicator, 0, seconds(20));
    }));
  for (auto& one : agreed) {
    const absl::StatusOr<std::vector<int>> survivors = one.get();
    ASSERT_TRUE(survivors.ok()) << survivors.status();
    // Those who left are gone, unless all had begun before they heard.
    EXPECT_THAT(*survivors, ::testing::IsSupersetOf({1, 2, 4, 5}));
  }
}

TEST(ControlPlaneTest, NamesWhoDoesNotTakePartInAnAgreement) {
  Job job(3);
  auto other = std::async(std::launch::async, [&] {
    return job.planes[1]->AgreeOnSurvivors(kCommunicator, 0, milliseconds(300)).status();
  });
  const absl::Status status = job.planes[0]->AgreeOnSurvivors(kCommunicator, 0, milliseconds(300)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("rank 2"), HasSubstr("Shrink()")));
  EXPECT_EQ(other.get().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(ControlPlaneTest, NamesTheNeighbourThatNeverCame) {
  Job job(3, /*without=*/1, milliseconds(500));
  for (size_t rank : {0, 2}) {
    EXPECT_EQ(job.statuses[rank].code(), absl::StatusCode::kDeadlineExceeded) << job.statuses[rank];
    EXPECT_THAT(std::string(job.statuses[rank].message()), HasSubstr("rank 1"));
  }
}

TEST(ControlPlaneTest, ASuspectThatLivesIsNotLost) {
  Job job(16);
  for (size_t rank = 0; rank < 16; ++rank)
    for (int suspect = 0; suspect < 16; ++suspect) job.planes[rank]->Suspect(suspect);
  std::this_thread::sleep_for(milliseconds(600));
  for (const auto& listener : job.listeners) EXPECT_EQ(listener->lost_count(), 0u);
}

TEST(ControlPlaneTest, LateCommunicatorsHearWhatIsKnown) {
  Job job(3);
  job.planes[0]->Poison(99, 4, absl::AbortedError("early"));
  job.Leave(2);
  job.listeners[1]->AwaitLost(2);
  Listener late;
  job.planes[1]->Register(99, {0, 1, 2}, &late);
  EXPECT_EQ(late.AwaitPoison().first, 4u);
  EXPECT_EQ(late.AwaitLost(2).kind, LostRank::Kind::kLeft);
  job.planes[1]->Unregister(99);
}

}  // namespace
}  // namespace lockstep::comm
