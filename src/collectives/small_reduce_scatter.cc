#include "src/collectives/small_reduce_scatter.h"

#include "src/collectives/recursive_doubling.h"

namespace lockstep::collectives {
namespace {

// Half of the staging memory takes what arrives, the other half the sum.
size_t Half(const Context& context) { return context.scratch.size() / 2 / 64 * 64; }

}  // namespace

bool SmallReduceScatter::Fits(const Context& context, const Arguments& arguments) {
  return arguments.input_count <= static_cast<int64_t>(Half(context)) / SizeOf(arguments.descriptor.dtype);
}

SmallReduceScatter::SmallReduceScatter(const Context& context, const Arguments& arguments, Range mine)
    : context_(context), arguments_(arguments), mine_(mine), sum_(context.scratch.data() + Half(context)) {
  Context first_half = context;
  first_half.scratch = context.scratch.first(Half(context));
  Arguments whole = arguments;
  whole.output = sum_;
  whole.output_count = arguments.input_count;
  allreduce_ = std::make_unique<RecursiveDoubling>(first_half, whole);
}

absl::StatusOr<bool> SmallReduceScatter::Advance() {
  if (!reduced_) {
    LOCKSTEP_ASSIGN_OR_RETURN(reduced_, allreduce_->Advance());
    if (!reduced_) return false;
    const int64_t size = SizeOf(arguments_.descriptor.dtype);
    if (mine_.count > 0) {
      context_.kernels->copy(context_.stream, arguments_.output, sum_ + mine_.begin * size,
                             mine_.count * size);
      copied_ = context_.stream.Record();
    }
  }
  return copied_.Done();
}

}  // namespace lockstep::collectives
