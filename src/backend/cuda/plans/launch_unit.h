// The parts of a plan that is ready to run: its launches, and the steps that they are divided into.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cuda/plans/graph_launcher.h"
#include "backend/cuda/plans/loaded_kernels.h"
#include "backend/cuda/plans/op_kernel_call.h"
#include "exec/plan_activities.h"
#include "graph/plan_steps.h"

namespace tsl::cuda {

/// One launch of the plan: kernels, or an op kernel and the kernel that reports its failures.
struct LaunchUnit {
  uint32_t launch = 0;
  uint32_t calls = 1;
  std::shared_ptr<OpKernelCall> op_kernel;
  LoadedKernels vectorized, scalar;       // scalar: loaded when first needed
  bool has_offsets = false;               // the run's offsets choose between vectorized and scalar kernels
  std::vector<graph::Move> moves = {};    // of its kernels, if none of them does anything else
  const LoadedKernels* chosen = nullptr;  // for the current run
  const LoadedKernels* set = nullptr;     // the kernels that its calls are bound to
  LaunchParameters parameters = {};
  exec::PlanActivities vectorized_activities = {}, scalar_activities = {};

  /// Returns the op kernel if it is TSL's own, else null.
  OwnOpKernel* own() const { return op_kernel ? op_kernel->own() : nullptr; }

  /// Returns the kernels of the last run; before the first, those that are loaded.
  const LoadedKernels& kernels() const { return chosen ? *chosen : vectorized; }
  exec::PlanActivities& activities() { return &kernels() == &scalar ? scalar_activities : vectorized_activities; }
};

/// A part of the plan that runs after the previous one: kernels and calls of libraries in one launcher, or one op on
/// the host.
struct Step {
  uint32_t op = 0;      // the op's kernel in the plan
  uint32_t launch = 0;  // and its launch
  exec::PlanActivities op_activity;
  bool is_alone = false;  // one op, which cannot be part of a CUDA graph
  std::vector<size_t> units;
  std::unique_ptr<CudaGraphLauncher> launcher;  // null for an op on the host
};

}  // namespace tsl::cuda
