#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/transport/tcp/tcp_connection.h"
#include "src/transport/tcp/tcp_hub.h"
#include "src/transport/transport.h"

namespace lockstep::transport::tcp {

// Transport over TCP: one connection a (peer, lane), made when an operation is first posted.
class TcpTransport : public Transport {
 public:
  struct Options {
    uint64_t communicator = 0;
    uint32_t epoch = 0;
    int rank = 0;              // in the communicator
    std::vector<int> members;  // job rank of each rank of the communicator
    bool payload_crc = false;
    std::chrono::nanoseconds connect_timeout{std::chrono::minutes(5)};
    // Called on another thread when Progress() has something to do that no descriptor shows.
    std::function<void()> wake;
  };
  // `hub` may be null for a world of one.
  TcpTransport(std::shared_ptr<TcpHub> hub, Options options);
  ~TcpTransport() override;

  int rank() const override { return options_.rank; }
  int world_size() const override { return static_cast<int>(options_.members.size()); }
  void PostSend(Lane lane, int peer, const Tag& tag, absl::Span<const std::byte> data,
                Operation* operation) override;
  void PostReceive(Lane lane, int peer, const Tag& tag, absl::Span<std::byte> data,
                   Operation* operation) override;
  bool Progress() override;
  void AppendWaits(std::vector<pollfd>* waits) const override;
  void Abort(const absl::Status& reason) override;
  Counters counters() const override { return counters_; }

 private:
  TcpConnection& Reach(Lane lane, int peer);
  void TakeMail();

  const std::shared_ptr<TcpHub> hub_;
  const Options options_;
  std::atomic<bool> mail_{false};
  absl::Status aborted_;
  // By peer * kLaneCount + lane; null until first used.
  std::vector<std::unique_ptr<TcpConnection>> connections_;
  // Those that have something posted, so that a world of thousands costs nothing while few talk.
  std::vector<TcpConnection*> active_;
  Counters counters_;
};

}  // namespace lockstep::transport::tcp
