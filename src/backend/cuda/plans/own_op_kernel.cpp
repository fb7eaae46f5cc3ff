#include "backend/cuda/plans/own_op_kernel.h"

#include <algorithm>

#include "backend/cuda/plans/loaded_kernels.h"

namespace tsl::cuda {

OwnOpKernel::OwnOpKernel(Gpu& gpu, std::unique_ptr<OwnOp> op)
    : gpu_(gpu), op_(std::move(op)), launches_(op_->launches()) {
  launches_.erase(
      std::remove_if(launches_.begin(), launches_.end(), [](const OwnLaunch& each) { return each.grid[0] == 0; }),
      launches_.end());
}

std::vector<CudaKernel*> OwnOpKernel::kernels() {
  std::vector<CudaKernel*> kernels;
  for (OwnLaunch& each : launches_) kernels.push_back(&each.kernel);
  return kernels;
}

void OwnOpKernel::set_functions(std::span<const CUfunction> functions) {
  functions_.assign(functions.begin(), functions.end());
  for (size_t i = 0; i < launches_.size(); ++i) reserve_shared(i);
}

void OwnOpKernel::reserve_shared(size_t i) const {
  if (launches_[i].most_shared == 0) return;
  gpu_.device.check(
      gpu_.device.driver().cuFuncSetAttribute(functions_[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                              static_cast<int>(launches_[i].most_shared)),
      "reserving shared memory");
}

Launch OwnOpKernel::launch(size_t i) const {
  const OwnLaunch& of = launches_[i];
  Launch launch;
  launch.function = functions_[i];
  std::copy(of.grid.begin(), of.grid.end(), launch.grid);
  launch.block[0] = static_cast<unsigned>(of.kernel.threads_x);
  launch.shared_bytes = static_cast<unsigned>(of.shared_bytes);
  return launch;
}

void OwnOpKernel::run(const exec::OpCall& call) {
  void* pointer = arguments(call);
  for (size_t i = 0; i < launches_.size(); ++i) gpu_.device.launch_part(launch(i), &pointer, op_->name());
}

std::vector<exec::LoadedKernel> OwnOpKernel::describe() const {
  std::vector<exec::LoadedKernel> out;
  for (size_t i = 0; i < launches_.size(); ++i) {
    const OwnLaunch& each = launches_[i];
    const int64_t blocks = int64_t{each.grid[0]} * each.grid[1] * each.grid[2];
    out.push_back(cuda::describe(gpu_, functions_[i], blocks, each.kernel.threads_x, each.shared_bytes));
  }
  return out;
}

/// Makes the texts again, which are freed once their kernels are loaded.
std::vector<exec::KernelSource> OwnOpKernel::sources(uint32_t launch) const {
  std::vector<exec::KernelSource> out;
  for (const OwnLaunch& each : op_->launches()) out.push_back(source_of(each.kernel, launch, gpu_.options));
  return out;
}

bool OwnOpKernel::replace(const exec::KernelSource& edited) {
  bool is_found = false;
  for (size_t i = 0; i < functions_.size(); ++i) {
    if (gpu_.kernels.name_of(functions_[i]) != edited.name) continue;
    functions_[i] = gpu_.kernels.compile_edited(edited.name, edited.text);
    reserve_shared(i);
    is_found = true;
  }
  return is_found;
}

namespace {

exec::KernelRow kernel_row(Gpu& gpu, const OwnRow& own) {
  const auto make = [&gpu, make_op = own.make](const graph::Node& node) -> std::unique_ptr<exec::OpKernel> {
    std::unique_ptr<OwnOp> op = make_op(node, gpu.facts);
    return op ? std::make_unique<OwnOpKernel>(gpu, std::move(op)) : nullptr;
  };
  return {.name = own.name,
          .ops = own.ops,
          .refusal = [&gpu, refusal = own.refusal](const graph::Node& node) { return refusal(node, gpu.facts); },
          .make = make,
          .refuses_call = own.refuses_call};
}

}  // namespace

std::vector<exec::KernelRow> own_kernel_rows(Gpu& gpu) {
  std::vector<exec::KernelRow> rows;
  for (const auto family : kOwnRows) {
    for (const OwnRow& own : family()) rows.push_back(kernel_row(gpu, own));
  }
  return rows;
}

}  // namespace tsl::cuda
