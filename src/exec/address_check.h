// A debug check: proves before a run that every address which the kernels and library calls of a plan may form lies in
// the memory of its buffer.
#pragma once

#include "exec/executable.h"
#include "graph/reach.h"

namespace tsl::exec {

/// Whether runs check addresses: wherever the specification is enforced, and in builds with TSL_POISON.
bool checks_addresses();

/// Checks that a library call, which is given `formed` of an operand, stays within what the operand's layout reaches.
/// Throws std::logic_error.
void check_library_operand(const Layout& layout, const graph::Reach& formed);

/// The memory of a run's buffers. What it is made from must outlive it.
class AddressCheck {
 public:
  AddressCheck(const graph::Plan& plan, Inputs inputs, std::span<const Scalar> symbols)
      : plan_(plan), inputs_(inputs), symbols_(symbols) {}

  /// Checks loads, stores and gathers of the plan's kernels, and the operands of its ops. Throws std::logic_error.
  void check_kernels() const;

 private:
  void check(const graph::Kernel& kernel, uint32_t buffer, const graph::Reach& reach, const Dim& offset) const;
  void check_operands(const graph::Kernel& kernel) const;
  /// The elements of the buffer's memory, counted from the address that the run binds to it.
  graph::Reach memory_of(uint32_t buffer) const;

  const graph::Plan& plan_;
  Inputs inputs_;
  std::span<const Scalar> symbols_;
};

}  // namespace tsl::exec
