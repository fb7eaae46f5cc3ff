// A plan prepared for one device, with the inputs and errors of a run.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/plan.h"

namespace tsl::exec {

/// An error that depends on elements' values, found while a plan ran.
struct RunError {
  uint32_t order = ~0u;  // of the node, in program order; ~0: no error
  graph::NodeId node = graph::kNoNode;
  int64_t value = 0;  // the offending index
  explicit operator bool() const { return order != ~0u; }
};

/// Converts a RunError to the error that a user sees.
Error describe(const RunError& error, const graph::Graph& graph);

/// The inputs of a run: an array of tensors, or those of them that `slots` selects, in that order. Both arrays must
/// outlive this.
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
  /// Returns the index of input i in the array of tensors.
  size_t slot(size_t i) const { return slots_ ? slots_[i] : i; }
  const Tensor& operator[](size_t i) const { return tensors_[slot(i)]; }

 private:
  const Tensor* tensors_ = nullptr;
  const uint32_t* slots_ = nullptr;
  size_t size_ = 0;
};

/// A kernel of an executable, by the name that it has in the device's own tools.
struct LoadedKernel {
  std::string name;     // "k_mul_add__3fa2"
  uint32_t launch = 0;  // of the plan
  // The following are known for generated code only.
  int64_t blocks = 0;
  int threads = 0;          // per block
  int registers = -1;       // per thread
  int64_t spilled = -1;     // bytes of registers in memory, per thread
  int64_t shared = -1;      // bytes of shared memory, per block
  double occupancy = -1.0;  // the share of a multiprocessor's threads that can run
  std::string choice = {};  // among Backend::launch_choices(); "": the usual one
};

/// The generated code of a kernel.
struct KernelSource {
  std::string name;     // of the kernel: LoadedKernel::name
  uint32_t launch = 0;  // of the plan
  std::string text;
  std::string prelude = {};  // what the text needs in front of it to compile alone
};

/// A kernel that there is for an op which is never fused (op_kernel.h), and what became of it.
struct KernelCandidate {
  std::string name;
  std::string refusal;  // "": it runs the node, or would do so if none before it did
  bool is_taken = false;
};
/// Formats candidates in a line: "few pixels (the GPU has no clusters), cuDNN: taken, generated".
std::string to_text(const std::vector<KernelCandidate>& candidates);

/// Runs a plan that may fail on its elements, and reports failures later.
class DeferredRuns {
 public:
  virtual ~DeferredRuns() = default;
  /// As Executable::run(), without waiting for failures. What the run computes after one is undefined. Returns the
  /// run's number. The device keeps the failures of DeferredErrors::kMostRuns runs.
  virtual uint32_t run_deferred(Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                                std::span<Tensor> outputs) = 0;
  /// Waits for a run and returns its failure. Called once for each run of the device, in their order.
  virtual RunError report(uint32_t run) = 0;
};

/// Observes the memory of a run. `addresses`: of element 0 of each buffer, after all work on them is done.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  virtual void before(uint32_t launch, std::byte* const* addresses) = 0;
  virtual void after(uint32_t launch, std::byte* const* addresses) = 0;
};

/// A plan prepared for one device.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Runs the plan. `symbols` holds the value of every symbol by id. Inputs have the types and layouts that the plan's
  /// graph declares. `donated` is empty, or has for each tensor of the array the number of references to it that the
  /// caller donates: if only these and the array reference it, and no other tensor shares its storage, it may be
  /// overwritten and become an output. Fills `outputs`. An error leaves the inputs unchanged, unless it is a final
  /// Failure.
  virtual RunError run(Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                       std::span<Tensor> outputs) = 0;
  virtual const graph::Plan& plan() const = 0;
  /// Sets the observer of the next runs. Executables that are made while checks_sharing() have one (sharing_check.h).
  virtual void observe(LaunchObserver* /*observer*/) {}
  /// Returns what runs the plan without waiting for failures; null if each run waits.
  virtual DeferredRuns* deferred_runs() { return nullptr; }
  /// Returns the kernels that a run launches, in order; without generated code, one for each launch.
  virtual std::vector<LoadedKernel> kernels() const;
  /// Returns the kernels that there are for the op of a launch, and which one is taken; none if the launch is fused.
  virtual std::vector<KernelCandidate> candidates(uint32_t launch) const;
  /// Whether the device launches plans as graphs, of which observers are told.
  virtual bool has_graphs() const { return false; }
  /// Returns the bytes of host memory that its op kernels keep between runs.
  virtual uint64_t table_bytes() const { return 0; }
  /// Returns the code of all kernels, for people; none if it was not generated.
  virtual std::vector<KernelSource> sources() const { return {}; }
};

}  // namespace tsl::exec
