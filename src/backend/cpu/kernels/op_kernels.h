// Ops with kernels of their own: scans, sorting, scattering, windows, matrix products.
#pragma once

#include "backend/cpu/backend.h"

namespace tsl::cpu {

/// Runs node `kernel.op_node` of the plan by `library`, or, if that is null, by a kernel of our own. `buffers` is as in
/// RunState; `workspace` has workspace_bytes().
void run_op(CpuBackend& backend, const graph::Plan& plan, const graph::Kernel& kernel, RunState& state,
            exec::OpKernel* library, std::span<std::byte> workspace);

/// Whether run_op() runs an op without a library.
bool has_own_kernel(Op op);

/// Returns the bytes that run_op() needs for a kernel of a library: its workspace, and copies of operands that it does
/// not read as they lie.
uint64_t workspace_bytes(const exec::OpKernel& library, const graph::Plan& plan, const graph::Kernel& kernel);

/// One call of an op with a kernel of its own, with its operands in memory.
class OpRun {
 public:
  OpRun(CpuBackend& backend, const graph::Plan& plan, const graph::Kernel& kernel, RunState& state);

  CpuBackend& backend;
  RunState& state;
  const graph::Node& node;
  graph::NodeId id;
  std::byte* out;  // the first result that is read

  const Layout& layout(int arg) const { return node.args[arg].layout; }
  DType dtype(int arg) const { return plan_.graph[node.args[arg].node].dtype; }
  /// Returns the address of the operand's element (0, 0, …).
  const std::byte* data(int arg) const;
  /// Returns the operand's elements in row-major order of `layout`; copies them unless they are in that order already.
  const std::byte* in_order(int arg, const Layout& layout);
  const std::byte* in_order(int arg) { return in_order(arg, layout(arg)); }
  /// Returns the memory of a result; null: nothing reads it.
  std::byte* result(int number) const {
    const std::optional<uint32_t> at = graph::position_of_result(kernel_, number);
    return at ? state.buffers[kernel_.buffers[*at]] : nullptr;
  }
  /// Returns memory until this object ends: of what is reserved, or allocated.
  std::byte* temporary(uint64_t bytes);
  void reserve(std::span<std::byte> memory) { reserved_ = memory; }

 private:
  /// Returns the layout's offset in this run, as it may be a symbol.
  int64_t offset(const Layout& layout) const {
    return layout.offset.symbol() ? state.symbols[layout.offset.symbol()->id].integer : layout.offset.hint();
  }

  const graph::Plan& plan_;
  const graph::Kernel& kernel_;
  std::vector<Ref<Storage>> temporaries_;
  std::span<std::byte> reserved_;  // for temporaries
};

/// Returns the layout with `axis` moved to the end.
Layout with_axis_last(const Layout& in, int axis);
/// Converts elements to another dtype.
void convert(const KernelTable& table, std::byte* out, DType to, const std::byte* in, DType from, int64_t count);
/// Stores elements in row-major order of `layout`, relative to `out`.
void store_in_order(const KernelTable& table, std::byte* out, const std::byte* in, const Layout& layout, size_t size);

void run_integer_product(OpRun& run);
void run_scan(OpRun& run);
void run_sort(OpRun& run);
void run_scatter(OpRun& run);
void run_nonzero(OpRun& run);
void run_fold_windows(OpRun& run);

}  // namespace tsl::cpu
