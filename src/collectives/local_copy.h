#pragma once

#include "src/collectives/collective.h"

namespace lockstep::collectives {

// Any collective in a world of one: the output is the input. A reduction of one goes through the kernel all
// the same, so that NaN comes out canonical as everywhere.
class LocalCopy : public Collective {
 public:
  LocalCopy(const Context& context, const Arguments& arguments) : context_(context), arguments_(arguments) {}
  absl::StatusOr<bool> Advance() override {
    if (!begun_) Begin();
    return copied_.Done();
  }

 private:
  void Begin() {
    begun_ = true;
    const Descriptor& call = arguments_.descriptor;
    if (arguments_.input_count == 0) return;
    if (Reduces(call.op)) {
      const void* const source[] = {arguments_.input};
      context_.kernels->reduce(context_.stream, call.dtype, call.reduce_op, arguments_.output, {source, 1},
                               arguments_.input_count, 1);
    } else if (arguments_.output != arguments_.input) {
      context_.kernels->copy(context_.stream, arguments_.output, arguments_.input,
                             arguments_.input_count * SizeOf(call.dtype));
    }
    copied_ = context_.stream.Record();
  }

  Context context_;
  const Arguments arguments_;
  bool begun_ = false;
  Event copied_;
};

}  // namespace lockstep::collectives
