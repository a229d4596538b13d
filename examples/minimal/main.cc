// Sums a vector over all ranks: lockstep run -n 4 build/release/bin/lockstep-minimal

#include <cstdio>
#include <string>
#include <vector>

#include "lockstep/lockstep.h"

namespace {

absl::Status Run() {
  LOCKSTEP_ASSIGN_OR_RETURN(auto comm, lockstep::Communicator::Create());
  std::vector<float> values(4, static_cast<float>(comm->rank() + 1));
  LOCKSTEP_RETURN_IF_ERROR(comm->AllReduce(values, lockstep::ReduceOp::kSum).Wait());
  std::printf("rank %d of %d: %g %g %g %g\n", comm->rank(), comm->world_size(), values[0], values[1],
              values[2], values[3]);
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
