#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/kernel_table.h"
#include "src/device/fake_device.h"

namespace lockstep::kernels {
namespace {

using Floats = std::vector<float>;

TEST(StreamKernelsTest, RunAtOnceOnTheInlineStreamAndOnAnIdleHostStream) {
  for (Stream stream : {Stream(), Stream::Host()}) {
    Floats a = {1, 2, 3};
    const Floats b = {10, 20, 30};
    const void* const sources[] = {a.data(), b.data()};
    HostKernels().reduce(stream, DType::kF32, ReduceOp::kSum, a.data(), absl::MakeConstSpan(sources), 3, 1);
    EXPECT_EQ(a, (Floats{11, 22, 33}));
  }
}

// Every kernel, enqueued behind an event on a host stream or on a device that is late, runs later and in
// order.
void CheckThatAllKernelsWait(Stream stream, device::FakeDeviceStream& held) {
  const KernelTable& kernels = HostKernels();
  const Floats a = {1, 2, 3}, b = {10, 20, 30};
  Floats sum(3), accumulator(3), folded(3), copied(3);
  {
    const std::vector<const void*> sources = {a.data(), b.data()};  // gone before the kernel runs
    kernels.reduce(stream, DType::kF32, ReduceOp::kAvg, sum.data(), sources, 3, 2);
  }
  kernels.fold_first(stream, DType::kF32, accumulator.data(), sum.data(), 3);
  kernels.fold(stream, DType::kF32, ReduceOp::kMax, accumulator.data(), b.data(), 3);
  kernels.fold_finish(stream, DType::kF32, folded.data(), accumulator.data(), 3, 1);
  kernels.copy(stream, copied.data(), folded.data(), 3 * sizeof(float));
  const Event done = stream.Record();
  EXPECT_FALSE(done.Done());
  EXPECT_EQ(sum, Floats(3));
  held.ReleaseAll();
  done.WaitSync();
  EXPECT_EQ(sum, (Floats{5.5, 11, 16.5}));
  EXPECT_EQ(copied, b);
}

TEST(StreamKernelsTest, WaitForWhatIsBeforeThem) {
  auto held = std::make_shared<device::FakeDeviceStream>(device::FakeDeviceOptions{.held = true});
  Stream gate(held), stream = Stream::Host();
  gate.Enqueue([] {});
  stream.WaitFor(gate.Record());
  CheckThatAllKernelsWait(stream, *held);
}

TEST(StreamKernelsTest, RunOnAnAsynchronousDevice) {
  auto held = std::make_shared<device::FakeDeviceStream>(device::FakeDeviceOptions{.held = true});
  CheckThatAllKernelsWait(Stream(held), *held);
}

TEST(StreamKernelsTest, CopyNothingFromNowhere) {
  Stream stream;
  HostKernels().copy(stream, nullptr, nullptr, 0);
}

}  // namespace
}  // namespace lockstep::kernels
