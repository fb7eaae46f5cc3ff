// Random inputs for a plan that runs alone, such that it can: indices exist, and masks have the right counts.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/plan.h"
#include "tensor/tensor.h"

namespace tsl::exec {

/// The numbers in inputs of ints that no index depends on, and of floats.
enum class BenchNumbers : uint8_t { random, zeros, ones };

/// What must hold of an input's elements.
struct BenchInput {
  graph::NodeId node = graph::kNoNode;
  uint64_t elements = 0;  // of its memory
  int64_t first = 0;      // element (0, 0, …) in it
  int64_t extent = 0;     // ints are below it, since they are indices; 0: any
  int64_t rows = 0;       // matrices of so many rows are positive definite; 0: any elements
  int64_t trues = -1;     // so many are true, since a nonzero counts on it; -1: any
};

/// Describes the inputs of a plan. Throws Failure (value) if none that are made up would do.
std::vector<BenchInput> bench_inputs(const graph::Plan& plan);

/// Makes the elements of an input, all different for each `seed`. Floats are from 0.5 to 1.5, where all functions are
/// ordinary; ints from 1 to 100, as far as `extent` allows.
std::vector<std::byte> bench_elements(const BenchInput& input, DType dtype, BenchNumbers numbers, uint64_t seed);

class Devices;

/// The inputs of a plan on a device, for runs again and again: those that a run finds in a cache are the same in all
/// runs; the others move on through copies that are larger than the cache, so that no run finds what an earlier one has
/// read.
class BenchInputSets {
 public:
  BenchInputSets(Devices& devices, Device device, const graph::Plan& plan, const std::vector<bool>& is_cold,
                 uint64_t cached_bytes, BenchNumbers numbers);
  /// Returns the inputs of a run.
  const std::vector<Tensor>& at(uint64_t run);

 private:
  Tensor tensor(size_t i, Ref<Storage> storage, uint64_t byte) const;

  std::vector<BenchInput> inputs_;
  std::vector<const graph::Node*> nodes_;
  std::vector<Tensor> tensors_;
  std::vector<bool> is_cold_;
  std::vector<uint64_t> offsets_;  // bytes of a cold input in its set
  uint64_t set_bytes_ = 0, sets_ = 1;
  Ref<Storage> cold_;
};

/// Returns the hints of all symbols of a plan, by id: the values of the run that was recorded.
std::vector<Scalar> symbol_hints(const graph::Plan& plan);

}  // namespace tsl::exec
