#include <cstdio>
#include <string>
#include <vector>

#include "lockstep/lockstep.h"

namespace {

absl::Status Train() {
  LOCKSTEP_ASSIGN_OR_RETURN(const lockstep::DType dtype, lockstep::ParseDType("bf16"));
  LOCKSTEP_ASSIGN_OR_RETURN(auto comm, lockstep::Communicator::Create());
  std::vector<float> gradient(3, 2.0f);
  LOCKSTEP_RETURN_IF_ERROR(comm->AllReduce(gradient, lockstep::ReduceOp::kAvg).Wait());
  std::printf("lockstep %s: rank %d of %d, %s has %d bytes, gradient %g\n", lockstep::Version(), comm->rank(),
              comm->world_size(), lockstep::Name(dtype), static_cast<int>(lockstep::SizeOf(dtype)),
              gradient[0]);
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Train();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
