#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace lockstep::nn {

// Where one parameter lies in the flat buffers of its ParameterSet, in floats.
struct Parameter {
  int64_t offset = 0;
  int64_t count = 0;
};

struct ParameterSpec {
  std::string name;
  int64_t count = 0;
  float mean = 0;  // starts as mean + stddev * normal
  float stddev = 0;
  bool decays = false;  // whether the optimizer's weight decay applies (matrices: yes, biases and gains: no)
};

// All parameters of a model in one flat buffer, and their gradients in another: an allreduce of the gradients
// is one call, and the optimizer is one loop.
//
//     nn::ParameterSet parameters;
//     nn::Linear layer(&parameters, ...);   // layers declare what they need
//     parameters.Initialise(seed);          // memory and first values
//
// Not thread-safe.
class ParameterSet {
 public:
  struct Entry {
    ParameterSpec spec;
    Parameter where;
  };

  // A name that was declared before gives the same parameter: this is how layers share weights, and how a
  // second model (for sampling, with another batch size) works on the first one's. A new name may be declared
  // before Initialise() only.
  Parameter Declare(const ParameterSpec& spec);
  // Allocates both buffers and sets the first values; the same seed gives the same bits.
  void Initialise(uint64_t seed);

  float* value(Parameter parameter) { return values_.get() + parameter.offset; }
  float* gradient(Parameter parameter) { return gradients_.get() + parameter.offset; }
  // The whole buffers; the few floats of padding between parameters stay zero.
  absl::Span<float> values() { return {values_.get(), static_cast<size_t>(size_)}; }
  absl::Span<float> gradients() { return {gradients_.get(), static_cast<size_t>(size_)}; }
  absl::Span<const Entry> entries() const { return entries_; }
  // Parameters in the sense of a model's size, padding left out.
  int64_t count() const;

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::vector<Entry> entries_;
  int64_t size_ = 0;
  std::unique_ptr<float[], Free> values_;
  std::unique_ptr<float[], Free> gradients_;
};

}  // namespace lockstep::nn
