#pragma once

#include <cstdint>

namespace lockstep::transport::sim {

// Time of n bytes over a link that nothing else uses: alpha + n beta.
struct LinkModel {
  int64_t alpha_ns = 0;
  double beta_ns = 0;  // a byte
};

// Hosts with the same number of ranks each; rank r lives on host r / ranks_per_host.
struct Topology {
  int world_size = 2;
  int ranks_per_host = 1;
  // Ethernet of 25 Gbit/s through the kernel, and memory.
  LinkModel between_hosts = {15'000, 0.33};
  LinkModel within_host = {1'500, 0.1};
};

struct SimOptions {
  Topology topology;
  // Everything random is drawn from it: one seed is one history, to the bit.
  uint64_t seed = 1;
  // Each message is late by up to this many alphas, so that messages of different pairs overtake each other.
  double jitter = 0;
  // What one (lane, pair) holds between a sender that is done and a receiver that has not posted, as the
  // buffers of a socket do. A larger message is done only when it is received.
  int64_t window_bytes = 256 << 10;
  // How long after a rank was lost, or has failed, another hears of it: up to twice this.
  int64_t notice_ns = 1'000'000;
  // The heartbeat's time-out: how long after a partition each side takes the other for lost.
  int64_t silence_ns = 1'000'000'000;
  // When nothing is under way any more, programs are asked so often before the verdict is a deadlock: kernels
  // of a fake device complete after a number of polls.
  int idle_polls = 256;
};

}  // namespace lockstep::transport::sim
