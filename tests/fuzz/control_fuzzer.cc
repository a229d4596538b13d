// What a neighbour says on a control connection: the facts' parser, and a machine that takes what parses.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/comm/control/control_machine.h"

namespace {

using namespace lockstep::comm;  // NOLINT: a program of one file

constexpr int kWorldSize = 5;

struct Nowhere : ControlMachine::Outputs {
  void Send(int, lockstep::net::FrameKind, const std::string& payload) override {
    if (payload.size() > 8 && !DecodeFacts(payload, kWorldSize).ok()) std::abort();
  }
  void Dial(int) override {}
  void CloseLink(int) override {}
};

struct Deaf : ControlListener {
  void OnLost(const LostRank& lost) override {
    if (lost.rank < 0 || lost.rank >= kWorldSize) std::abort();
  }
  void OnPoison(uint64_t, const absl::Status& status) override {
    if (status.ok()) std::abort();
  }
  std::optional<lockstep::collectives::Descriptor> DescriptorAt(uint64_t sequence) override {
    if (sequence % 2 == 0) return std::nullopt;
    return lockstep::collectives::Descriptor();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Facts> facts = DecodeFacts(bytes, kWorldSize);
  if (facts.ok() && EncodeFacts(*facts) != bytes) std::abort();

  Nowhere nowhere;
  Deaf deaf;
  ControlMachine::Options options;
  options.rank = 2;
  options.world_size = kWorldSize;
  options.descriptions.assign(kWorldSize, "host");
  ControlMachine machine(options, &nowhere);
  ControlMachine::Time now = std::chrono::seconds(1);
  machine.Start(now);
  machine.Register(0, {0, 1, 2, 3, 4}, &deaf, now);
  for (int peer : {0, 1, 3, 4}) machine.OnLinkUp(peer, now);
  machine.BeginAgreement(0, 0, now);
  // The whole input from one neighbour, and its halves from two.
  const std::string half = bytes.substr(0, size / 2);
  for (const auto& [peer, payload] : std::vector<std::pair<int, std::string>>{
           {0, bytes}, {1, half}, {3, bytes.substr(size / 2)}, {4, bytes}}) {
    const absl::Status taken = machine.OnFrame(peer, lockstep::net::FrameKind::kControl, payload, now);
    if (peer == 0 && facts.ok() && !taken.ok()) std::abort();
    machine.Flush();
    now += ControlMachine::kTick;
    machine.Tick(now);
  }
  const auto agreed = machine.Agreed(0, 0);
  if (agreed.ok() && *agreed && (*agreed)->size() > kWorldSize) std::abort();
  return 0;
}
