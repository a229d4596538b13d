#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "src/transport/transport.h"

namespace lockstep::transport::sim {

// A message that has left its sender's queue and that no receive has taken yet.
struct Message {
  Tag tag;
  int64_t bytes = 0;
  Operation* send = nullptr;  // until the sender is done with it: the data is still in its buffer
  std::unique_ptr<std::byte[]> data;
  size_t size_class = 0;
  bool arrived = false;
  bool torn = false;        // never arrives: its sender was gone before it had left
  Message* next = nullptr;  // the channel's
};

// Messages and the memory that holds their data, used again and again.
class MessagePool {
 public:
  Message* Take() {
    if (free_.empty()) free_.push_back(&all_.emplace_back());
    Message* message = free_.back();
    free_.pop_back();
    ++live_;
    return message;
  }
  // Room for the message's data, somewhere in blocks of powers of two.
  void Allocate(Message* message) {
    message->size_class = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(message->bytes)));
    std::vector<std::unique_ptr<std::byte[]>>& blocks = blocks_[message->size_class];
    if (blocks.empty()) {
      message->data = std::make_unique_for_overwrite<std::byte[]>(size_t{1} << message->size_class);
    } else {
      message->data = std::move(blocks.back());
      blocks.pop_back();
    }
  }
  void Return(Message* message) {
    if (message->data != nullptr) blocks_[message->size_class].push_back(std::move(message->data));
    message->send = nullptr;
    message->arrived = message->torn = false;
    message->next = nullptr;
    free_.push_back(message);
    --live_;
  }
  int64_t live() const { return live_; }

 private:
  std::deque<Message> all_;
  std::vector<Message*> free_;
  std::array<std::vector<std::unique_ptr<std::byte[]>>, 64> blocks_;
  int64_t live_ = 0;
};

}  // namespace lockstep::transport::sim
