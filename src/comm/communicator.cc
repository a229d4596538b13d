#include "lockstep/communicator.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/comm/call_arguments.h"
#include "src/comm/engine.h"
#include "src/comm/job.h"
#include "src/comm/settings.h"

namespace lockstep::inline v0 {

using collectives::OpKind;
using comm::Call;

class Communicator::Impl {
 public:
  Impl(std::shared_ptr<const comm::Job> job, std::shared_ptr<comm::Engine> engine)
      : job(std::move(job)), engine(std::move(engine)) {}
  ~Impl() { engine->Shutdown(); }

  int rank() const { return engine->options().rank; }
  int world_size() const { return static_cast<int>(engine->options().members.size()); }

  Work Submit(const Call& call, const CallOptions& options) {
    absl::StatusOr<collectives::Arguments> arguments =
        comm::CheckCall(call, rank(), world_size(), options.determinism.value_or(job->settings.determinism),
                        options.algorithm);
    if (!arguments.ok()) return engine->Ended(arguments.status());
    if (collectives::IsPointToPoint(call.op))
      return engine->SubmitPointToPoint(*std::move(arguments), call.root, options.stream, options.timeout);
    return engine->Submit(*std::move(arguments), options.stream, options.timeout);
  }

  absl::StatusOr<std::unique_ptr<Communicator>> Make(const std::string& name, uint64_t id, uint32_t epoch,
                                                     std::vector<int> members) const {
    LOCKSTEP_ASSIGN_OR_RETURN(std::shared_ptr<comm::Engine> made,
                              job->MakeEngine(name, id, epoch, std::move(members)));
    return std::make_unique<Communicator>(std::make_unique<Impl>(job, std::move(made)));
  }

  const std::shared_ptr<const comm::Job> job;
  const std::shared_ptr<comm::Engine> engine;
  std::atomic<uint64_t> splits{0};
  std::atomic<uint32_t> shrinks{0};
};

namespace {

Call MakeCall(OpKind op, ConstTensorView input, TensorView output) {
  Call call;
  call.op = op;
  call.input = input;
  call.output = output;
  return call;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(const CommunicatorOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(comm::Settings settings, comm::ReadSettings(options));
  LOCKSTEP_ASSIGN_OR_RETURN(std::shared_ptr<const comm::Job> job, comm::Job::Join(settings));
  std::vector<int> everybody(static_cast<size_t>(job->world_size()));
  for (size_t i = 0; i < everybody.size(); ++i) everybody[i] = static_cast<int>(i);
  LOCKSTEP_ASSIGN_OR_RETURN(std::shared_ptr<comm::Engine> engine,
                            job->MakeEngine(settings.name, 1, 0, everybody));
  return std::make_unique<Communicator>(std::make_unique<Impl>(std::move(job), std::move(engine)));
}

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::~Communicator() = default;

int Communicator::rank() const { return impl_->rank(); }
int Communicator::world_size() const { return impl_->world_size(); }
int Communicator::local_rank() const { return impl_->job->settings.launch.local_rank; }
const std::string& Communicator::name() const { return impl_->engine->options().name; }
const std::string& Communicator::backend() const { return impl_->job->backend; }

Work Communicator::AllReduce(TensorView buffer, ReduceOp op, const CallOptions& options) {
  return AllReduce(buffer, buffer, op, options);
}

Work Communicator::AllReduce(ConstTensorView input, TensorView output, ReduceOp op,
                             const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllReduce, input, output);
  call.reduce_op = op;
  return impl_->Submit(call, options);
}

Work Communicator::AllGather(ConstTensorView input, TensorView output, const CallOptions& options) {
  return impl_->Submit(MakeCall(OpKind::kAllGather, input, output), options);
}

Work Communicator::AllGatherV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts,
                              const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllGatherV, input, output);
  call.counts = counts;
  return impl_->Submit(call, options);
}

Work Communicator::ReduceScatter(ConstTensorView input, TensorView output, ReduceOp op,
                                 const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduceScatter, input, output);
  call.reduce_op = op;
  return impl_->Submit(call, options);
}

Work Communicator::ReduceScatterV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts,
                                  ReduceOp op, const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduceScatterV, input, output);
  call.counts = counts;
  call.reduce_op = op;
  return impl_->Submit(call, options);
}

Work Communicator::Broadcast(TensorView buffer, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kBroadcast, buffer, buffer);
  call.root = root;
  return impl_->Submit(call, options);
}

Work Communicator::Reduce(ConstTensorView input, TensorView output, ReduceOp op, int root,
                          const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduce, input, output);
  call.reduce_op = op;
  call.root = root;
  call.has_output = rank() == root;
  return impl_->Submit(call, options);
}

