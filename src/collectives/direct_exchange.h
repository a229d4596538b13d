#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/collectives/collective.h"

namespace lockstep::collectives {

// Messages straight between the ranks that have data and those that need it: gather(v), scatter(v),
// all-to-all(v), and allgather of what is small.
//
// A list of transfers, of which a bounded number is under way at once. Transfers of 0 bytes are sent too
// where only one side may know the count: a rank that disagrees then finds out instead of waiting.
//
// Cost: (P-1) alpha + the bytes of this rank's transfers times beta.
class DirectExchange : public Collective {
 public:
  struct Transfer {
    int peer = 0;
    const std::byte* source = nullptr;  // a send
    std::byte* destination = nullptr;   // a receive
    int64_t bytes = 0;
    bool is_send = false;
  };
  static std::unique_ptr<Collective> Gather(const Context& context, const Arguments& arguments);
  static std::unique_ptr<Collective> Scatter(const Context& context, const Arguments& arguments);
  static std::unique_ptr<Collective> AllToAll(const Context& context, const Arguments& arguments);
  static std::unique_ptr<Collective> AllGather(const Context& context, const Arguments& arguments);

  absl::StatusOr<bool> Advance() override;

 private:
  static constexpr size_t kWindow = 16;
  DirectExchange(const Context& context, std::vector<Transfer> transfers, Transfer own);

  Context context_;
  const std::vector<Transfer> transfers_;
  const Transfer own_;  // this rank's part for itself: a copy
  bool own_copied_ = false;
  Event copied_;
  size_t posted_ = 0, done_ = 0;
  std::vector<transport::Operation> operations_;
};

}  // namespace lockstep::collectives
