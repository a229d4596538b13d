#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/backend/backend.h"

namespace lockstep::backend {

// Collectives written over a Transport: what runs on TCP and UCX.
class MessagePassingBackend : public Backend {
 public:
  struct Options {
    std::string name;                        // the transport's
    int64_t buffer_bytes = 64 << 20;         // staging memory; pages are touched when first used, then kept
    int64_t chunk_bytes = 128 << 10;         // granularity of pipelining
    Algorithm algorithm = Algorithm::kAuto;  // LOCKSTEP_ALGORITHM: what kAuto calls get where it fits
  };
  // ResourceExhausted when the staging memory cannot be had.
  static absl::StatusOr<std::unique_ptr<MessagePassingBackend>> Create(
      std::unique_ptr<transport::Transport> transport, const Options& options);
  ~MessagePassingBackend() override;

  const char* name() const override { return options_.name.c_str(); }
  absl::StatusOr<std::unique_ptr<collectives::Collective>> Begin(const collectives::Arguments& arguments,
                                                                 uint64_t sequence, const Stream& stream,
                                                                 Algorithm* chosen) override;
  void PostSend(int peer, const transport::Tag& tag, absl::Span<const std::byte> data,
                transport::Operation* operation) override;
  void PostReceive(int peer, const transport::Tag& tag, absl::Span<std::byte> data,
                   transport::Operation* operation) override;
  bool Progress() override { return transport_->Progress(); }
  void AppendWaits(std::vector<pollfd>* waits) const override { transport_->AppendWaits(waits); }
  void Abort(const absl::Status& reason) override { transport_->Abort(reason); }
  transport::Transport::Counters counters() const override { return transport_->counters(); }
  int64_t buffer_bytes() const override { return options_.buffer_bytes; }

 private:
  MessagePassingBackend(std::unique_ptr<transport::Transport> transport, const Options& options,
                        absl::Span<std::byte> scratch);

  const std::unique_ptr<transport::Transport> transport_;
  const Options options_;
  const absl::Span<std::byte> scratch_;
};

}  // namespace lockstep::backend