Work Communicator::Gather(ConstTensorView input, TensorView output, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kGather, input, output);
  call.root = root;
  call.has_output = rank() == root;
  return impl_->Submit(call, options);
}

Work Communicator::GatherV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts,
                           int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kGatherV, input, output);
  call.counts = counts;
  call.root = root;
  call.has_output = rank() == root;
  return impl_->Submit(call, options);
}

Work Communicator::Scatter(ConstTensorView input, TensorView output, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kScatter, input, output);
  call.root = root;
  call.has_input = rank() == root;
  return impl_->Submit(call, options);
}

Work Communicator::ScatterV(ConstTensorView input, TensorView output, absl::Span<const int64_t> counts,
                            int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kScatterV, input, output);
  call.counts = counts;
  call.root = root;
  call.has_input = rank() == root;
  return impl_->Submit(call, options);
}

Work Communicator::AllToAll(ConstTensorView input, TensorView output, const CallOptions& options) {
  return impl_->Submit(MakeCall(OpKind::kAllToAll, input, output), options);
}

Work Communicator::AllToAllV(ConstTensorView input, absl::Span<const int64_t> send_counts, TensorView output,
                             absl::Span<const int64_t> recv_counts, const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllToAllV, input, output);
  call.counts = send_counts;
  call.recv_counts = recv_counts;
  return impl_->Submit(call, options);
}

Work Communicator::Send(ConstTensorView buffer, int peer, const CallOptions& options) {
  Call call = MakeCall(OpKind::kSend, buffer, {});
  call.root = peer;
  call.has_output = false;
  return impl_->Submit(call, options);
}

Work Communicator::Recv(TensorView buffer, int peer, const CallOptions& options) {
  Call call = MakeCall(OpKind::kRecv, {}, buffer);
  call.root = peer;
  call.has_input = false;
  return impl_->Submit(call, options);
}

Work Communicator::Barrier(const CallOptions& options) {
  Call call;
  call.has_input = call.has_output = false;
  return impl_->Submit(call, options);
}

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Split(int color, int key,
                                                                  const std::string& name) {
  const uint64_t split = impl_->splits.fetch_add(1);
  const std::vector<int64_t> mine = {color, key};
  std::vector<int64_t> all(2 * static_cast<size_t>(world_size()));
  LOCKSTEP_RETURN_IF_ERROR(AllGather(mine, all).Wait());
  if (color < 0) return nullptr;
  std::vector<std::pair<int64_t, int>> order;  // (key, rank)
  for (int rank = 0; rank < world_size(); ++rank)
    if (all[2 * static_cast<size_t>(rank)] == color)
      order.emplace_back(all[2 * static_cast<size_t>(rank) + 1], rank);
  std::sort(order.begin(), order.end());
  std::vector<int> members;
  for (const auto& [unused, rank] : order)
    members.push_back(impl_->engine->options().members[static_cast<size_t>(rank)]);
  const comm::Engine::Options& parent = impl_->engine->options();
  const uint64_t id = comm::MixId(comm::MixId(parent.communicator, split), static_cast<uint64_t>(color));
  return impl_->Make(name.empty() ? absl::StrCat(parent.name, ".", split, ".", color) : name, id,
                     parent.epoch, std::move(members));
}

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Shrink() {
  const comm::Engine::Options& parent = impl_->engine->options();
  const uint32_t attempt = impl_->shrinks.fetch_add(1);
  std::vector<int> survivors = parent.members;
  if (impl_->job->control != nullptr) {
    LOCKSTEP_ASSIGN_OR_RETURN(
        survivors, impl_->job->control->AgreeOnSurvivors(parent.communicator, attempt, parent.timeout));
  }
  uint64_t id = comm::MixId(parent.communicator, ~uint64_t{attempt});
  for (int rank : survivors) id = comm::MixId(id, static_cast<uint64_t>(rank));
  return impl_->Make(parent.name, id, parent.epoch + 1, std::move(survivors));
}

void Communicator::Abort(const std::string& reason) {
  impl_->engine->Abort(
      absl::AbortedError(absl::StrCat("rank ", rank(), " aborted communicator \"", name(), "\": ", reason)));
}

absl::Status Communicator::status() const { return impl_->engine->status(); }

std::string Communicator::report() const {
  std::string report = impl_->engine->Report();
  const std::vector<int>& members = impl_->engine->options().members;
  for (size_t rank = 0; rank < members.size() && rank < 64; ++rank)
    absl::StrAppend(&report, "  rank ", rank, ": ",
                    impl_->job->descriptions[static_cast<size_t>(members[rank])], "\n");
  if (members.size() > 64) absl::StrAppend(&report, "  ... and ", members.size() - 64, " more\n");
  return report;
}

}  // namespace lockstep::inline v0
