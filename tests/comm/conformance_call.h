#pragma once

#include "lockstep/communicator.h"
#include "tests/collectives/conformance.h"

namespace lockstep::testing {

// Makes the case's call on a communicator over a real transport.
inline Work Make(Communicator& comm, const conformance::Case& one, const conformance::RankCall& call) {
  using collectives::OpKind;
  CallOptions options;
  options.algorithm = one.algorithm;
  options.determinism = one.determinism;
  switch (one.op) {
    case OpKind::kAllReduce:
      return comm.AllReduce(call.input(), call.output(), one.reduce_op, options);
    case OpKind::kAllGather:
      return comm.AllGather(call.input(), call.output(), options);
    case OpKind::kAllGatherV:
      return comm.AllGatherV(call.input(), call.output(), call.counts(), options);
    case OpKind::kReduceScatter:
      return comm.ReduceScatter(call.input(), call.output(), one.reduce_op, options);
    case OpKind::kReduceScatterV:
      return comm.ReduceScatterV(call.input(), call.output(), call.counts(), one.reduce_op, options);
    case OpKind::kBroadcast:
      return comm.Broadcast(call.output(), one.root, options);
    case OpKind::kReduce:
      return comm.Reduce(call.input(), call.output(), one.reduce_op, one.root, options);
    case OpKind::kGather:
      return comm.Gather(call.input(), call.output(), one.root, options);
    case OpKind::kGatherV:
      return comm.GatherV(call.input(), call.output(), call.counts(), one.root, options);
    case OpKind::kScatter:
      return comm.Scatter(call.input(), call.output(), one.root, options);
    case OpKind::kScatterV:
      return comm.ScatterV(call.input(), call.output(), call.counts(), one.root, options);
    case OpKind::kAllToAll:
      return comm.AllToAll(call.input(), call.output(), options);
    case OpKind::kAllToAllV:
      return comm.AllToAllV(call.input(), call.counts(), call.output(), call.recv_counts(), options);
    default:
      return comm.Barrier(options);
  }
}

// Empty when the call succeeded and its result is right.
inline std::string Wrong(Communicator& comm, const conformance::Case& one, const conformance::Data& data) {
  const conformance::RankCall call(one, data, comm.rank());
  const absl::Status status = Make(comm, one, call).Wait();
  const std::string wrong = status.ok() ? call.Check() : status.ToString();
  return wrong.empty() ? wrong : ToString(one) + " on rank " + std::to_string(comm.rank()) + ": " + wrong;
}

}  // namespace lockstep::testing
