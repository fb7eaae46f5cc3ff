// Nodes of a plan that an op kernel runs, a library's or TSL's own: the addresses that it works on, copies of operands
// that it cannot read, and the report of what failed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/plans/graph_launcher.h"
#include "backend/cuda/plans/own_op_kernel.h"
#include "exec/op_kernel.h"
#include "graph/plan.h"

namespace tsl::cuda {

class OpKernelCall final : public LibraryWork, public StructArgument {
 public:
  /// `kernel` of the plan is an op; `op_kernel` is the one of its node.
  OpKernelCall(Gpu& gpu, const graph::Plan& plan, const graph::Kernel& kernel,
               std::unique_ptr<exec::OpKernel> op_kernel);
  ~OpKernelCall() override;

  std::string name() const { return op_kernel_->name(); }
  uint64_t workspace_bytes() const { return op_kernel_->workspace_bytes(); }
  /// Returns the op kernel if it is TSL's own, else null.
  OwnOpKernel* own() const { return own_; }
  /// Whether the launches of TSL's own kernels are calls of the launcher, each with make() as its argument.
  bool is_launched_by_kernels() const { return own_ && !copies_operands(); }
  /// Whether the call may be part of a CUDA graph. One that copies operands may not.
  bool is_recordable() const;
  /// How many calls of the launcher there are, before the report.
  uint32_t count() const { return is_launched_by_kernels() ? static_cast<uint32_t>(own_->launches()) : 1; }
  /// Describes the calls of a launch: a library's by its name, since it chooses its kernels when they run.
  std::vector<exec::LoadedKernel> describe(uint32_t launch) const;
  /// Returns the kernel that reports after the call what failed; none: the node cannot fail.
  GeneratedKernels failure_report() const;

  bool copies_operands() const;
  /// Allocates memory for copies of operands before a run begins, which enqueue() gives back for them: so it fails
  /// where nothing has been overwritten yet.
  void reserve_copies();
  /// Sets the values of `call`: the addresses of operands, of results and of the workspace.
  void bind(KernelCall& call, std::byte* const* buffers, std::span<const Scalar> symbols, CUdeviceptr workspace) const;
  void enqueue(const std::vector<uint64_t>& values) override;
  bool can_record(const std::vector<uint64_t>& values) override;
  void* make(const std::vector<uint64_t>& values) override;

 private:
  struct Operand {
    uint32_t buffer = 0;
    Layout layout;
    DType dtype = DType::f32;
    Layout order = {};                       // of the copy
    std::unique_ptr<exec::Executable> copy;  // null: the op kernel reads the operand as it lies
    Ref<Storage> reserved = {};
  };

  void copy_operands(std::vector<Tensor>& copies);
  exec::OpCall call_of(const std::vector<uint64_t>& values);

  Gpu& gpu_;
  std::unique_ptr<exec::OpKernel> op_kernel_;
  OwnOpKernel* own_;  // the same one; null: a library's
  std::vector<Operand> operands_;
  std::vector<std::optional<uint32_t>> results_;     // buffers; none: nothing reads the result
  std::vector<const std::byte*> operand_addresses_;  // of the current call
  std::vector<std::byte*> result_addresses_;
  uint32_t order_, node_;  // of the node, for reports
  Ref<Storage> failed_;    // OpCall::failed; null: the node cannot fail
};

}  // namespace tsl::cuda
