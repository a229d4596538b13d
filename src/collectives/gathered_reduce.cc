#include "src/collectives/gathered_reduce.h"

#include "src/collectives/doubling_allgather.h"
#include "src/collectives/partition.h"

namespace lockstep::collectives {

bool GatheredReduce::Fits(const Context& context, const Arguments& arguments) {
  return arguments.input_count <= static_cast<int64_t>(context.scratch.size()) / context.world_size() /
                                      SizeOf(arguments.descriptor.dtype);
}

GatheredReduce::GatheredReduce(const Context& context, const Arguments& arguments)
    : context_(context), arguments_(arguments) {
  Arguments gather = arguments;
  gather.output = context.scratch.data();
  gather.output_count = arguments.input_count * context.world_size();
  for (int rank = 0; rank < context.world_size(); ++rank)
    sources_.push_back(gather.output + rank * arguments.input_count * SizeOf(arguments.descriptor.dtype));
  gather_ = std::make_unique<DoublingAllGather>(
      context, gather, Partition::Even(gather.output_count, context.world_size(), 1));
}

absl::StatusOr<bool> GatheredReduce::Advance() {
  if (!gathered_) {
    LOCKSTEP_ASSIGN_OR_RETURN(gathered_, gather_->Advance());
    if (!gathered_) return false;
    const Descriptor& call = arguments_.descriptor;
    context_.kernels->reduce(context_.stream, call.dtype, call.reduce_op, arguments_.output, sources_,
                             arguments_.input_count,
                             call.reduce_op == ReduceOp::kAvg ? context_.world_size() : 1);
    folded_ = context_.stream.Record();
  }
  return folded_.Done();
}

}  // namespace lockstep::collectives
