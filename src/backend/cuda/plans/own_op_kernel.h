// Runs an op by kernels of TSL's own: those of kernels/own_op.h, loaded.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/kernels/own_op.h"
#include "exec/op_kernel.h"

namespace tsl::cuda {

/// A plan loads the kernels with its others, and launches each by a call of its own. Only where operands are copied
/// first does run() launch them.
class OwnOpKernel final : public exec::OpKernel {
 public:
  OwnOpKernel(Gpu& gpu, std::unique_ptr<OwnOp> op);

  std::string name() const override { return std::string(op_->name()); }
  uint64_t workspace_bytes() const override { return op_->workspace_bytes(); }
  const Layout* order_of(size_t operand, const Layout& layout) const override { return op_->order_of(operand, layout); }
  bool is_recordable() const override { return true; }
  void run(const exec::OpCall& call) override;

  /// Returns the kernels, to be loaded by whoever then calls set_functions(), and whose texts may be freed then.
  std::vector<CudaKernel*> kernels();
  void set_functions(std::span<const CUfunction> functions);

  size_t launches() const { return launches_.size(); }
  /// Returns launch `i`, after set_functions().
  Launch launch(size_t i) const;
  /// Returns the struct for a call, which all launches take, in memory of this object.
  void* arguments(const exec::OpCall& call) { return op_->arguments(call); }

  /// Describes the launches, in order.
  std::vector<exec::LoadedKernel> describe() const;
  std::vector<exec::KernelSource> sources(uint32_t launch) const;
  /// Runs edited code in place of the kernel of its name. Returns whether there is one.
  bool replace(const exec::KernelSource& edited);

 private:
  void reserve_shared(size_t i) const;

  Gpu& gpu_;
  std::unique_ptr<OwnOp> op_;
  std::vector<OwnLaunch> launches_;    // those of at least one block
  std::vector<CUfunction> functions_;  // none before they are loaded
};

/// The rows of kernels/own_op.h.
std::vector<exec::KernelRow> own_kernel_rows(Gpu& gpu);

}  // namespace tsl::cuda
