#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/bootstrap/store.h"
#include "src/comm/control_plane.h"
#include "src/comm/engine.h"
#include "src/comm/progress_thread.h"
#include "src/comm/settings.h"
#include "src/net/switchboard.h"
#include "src/transport/tcp/tcp_hub.h"

namespace lockstep::comm {

// What the communicators that descend from one Create() share on one rank: its connections, its control
// plane, its progress thread and, on rank 0, the store that the ranks met at. Immutable after Join().
//
// Members are destroyed from the last to the first: the threads that use the switchboard go before it.
struct Job {
  Settings settings;
  std::string backend;  // chosen, the same on every rank
  int ranks_on_host = 1;
  std::vector<std::string> descriptions;  // of every rank: "host n07, pid 4711"
  std::shared_ptr<net::Switchboard> switchboard;
  std::unique_ptr<bootstrap::StoreServer> store_server;
  std::shared_ptr<transport::tcp::TcpHub> hub;
  std::shared_ptr<ControlPlane> control;
  std::shared_ptr<ProgressThread> progress;

  int rank() const { return settings.launch.rank; }
  int world_size() const { return settings.launch.world_size; }

  // Meets the other ranks at the store, exchanges addresses and links up. Every rank's call returns within
  // the creation time-out: DeadlineExceeded names the ranks that have not come. A world of one needs no
  // network.
  static absl::StatusOr<std::shared_ptr<Job>> Join(const Settings& settings);

  // An engine for a group of this job's ranks over the chosen backend. `communicator` is an id that all
  // members derive the same way.
  absl::StatusOr<std::shared_ptr<Engine>> MakeEngine(const std::string& name, uint64_t communicator,
                                                     uint32_t epoch, std::vector<int> members) const;
};

// Derives ids of communicators from their parents': the same on every rank, without a message.
uint64_t MixId(uint64_t id, uint64_t value);

}  // namespace lockstep::comm
