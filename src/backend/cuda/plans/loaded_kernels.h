// The kernels of a launch, loaded, and their arguments that may change from run to run.
#pragma once

#include <vector>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/kernels/generate.h"

namespace tsl::cuda {

/// The arguments of a CUDA kernel that may change between runs. A multi-tensor kernel has thousands of arguments, but
/// most are addresses or constants, and its entries share host numbers.
struct DynamicArgs {
  struct Address {
    uint32_t word, buffer;
  };
  struct Number {
    KernelArg argument;           // not of Kind::buffer
    std::vector<uint32_t> words;  // words that hold its value
  };
  explicit DynamicArgs(const CudaKernel& cuda_kernel);
  std::vector<Address> addresses;
  std::vector<Number> numbers;
};

/// CUDA kernels with their functions.
struct LoadedKernels {
  std::vector<CudaKernel> kernels;
  std::vector<CUfunction> functions;
  std::vector<DynamicArgs> dynamic_args;
  Ref<Storage> arrivals;             // the arrival counters; null: there are none
  std::vector<Ref<Storage>> tables;  // argument tables in device memory; null for a kernel without one

  LoadedKernels() = default;
  LoadedKernels(GeneratedKernels of, Gpu& gpu);
  /// Replaces a kernel by the one of that name in a program, which takes the same arguments. Returns false if there is
  /// no such kernel here. Throws Failure (value) if the program does not compile.
  bool replace(const exec::KernelSource& program, Gpu& gpu);

 private:
  static void bind_addresses(CudaKernel& cuda_kernel, KernelArg::Kind kind, const Storage& memory, size_t unit);
};

/// Describes a launch of a kernel, and what it takes of the device. `dynamic_shared`: bytes of a block.
exec::LoadedKernel describe(const Gpu& gpu, CUfunction function, int64_t blocks, int threads,
                            uint64_t dynamic_shared = 0);

/// Returns the code of a kernel, with the prelude and the macros that it needs to compile alone.
exec::KernelSource source_of(const CudaKernel& cuda_kernel, uint32_t launch, const exec::BackendOptions& options);

}  // namespace tsl::cuda
