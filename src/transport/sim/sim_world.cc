#include "src/transport/sim/sim_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/lost_ranks.h"

namespace lockstep::transport::sim {
namespace {

// Ranks that a deadlock's description goes into.
constexpr int kDescribed = 64;

size_t Index(int rank) { return static_cast<size_t>(rank); }

}  // namespace

bool SimWorld::Outcome::ok() const {
  return status.ok() && std::all_of(ranks.begin(), ranks.end(), [](const absl::Status& s) { return s.ok(); });
}

SimWorld::SimWorld(const SimOptions& options)
    : options_(options), network_(options, &events_), random_(options.seed ^ 0x5eed) {
  for (int rank = 0; rank < options.topology.world_size; ++rank)
    transports_.push_back(std::make_unique<SimTransport>(&network_, rank, options.topology.world_size));
}

SimWorld::~SimWorld() = default;

void SimWorld::LoseRankAt(int rank, int64_t time_ns) {
  events_.Push({.time_ns = time_ns, .kind = EventKind::kLost, .rank = rank});
}

void SimWorld::LoseRankAfterSends(int rank, int64_t sends) { transport(rank).DieAfterSends(sends); }

void SimWorld::PartitionAt(std::vector<int> group, int64_t time_ns) {
  partition_ = std::move(group);
  events_.Push({.time_ns = time_ns, .kind = EventKind::kPartition});
}

SimWorld::Outcome SimWorld::Run(absl::Span<const Program> programs) {
  programs_ = programs;
  finished_.assign(programs.size(), false);
  unfinished_ = static_cast<int>(programs.size());
  outcome_ = {};
  outcome_.ranks.resize(programs.size());
  for (int rank = 0; rank < world_size(); ++rank) {
    if (network_.closed(rank)) {
      End(rank, network_.end(rank));
    } else {
      Advance(rank);
    }
  }
  AdvanceReady();
  while (unfinished_ > 0) {
    if (!events_.empty()) {
      Apply(events_.Pop());
      AdvanceReady();
    } else if (!PollUnfinished()) {
      outcome_.status = absl::InternalError(absl::StrCat("deadlock at ", now_ns(), " ns: ", DescribeWaits()));
      break;
    }
  }
  programs_ = {};
  return std::move(outcome_);
}

void SimWorld::Apply(const Event& event) {
  ++events_applied_;
  network_.Apply(event);
  switch (event.kind) {
    case EventKind::kLost:
      if (!network_.closed(event.rank))
        End(event.rank, LostRanksError({event.rank}, absl::StrCat("rank ", event.rank, " was lost")));
      break;
    case EventKind::kNotice:
      if (finished_[Index(event.rank)]) break;
      End(event.rank, LostRanksError({event.about}, absl::StrCat("rank ", event.about, " was lost, rank ",
                                                                 event.rank, " heard")));
      break;
    case EventKind::kPartition:
      Partition();
      break;
    default:
      break;
  }
}

void SimWorld::Partition() {
  network_.CutOff(partition_);
  for (int rank = 0; rank < world_size(); ++rank)
    for (int other = 0; other < world_size(); ++other) {
      if (!network_.cut_off(rank, other)) continue;
      const int64_t late_ns =
          static_cast<int64_t>(random_.Below(static_cast<uint64_t>(options_.notice_ns) + 1));
      events_.Push({.time_ns = now_ns() + options_.silence_ns + late_ns,
                    .kind = EventKind::kNotice,
                    .rank = rank,
                    .about = other});
      break;
    }
}

void SimWorld::AdvanceReady() {
  while (network_.TakeReady(&ready_))
    for (int rank : ready_) Advance(rank);
}

void SimWorld::Advance(int rank) {
  if (finished_[Index(rank)]) return;
  const absl::StatusOr<bool> over = programs_[Index(rank)]();
  if (!over.ok()) {
    End(rank, over.status());
  } else if (*over) {
    End(rank, absl::OkStatus());
  }
}

void SimWorld::End(int rank, const absl::Status& status) {
  if (!finished_[Index(rank)]) {
    finished_[Index(rank)] = true;
    --unfinished_;
    outcome_.ranks[Index(rank)] = status;
    outcome_.end_ns = now_ns();
  }
  if (status.ok() || network_.closed(rank)) return;
  network_.Close(rank, status);
  Spread(rank);
}

void SimWorld::Spread(int rank) {
  for (int other = 0; other < world_size(); ++other) {
    if (network_.closed(other) || network_.cut_off(rank, other)) continue;
    const int64_t late_ns =
        options_.notice_ns +
        static_cast<int64_t>(random_.Below(static_cast<uint64_t>(options_.notice_ns) + 1));
    events_.Push({.time_ns = now_ns() + late_ns, .kind = EventKind::kNotice, .rank = other, .about = rank});
  }
}

bool SimWorld::PollUnfinished() {
  const int before = unfinished_;
  for (int round = 0; round < options_.idle_polls; ++round) {
    for (int rank = 0; rank < world_size(); ++rank) Advance(rank);
    AdvanceReady();
    if (unfinished_ < before || !events_.empty()) return true;
  }
  return false;
}

std::string SimWorld::DescribeWaits() const {
  std::vector<std::string> lines;
  for (int rank = 0; rank < world_size() && lines.size() < kDescribed; ++rank) {
    if (finished_[Index(rank)]) continue;
    const std::string waits = network_.Waits(rank);
    lines.push_back(absl::StrCat("rank ", rank, " waits ", waits.empty() ? "for nothing posted" : waits));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace lockstep::transport::sim
