// Generators for ops with kernels of their own: scans, sorting, scattering, sums of windows, products of integers,
// convolutions. The device code of each family is a .cuh file, which is put in front of its kernels. Only the constants
// and the operands' index functions are generated.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

// ---- What the families share -----------------------------------------------------------------------------------

/// The contents of the .cuh files, each with the files that it depends on.
std::string_view scan_templates();
std::string_view sort_templates();
std::string_view scatter_templates();
std::string_view nonzero_templates();
std::string_view integer_product_templates();
std::string_view convolution_templates();

/// Axes of an operand as loops. Extents of 1 are dropped, and neighbouring axes are merged where one stride covers
/// both.
struct Loops {
  std::vector<int64_t> extents, strides;
};
/// Returns the loops of axes [first, last); the second function, those of all axes but one.
Loops loops_of(const Layout& layout, int first, int last);
Loops loops_without(const Layout& layout, int axis);

/// One op with a kernel of its own: its node, its layouts and its buffers.
class OpNode {
 public:
  OpNode(const graph::Kernel& kernel, const graph::Plan& plan);

  const graph::Kernel& kernel;
  const graph::Plan& plan;
  const graph::Node& node;

  const Layout& layout(size_t arg) const { return node.args[arg].layout; }
  DType dtype(size_t arg) const { return plan.graph[node.args[arg].node].dtype; }
  /// Indices into Kernel::buffers.
  uint32_t buffer(size_t arg) const;
  /// Returns the first result that is read.
  uint32_t out() const { return static_cast<uint32_t>(kernel.buffers.size()) - kernel.written; }
  /// Returns a result; none: nothing reads it.
  std::optional<uint32_t> result(int number) const { return graph::position_of_result(kernel, number); }

  /// Makes the writer of a CUDA kernel that uses `templates`. `count`: the largest number it counts to besides indices.
  KernelWriter writer(std::string_view templates, int64_t count = 0) const;

 private:
  int64_t farthest_index_ = 0;  // the largest index into the op's own operands and result
};

/// Writes the device function `name`(i): the index of element i, in row-major order over the loops, of an operand whose
/// first element is at `offset`.
void write_index_function(KernelWriter& writer, const char* name, const Loops& loops, Dim offset);

// ---- Sorting: used by sort, and by scatter for its updates -----------------------------------------------------

/// A stable sort of rows of keys in ascending order.
struct SortJob {
  int64_t rows = 1, length = 0;
  int key_bits = 32;  // low bits of a key that are compared; the others are 0
  std::string name;   // of the CUDA kernels
  /// Makes the writer of a CUDA kernel that declares everything which the functions below use.
  std::function<KernelWriter()> writer;
  /// Writes the device function key(row, i): Key, the key of element i of a row.
  std::function<void(KernelWriter&)> write_key;
  /// Writes the device function put(row, place, key, i): stores that element i of the row is number `place` in sorted
  /// order.
  std::function<void(KernelWriter&)> write_put;
};
inline constexpr int64_t kMaxSortLength = INT32_MAX;
void append_sort(const SortJob& job, GeneratedKernels& generated);

// ---- The families ----------------------------------------------------------------------------------------------

GeneratedKernels generate_scan(const OpNode& op);
GeneratedKernels generate_sort(const OpNode& op);
GeneratedKernels generate_scatter(const OpNode& op);
GeneratedKernels generate_nonzero(const OpNode& op);
GeneratedKernels generate_fold_windows(const OpNode& op);
GeneratedKernels generate_integer_product(const OpNode& op);
GeneratedKernels generate_convolution(const OpNode& op);

}  // namespace tsl::cuda
