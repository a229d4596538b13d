#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "tests/comm/conformance_call.h"
#include "tests/support/world.h"

namespace lockstep::testing {

// All ranks, as threads, make the cases that the test's thread goes through, so that the data is made once.
inline int64_t RunMatrix(int world_size, const conformance::Matrix& matrix) {
  const conformance::Case* current = nullptr;
  const conformance::Data* data = nullptr;
  std::barrier turn(world_size + 1);
  std::thread ranks([&] {
    RunRanks(world_size, [&](Communicator& comm) {
      for (;;) {
        turn.arrive_and_wait();
        if (current == nullptr) return;
        EXPECT_EQ(Wrong(comm, *current, *data), "");
        turn.arrive_and_wait();
      }
    });
  });
  const int64_t cases =
      conformance::ForEachCase(matrix, [&](const conformance::Case& one, const conformance::Data& its_data) {
        current = &one;
        data = &its_data;
        turn.arrive_and_wait();
        turn.arrive_and_wait();
      });
  current = nullptr;
  turn.arrive_and_wait();
  ranks.join();
  return cases;
}

}  // namespace lockstep::testing
