// A plan made ready for one device, and what a run of it takes and gives.
#pragma once

#include <concepts>
#include <span>

#include "base/error.h"
#include "graph/plan.h"

namespace tsl::exec {

/// An error that only the elements' values could show, found while a plan ran.
struct RunError {
  uint32_t order = ~0u;  // of the node, in program order; ~0 means none
  graph::NodeId node = graph::kNoNode;
  int64_t value = 0;  // the offending index
  explicit operator bool() const { return order != ~0u; }
};

/// The error a user sees for a RunError.
Error describe(const RunError& error, const graph::Graph& graph);

/// The inputs of a run: tensors side by side, or those of them that `slots` picks, in its order. Both must outlive
/// this.
class Inputs {
 public:
  Inputs() = default;
  Inputs(const Tensor* tensors, size_t count) : tensors_(tensors), size_(count) {}
  template <class Tensors>
  requires std::convertible_to<const Tensors&, std::span<const Tensor>> Inputs(const Tensors& tensors)
      : Inputs(std::span<const Tensor>(tensors).data(), std::span<const Tensor>(tensors).size()) {}
  Inputs(const Tensor* tensors, std::span<const uint32_t> slots)
      : tensors_(tensors), slots_(slots.data()), size_(slots.size()) {}
  size_t size() const { return size_; }
  const Tensor* tensors() const { return tensors_; }
  /// Where input i is among the tensors.
  size_t slot(size_t i) const { return slots_ ? slots_[i] : i; }
  const Tensor& operator[](size_t i) const { return tensors_[slot(i)]; }

 private:
  const Tensor* tensors_ = nullptr;
  const uint32_t* slots_ = nullptr;
  size_t size_ = 0;
};

/// A plan made ready for one device.
class Executable {
 public:
  virtual ~Executable() = default;
  /// `symbols` holds the value of every symbol by id. Inputs are as the plan's graph declares them. `donated` is
  /// empty, or says of each of the tensors they are picked from whether the caller donates it: then it may be
  /// overwritten and be an output if it is held only there and by the caller, and no other tensor has its storage.
  /// Fills `outputs`. An error leaves the inputs as they were, unless it is a Failure that is final.
  virtual RunError run(Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                       std::span<Tensor> outputs) = 0;
  virtual const graph::Plan& plan() const = 0;
};

}  // namespace tsl::exec
