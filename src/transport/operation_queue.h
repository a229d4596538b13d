#pragma once

#include "src/transport/transport.h"

namespace lockstep::transport {

// A first-in first-out list of posted operations, linked through them: posting allocates nothing.
class OperationQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  Operation* front() const { return head_; }
  void Push(Operation* operation) {
    operation->set_next(nullptr);
    if (head_ == nullptr) {
      head_ = operation;
    } else {
      tail_->set_next(operation);
    }
    tail_ = operation;
  }
  void Pop() { head_ = head_->next(); }
  void FailAll(const absl::Status& status) {
    while (head_ != nullptr) {
      Operation* operation = head_;
      Pop();
      operation->Fail(status);
    }
  }

 private:
  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
};

}  // namespace lockstep::transport
