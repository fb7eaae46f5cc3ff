// Where the buffers of a plan lie while it runs: inputs where the caller has them, temporaries in one arena, outputs in
// memory of their own or in that of an input that was given up. The same on every device.
#pragma once

#include <span>
#include <vector>

#include "graph/plan.h"

namespace tsl::graph {

class PlanMemory {
 public:
  /// Both must outlive this.
  PlanMemory(const Plan& plan, Allocator& allocator);

  /// Finds a place for every buffer. Throws Failure (memory), and then holds nothing.
  void place(std::span<const Tensor> inputs, std::span<const bool> donated);
  /// The address of element 0, by buffer of the plan.
  std::byte* const* addresses() const { return addresses_.data(); }
  /// The plan's outputs as tensors, after place() and as long as release() was not called.
  void make_outputs(std::span<const Tensor> inputs, std::span<const Scalar> symbols, std::span<Tensor> outputs) const;
  /// Lets go of all memory. What outputs hold stays alive with them.
  void release();

 private:
  Ref<Storage> donor(const Buffer& output, std::span<const Tensor> inputs, std::span<const bool> donated);
  void place_output(const Buffer& buffer, std::byte*& address, std::span<const Tensor> inputs, std::span<const bool> donated);

  const Plan& plan_;
  Allocator& allocator_;
  std::vector<std::byte*> addresses_;
  std::vector<Ref<Storage>> storages_;  // by output buffer
  std::vector<bool> taken_;             // by input: an output has its memory
  Ref<Storage> arena_;
};

}  // namespace tsl::graph
