// Kernels for ops with kernels of their own: scans, sorting, scattering, sums of windows, products of integers. Their
// device code stands in a .cuh file a family, in front of the kernels that use it; what is generated are the facts it
// is made for, and how operands lie.
#pragma once

#include <functional>
#include <string_view>

#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

// ---- What the families share -----------------------------------------------------------------------------------

/// What the .cuh files hold, as text; each with all that it needs.
std::string_view scan_templates();
std::string_view sort_templates();
std::string_view scatter_templates();
std::string_view nonzero_templates();
std::string_view integer_product_templates();

/// Axes of an operand as loops: without extents of 1, and neighbours that are walked as one are one.
struct Loops {
  std::vector<int64_t> extents, strides;
};
/// Axes [first, last), and those but one.
Loops loops_of(const Layout& layout, int first, int last);
Loops loops_without(const Layout& layout, int axis);

/// One op as its kernels see it.
class OpKernel {
 public:
  OpKernel(const graph::Kernel& kernel, const graph::Plan& plan);

  const graph::Kernel& kernel;
  const graph::Plan& plan;
  const graph::Node& node;

  const Layout& layout(size_t arg) const { return node.args[arg].layout; }
  DType dtype(size_t arg) const { return plan.graph[node.args[arg].node].dtype; }
  /// Their places in Kernel::buffers.
  uint32_t buffer(size_t arg) const;
  uint32_t out() const { return static_cast<uint32_t>(kernel.buffers.size()) - 1; }

  /// For a stage that also counts to `count`.
  StageWriter writer(std::string_view templates, int64_t count = 0) const;

 private:
  int64_t farthest_ = 0;  // place that the op's own operands and result reach
};

/// Writes a function `name`(i): the place of element i, in row-major order over the loops, of an operand whose first
/// element is at `offset`.
void write_place(StageWriter& writer, const char* name, const Loops& loops, Dim offset);

// ---- Sorting, of rows or of what is scattered ------------------------------------------------------------------

/// Rows of keys to be sorted: stable, in ascending order.
struct SortJob {
  int64_t rows = 1, length = 0;
  int key_bits = 32;  // of a key that count; the others are 0
  std::string name;   // of the stages
  /// A stage's writer, with all that the functions below speak of.
  std::function<StageWriter()> writer;
  /// Writes the function key(row, i): Key, the key of element i of a row.
  std::function<void(StageWriter&)> write_key;
  /// Writes the function put(row, place, key, i): element i of the row comes at `place`.
  std::function<void(StageWriter&)> write_put;
};
inline constexpr int64_t kMaxSortLength = INT32_MAX;
void append_sort(const SortJob& job, KernelProgram& program);

// ---- The families ----------------------------------------------------------------------------------------------

KernelProgram generate_scan(const OpKernel& op);
KernelProgram generate_argsort(const OpKernel& op);
KernelProgram generate_scatter(const OpKernel& op);
KernelProgram generate_nonzero(const OpKernel& op);
KernelProgram generate_fold_windows(const OpKernel& op);
KernelProgram generate_integer_product(const OpKernel& op);

}  // namespace tsl::cuda
