// Nodes of a plan that a library runs: the addresses that its op kernel works on, copies of operands that the library
// cannot read, and the report of what failed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/driver/graph_launcher.h"
#include "exec/op_kernel.h"
#include "graph/plan.h"

namespace tsl::cuda {

class LibraryCall final : public LibraryWork {
 public:
  /// `kernel` of the plan is an op; `library` is the op kernel of its node.
  LibraryCall(Gpu& gpu, const graph::Plan& plan, const graph::Kernel& kernel, std::unique_ptr<exec::OpKernel> library);
  ~LibraryCall() override;

  std::string name() const { return library_->name(); }
  uint64_t workspace_bytes() const { return library_->workspace_bytes(); }
  /// Whether the call may be part of a CUDA graph. One that copies operands may not.
  bool is_recordable() const;
  /// Describes the call of a launch: by its name, since a library chooses its kernels when they run, and by what the
  /// largest of TSL's own takes of the device.
  exec::LoadedKernel describe(uint32_t launch) const;
  /// Returns the code of TSL's own that the call runs.
  std::vector<exec::KernelSource> sources(uint32_t launch) const;
  /// Runs edited code in place of TSL's own. Returns whether there is a kernel of that name.
  bool replace(const exec::KernelSource& edited);
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

 private:
  struct Operand {
    uint32_t buffer = 0;
    Layout layout;
    DType dtype = DType::f32;
    Layout order = {};                       // of the copy
    std::unique_ptr<exec::Executable> copy;  // null: the library reads the operand as it lies
    Ref<Storage> reserved = {};
  };

  void copy_operands(std::vector<Tensor>& copies);
  exec::OpCall call_of(const std::vector<uint64_t>& values);

  Gpu& gpu_;
  std::unique_ptr<exec::OpKernel> library_;
  std::vector<Operand> operands_;
  std::vector<std::optional<uint32_t>> results_;     // buffers; none: nothing reads the result
  std::vector<const std::byte*> operand_addresses_;  // of the current call
  std::vector<std::byte*> result_addresses_;
  uint32_t order_, node_;  // of the node, for reports
  Ref<Storage> failed_;    // OpCall::failed; null: the node cannot fail
};

}  // namespace tsl::cuda
