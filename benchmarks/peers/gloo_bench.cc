// Gloo over TCP on loopback. Started with RANK and WORLD_SIZE set (by lockstep run, say) and GLOO_STORE
// naming an empty folder in which the ranks meet.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "benchmarks/peers/peer.h"

namespace lockstep::peers {
namespace {

void Sum(void* to, const void* a, const void* b, size_t count) { gloo::sum<float>(to, a, b, count); }
void Max(void* to, const void* a, const void* b, size_t count) { gloo::max<double>(to, a, b, count); }

class Gloo : public Peer {
 public:
  Gloo(int rank, int ranks, const std::string& folder)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, ranks)) {
    gloo::rendezvous::FileStore store(folder);
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    context_->connectFullMesh(store, device);
  }
  int rank() const override { return context_->rank; }
  int ranks() const override { return context_->size; }

  // Options are made anew for each call, as Gloo's users have to: they register the buffers.
  std::function<void()> Prepare(const std::string& op, float* in, float* out, size_t whole,
                                size_t part) override {
    if (op == "allreduce") return [=, this] { AllReduce(out, whole, Sum); };
    if (op == "allgather")
      return [=, this] { Call<gloo::AllgatherOptions>(gloo::allgather, in, part, out, whole); };
    if (op == "alltoall")
      return [=, this] { Call<gloo::AlltoallOptions>(gloo::alltoall, in, whole, out, whole); };
    if (op == "broadcast") return [=, this] { Broadcast(out, whole); };
    if (op == "reduce") return [=, this] { Reduce(in, out, whole); };
    if (op == "gather") return [=, this] { Gather(in, part, out, whole); };
    if (op == "scatter") return [=, this] { Scatter(in, out, part); };
    if (op == "barrier") return [this] { Barrier(); };
    return nullptr;
  }

  void Maximum(std::vector<double>* values) override { AllReduce(values->data(), values->size(), Max); }

 private:
  template <typename T, typename Function>
  void AllReduce(T* data, size_t count, Function function) {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(data, count);
    options.setReduceFunction(function);
    gloo::allreduce(options);
  }

  template <typename Options, typename Function>
  void Call(Function function, float* in, size_t in_count, float* out, size_t out_count) {
    Options options(context_);
    options.setInput(in, in_count);
    options.setOutput(out, out_count);
    function(options);
  }

  void Broadcast(float* out, size_t whole) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(out, whole);
    options.setRoot(0);
    gloo::broadcast(options);
  }

  void Reduce(float* in, float* out, size_t whole) {
    gloo::ReduceOptions options(context_);
    options.setInput(in, whole);
    options.setOutput(out, whole);
    options.setReduceFunction(Sum);
    options.setRoot(0);
    gloo::reduce(options);
  }

  void Gather(float* in, size_t part, float* out, size_t whole) {
    gloo::GatherOptions options(context_);
    options.setInput(in, part);
    if (rank() == 0) options.setOutput(out, whole);
    options.setRoot(0);
    gloo::gather(options);
  }

  void Scatter(float* in, float* out, size_t part) {
    gloo::ScatterOptions options(context_);
    std::vector<float*> parts;
    for (int r = 0; rank() == 0 && r < ranks(); ++r) parts.push_back(in + static_cast<size_t>(r) * part);
    if (rank() == 0) options.setInputs(parts, part);
    options.setOutput(out, part);
    options.setRoot(0);
    gloo::scatter(options);
  }

  void Barrier() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace
}  // namespace lockstep::peers

int main(int argc, char** argv) {
  const char* rank = std::getenv("RANK");
  const char* ranks = std::getenv("WORLD_SIZE");
  const char* folder = std::getenv("GLOO_STORE");
  if (rank == nullptr || ranks == nullptr || folder == nullptr) {
    std::fprintf(stderr,
                 "gloo_bench: RANK, WORLD_SIZE and GLOO_STORE are needed; see benchmarks/peers/run_host\n");
    return 2;
  }
  // Gloo throws.
  try {
    lockstep::peers::Gloo gloo(std::atoi(rank), std::atoi(ranks), folder);
    return lockstep::peers::Measure(gloo, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo_bench: %s\n", error.what());
    return 1;
  }
}
