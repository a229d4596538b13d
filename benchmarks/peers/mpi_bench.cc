// Whatever MPI it is linked with; benchmarks/peers/run_host starts it under Open MPI's TCP.
#include <mpi.h>

#include "benchmarks/peers/peer.h"

namespace lockstep::peers {
namespace {

class Mpi : public Peer {
 public:
  Mpi(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  ~Mpi() override { MPI_Finalize(); }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  std::function<void()> Prepare(const std::string& op, float* in, float* out, size_t whole_size,
                                size_t part_size) override {
    const int whole = static_cast<int>(whole_size), part = static_cast<int>(part_size);
    if (op == "allreduce")
      return [=] { MPI_Allreduce(MPI_IN_PLACE, out, whole, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
    if (op == "allgather")
      return [=] { MPI_Allgather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD); };
    if (op == "reduce_scatter")
      return [=] { MPI_Reduce_scatter_block(in, out, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
    if (op == "broadcast") return [=] { MPI_Bcast(out, whole, MPI_FLOAT, 0, MPI_COMM_WORLD); };
    if (op == "reduce") return [=] { MPI_Reduce(in, out, whole, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); };
    if (op == "gather")
      return [=] { MPI_Gather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, 0, MPI_COMM_WORLD); };
    if (op == "scatter")
      return [=] { MPI_Scatter(in, part, MPI_FLOAT, out, part, MPI_FLOAT, 0, MPI_COMM_WORLD); };
    if (op == "alltoall")
      return [=] { MPI_Alltoall(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD); };
    if (op == "sendrecv")
      return [=, next = (rank_ + 1) % ranks_, last = (rank_ + ranks_ - 1) % ranks_] {
        MPI_Sendrecv(in, whole, MPI_FLOAT, next, 0, out, whole, MPI_FLOAT, last, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
      };
    if (op == "barrier") return [] { MPI_Barrier(MPI_COMM_WORLD); };
    return nullptr;
  }

  void Maximum(std::vector<double>* values) override {
    MPI_Allreduce(MPI_IN_PLACE, values->data(), static_cast<int>(values->size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0, ranks_ = 1;
};

}  // namespace
}  // namespace lockstep::peers

int main(int argc, char** argv) {
  lockstep::peers::Mpi mpi(&argc, &argv);
  const int status = lockstep::peers::Measure(mpi, argc, argv);
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  return 0;
}
