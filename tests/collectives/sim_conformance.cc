#include "tests/collectives/sim_conformance.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/kernel_table.h"
#include "src/comm/call_arguments.h"

namespace lockstep::conformance {

SimConformance::SimConformance(transport::sim::SimWorld* world, const Options& options)
    : world_(world), options_(options), ranks_(static_cast<size_t>(world->world_size())) {
  for (Rank& rank : ranks_) rank.scratch.resize(options.scratch_bytes + 64);
}

std::string SimConformance::Run(const Case& one, const Data& data) {
  const Result result = RunProgram({one}, {&data});
  if (!result.deadlock.ok()) return absl::StrCat(ToString(one), ": ", result.deadlock.ToString());
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!result.statuses[rank].ok())
      return absl::StrCat("rank ", rank, " of ", ToString(one), ": ", result.statuses[rank].ToString());
    if (!result.problems[rank].empty()) return result.problems[rank];
  }
  if (world_->messages_left() != 0)
    return absl::StrCat(ToString(one), ": ", world_->messages_left(), " messages that nobody received");
  return "";
}

SimConformance::Result SimConformance::RunProgram(const std::vector<Case>& cases,
                                                  const std::vector<const Data*>& data) {
  for (Rank& rank : ranks_) {
    rank.program.clear();
    for (size_t i = 0; i < cases.size(); ++i) rank.program.push_back({&cases[i], data[i]});
  }
  return RunPrograms();
}

SimConformance::Result SimConformance::RunEach(absl::FunctionRef<Call(int rank)> call_of) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].program.assign(1, call_of(static_cast<int>(rank)));
  return RunPrograms();
}

SimConformance::Result SimConformance::RunPrograms() {
  std::vector<transport::sim::SimWorld::Program> programs;
  for (int rank = 0; rank < world_->world_size(); ++rank) {
    Rank& mine = ranks_[static_cast<size_t>(rank)];
    mine.next = 0;
    mine.problem.clear();
    programs.emplace_back([this, rank] { return Advance(rank); });
  }
  transport::sim::SimWorld::Outcome outcome = world_->Run(programs);
  Result result{std::move(outcome.status), std::move(outcome.ranks), {}};
  for (Rank& rank : ranks_) result.problems.push_back(rank.problem);
  // What has not finished may still be in the network's hands.
  if (!result.deadlock.ok())
    for (int rank = 0; rank < world_->world_size(); ++rank) world_->transport(rank).Abort(result.deadlock);
  for (Rank& rank : ranks_) rank.collective.reset();
  sequence_ += ranks_[0].program.size();
  return result;
}

std::vector<std::byte> SimConformance::Output(int rank) const {
  const TensorView output = ranks_[static_cast<size_t>(rank)].call->output();
  const auto* begin = static_cast<const std::byte*>(output.data);
  return {begin, begin + output.bytes()};
}

absl::StatusOr<bool> SimConformance::Advance(int rank) {
  Rank& mine = ranks_[static_cast<size_t>(rank)];
  for (;;) {
    if (mine.collective == nullptr) {
      if (mine.next == mine.program.size()) return true;
      LOCKSTEP_RETURN_IF_ERROR(Begin(rank, *mine.program[mine.next].one, *mine.program[mine.next].data));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const bool over, mine.collective->Advance());
    if (!over) return false;
    if (mine.problem.empty()) mine.problem = mine.call->Check();
    mine.collective.reset();
    ++mine.next;
  }
}

absl::Status SimConformance::Begin(int rank, const Case& one, const Data& data) {
  Rank& mine = ranks_[static_cast<size_t>(rank)];
  mine.call = std::make_unique<RankCall>(one, data, rank);
  comm::Call call;
  call.op = one.op;
  call.input = mine.call->input();
  call.output = mine.call->output();
  call.has_input = mine.call->has_input();
  call.has_output = mine.call->has_output();
  call.reduce_op = one.reduce_op;
  if (HasRoot(one.op)) call.root = one.root;
  call.counts = mine.call->counts();
  call.recv_counts = mine.call->recv_counts();
  LOCKSTEP_ASSIGN_OR_RETURN(
      const collectives::Arguments arguments,
      comm::CheckCall(call, rank, world_->world_size(), one.determinism, one.algorithm));
  collectives::Context context;
  context.transport = &world_->transport(rank);
  context.kernels = &kernels::HostKernels();
  if (!options_.streams.empty()) context.stream = options_.streams[static_cast<size_t>(rank)];
  const size_t misaligned = reinterpret_cast<uintptr_t>(mine.scratch.data()) % 64;
  context.scratch = {mine.scratch.data() + (64 - misaligned) % 64, options_.scratch_bytes};
  context.chunk_bytes = options_.chunk_bytes;
  const Algorithm chosen = collectives::Choose(arguments.descriptor, world_->world_size());
  context.tag = {sequence_ + mine.next + 1, arguments.descriptor.Hash(), static_cast<uint16_t>(chosen)};
  LOCKSTEP_ASSIGN_OR_RETURN(mine.collective, collectives::MakeCollective(context, arguments, chosen));
  return absl::OkStatus();
}

}  // namespace lockstep::conformance
