#pragma once

#include "src/collectives/collective.h"

namespace lockstep::collectives {

// Any collective in a world of one: the output is the input.
class LocalCopy : public Collective {
 public:
  LocalCopy(const Context& context, const Arguments& arguments) : context_(context), arguments_(arguments) {}
  absl::StatusOr<bool> Advance() override {
    if (!begun_) {
      begun_ = true;
      const int64_t bytes = arguments_.input_count * SizeOf(arguments_.descriptor.dtype);
      if (arguments_.output != arguments_.input && bytes > 0) {
        context_.kernels->copy(context_.stream, arguments_.output, arguments_.input, bytes);
        copied_ = context_.stream.Record();
      }
    }
    return copied_.Done();
  }

 private:
  Context context_;
  const Arguments arguments_;
  bool begun_ = false;
  Event copied_;
};

}  // namespace lockstep::collectives
