// Ops that run by kernels of TSL's own, which a struct tells what to do: facts of a node and a device in, texts and
// launches out. Needs no device; plans/own_op_kernel.h loads and launches them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/cuda/source/cuda_kernel.h"
#include "backend/cuda/source/device_facts.h"
#include "exec/op_kernel.h"

namespace tsl::cuda {

/// A kernel whose only argument is a struct, and how it is launched.
struct OwnLaunch {
  CudaKernel kernel;  // whose threads_x are those of a block
  std::array<unsigned, 3> grid = {1, 1, 1};
  uint64_t shared_bytes = 0;  // of a block, dynamic
  uint64_t most_shared = 0;   // of all launches of this code: another node may have the same code, and other sizes
};

/// A node that runs by such kernels.
class OwnOp {
 public:
  virtual ~OwnOp() = default;
  /// As of exec::OpKernel.
  virtual std::string_view name() const = 0;
  virtual uint64_t workspace_bytes() const { return 0; }
  virtual const Layout* order_of(size_t /*operand*/, const Layout& layout) const { return &layout; }
  /// Returns the kernels, which are launched one after another with the same struct.
  virtual std::vector<OwnLaunch> launches() const = 0;
  /// Fills in the struct for a call, and returns its address, which stays the same.
  virtual void* arguments(const exec::OpCall& call) = 0;
};

/// A row of the GPU's table of kernels, as exec::KernelRow.
struct OwnRow {
  std::string_view name;
  std::vector<Op> ops;
  std::string_view (*refusal)(const graph::Node& node, const DeviceFacts& facts);
  /// Makes what runs a node that is not refused; null: it needs more blocks than a launch has.
  std::function<std::unique_ptr<OwnOp>(const graph::Node& node, const DeviceFacts& facts)> make;
  std::function<std::string_view(std::span<const Operand>, const Attrs&, bool is_named)> refuses_call = {};
};

/// The rows of each family: products with a vector, convolutions of few pixels, attention.
std::vector<OwnRow> vector_product_rows();
std::vector<OwnRow> few_pixels_rows();
std::vector<OwnRow> attention_rows();

/// All rows, in the order in which they are asked.
inline constexpr std::vector<OwnRow> (*kOwnRows[])() = {vector_product_rows, few_pixels_rows, attention_rows};

}  // namespace tsl::cuda
