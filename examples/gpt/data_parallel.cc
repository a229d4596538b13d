#include "examples/gpt/data_parallel.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "lockstep/status.h"

namespace lockstep::gpt {

absl::StatusOr<DataParallel> DataParallel::Create(const CommunicatorOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> comm, Communicator::Create(options));
  return DataParallel(std::move(comm));
}

absl::StatusOr<int> DataParallel::RanksOnThisHost() {
  constexpr size_t kNameBytes = 256;
  std::vector<uint8_t> name(kNameBytes), names(kNameBytes * world_size());
  gethostname(reinterpret_cast<char*>(name.data()), kNameBytes - 1);
  LOCKSTEP_RETURN_IF_ERROR(comm_->AllGather(name, names).Wait());
  int count = 0;
  for (auto at = names.begin(); at != names.end(); at += kNameBytes) {
    count += std::equal(name.begin(), name.end(), at) ? 1 : 0;
  }
  return count;
}

absl::Status DataParallel::Average(absl::Span<float> gradients) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = comm_->AllReduce(gradients, ReduceOp::kAvg).Wait();
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

absl::Status DataParallel::Sum(absl::Span<double> values) { return comm_->AllReduce(values).Wait(); }

}  // namespace lockstep::gpt
