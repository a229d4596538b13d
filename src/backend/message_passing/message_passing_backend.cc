#include "src/backend/message_passing/message_passing_backend.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/kernel_table.h"

namespace lockstep::backend {

absl::StatusOr<std::unique_ptr<MessagePassingBackend>> MessagePassingBackend::Create(
    std::unique_ptr<transport::Transport> transport, const Options& options) {
  // Mapped, not allocated: a page costs nothing until a collective is large enough to need it.
  void* memory = mmap(nullptr, static_cast<size_t>(options.buffer_bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", options.buffer_bytes,
                                                     " bytes of staging buffers (", strerror(errno),
                                                     "); set LOCKSTEP_BUFFER_BYTES lower"));
  return std::unique_ptr<MessagePassingBackend>(new MessagePassingBackend(
      std::move(transport), options,
      {static_cast<std::byte*>(memory), static_cast<size_t>(options.buffer_bytes)}));
}

MessagePassingBackend::MessagePassingBackend(std::unique_ptr<transport::Transport> transport,
                                             const Options& options, absl::Span<std::byte> scratch)
    : transport_(std::move(transport)), options_(options), scratch_(scratch) {}

MessagePassingBackend::~MessagePassingBackend() { munmap(scratch_.data(), scratch_.size()); }

absl::StatusOr<std::unique_ptr<collectives::Collective>> MessagePassingBackend::Begin(
    const collectives::Arguments& arguments, uint64_t sequence, const Stream& stream, Algorithm* chosen) {
  collectives::Descriptor wanted = arguments.descriptor;
  if (wanted.algorithm == Algorithm::kAuto) wanted.algorithm = options_.algorithm;
  *chosen = collectives::Choose(wanted, transport_->world_size());
  collectives::Context context;
  context.transport = transport_.get();
  context.kernels = &kernels::HostKernels();
  context.stream = stream;
  context.scratch = scratch_;
  context.chunk_bytes = options_.chunk_bytes;
  context.tag = {sequence, arguments.descriptor.Hash(), static_cast<uint16_t>(*chosen)};
  return collectives::MakeCollective(context, arguments, *chosen);
}

void MessagePassingBackend::PostSend(int peer, const transport::Tag& tag, absl::Span<const std::byte> data,
                                     transport::Operation* operation) {
  transport_->PostSend(transport::Lane::kPointToPoint, peer, tag, data, operation);
}

void MessagePassingBackend::PostReceive(int peer, const transport::Tag& tag, absl::Span<std::byte> data,
                                        transport::Operation* operation) {
  transport_->PostReceive(transport::Lane::kPointToPoint, peer, tag, data, operation);
}

}  // namespace lockstep::backend
