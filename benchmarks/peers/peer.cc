#include "benchmarks/peers/peer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace lockstep::peers {
namespace {

struct Plan {
  std::vector<std::string> ops = {"allreduce"};
  std::vector<size_t> sizes = {4};
  double seconds = 0.3;
};

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

bool ReadPlan(int argc, char** argv, Plan* plan) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--ops") {
      plan->ops = SplitAtCommas(value);
    } else if (flag == "--sizes") {
      plan->sizes.clear();
      for (const std::string& size : SplitAtCommas(value)) plan->sizes.push_back(std::stoul(size));
    } else if (flag == "--seconds") {
      plan->seconds = std::stod(value);
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

bool Divided(const std::string& op) {
  return op != "allreduce" && op != "broadcast" && op != "reduce" && op != "sendrecv" && op != "barrier";
}

double TimeOnce(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of an allreduce of rank + 1 + i % 7.
bool SumIsRight(const Peer& peer, const std::vector<float>& sum) {
  const int ranks = peer.ranks();
  for (size_t i = 0; i < sum.size(); ++i)
    if (sum[i] != static_cast<float>(ranks * (ranks + 1) / 2 + ranks * static_cast<int>(i % 7))) return false;
  return true;
}

double MedianSeconds(Peer& peer, const std::function<void()>& call, double budget) {
  constexpr int kWarmUp = 5;
  std::vector<double> slowest(1);
  for (int i = 0; i < kWarmUp; ++i) slowest[0] = TimeOnce(call);
  peer.Maximum(&slowest);
  std::vector<double> times(
      static_cast<size_t>(std::clamp(budget / std::max(slowest[0], 1e-7), 10.0, 5000.0)));
  for (double& time : times) time = TimeOnce(call);
  peer.Maximum(&times);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// False if the sum is wrong.
bool MeasureOne(Peer& peer, const std::string& op, size_t bytes, double budget) {
  const size_t ranks = static_cast<size_t>(peer.ranks());
  size_t whole = std::max<size_t>(op == "barrier" ? 0 : 1, bytes / sizeof(float)), part = whole;
  if (Divided(op)) {
    part = (whole + ranks - 1) / ranks;
    whole = part * ranks;
  }
  std::vector<float> input(whole), output(whole);
  const std::function<void()> call = peer.Prepare(op, input.data(), output.data(), whole, part);
  if (!call) return true;
  if (op == "allreduce") {
    for (size_t i = 0; i < whole; ++i)
      output[i] = static_cast<float>(peer.rank() + 1 + static_cast<int>(i % 7));
    call();
    if (!SumIsRight(peer, output)) return false;
    std::fill(output.begin(), output.end(), 0.f);
  }
  const double median = MedianSeconds(peer, call, budget);
  if (peer.rank() == 0) {
    std::printf("%s %zu %.3f\n", op.c_str(), op == "barrier" ? 0 : bytes, median * 1e6);
    std::fflush(stdout);
  }
  return true;
}

}  // namespace

int Measure(Peer& peer, int argc, char** argv) {
  Plan plan;
  if (!ReadPlan(argc, argv, &plan)) {
    std::fprintf(stderr, "usage: %s --ops OP,... --sizes BYTES,... [--seconds S]\n", argv[0]);
    return 2;
  }
  for (const std::string& op : plan.ops) {
    for (size_t bytes : op == "barrier" ? std::vector<size_t>{0} : plan.sizes) {
      if (MeasureOne(peer, op, bytes, plan.seconds)) continue;
      std::fprintf(stderr, "%s: wrong sum in %s of %zu bytes on rank %d\n", argv[0], op.c_str(), bytes,
                   peer.rank());
      return 1;
    }
  }
  return 0;
}

}  // namespace lockstep::peers
