#include "backend/cuda/plans/loaded_kernels.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/cuda/source/prelude.h"

namespace tsl::cuda {

DynamicArgs::DynamicArgs(const CudaKernel& cuda_kernel) {
  addresses.reserve(cuda_kernel.arguments.size());
  constexpr size_t kRecent = 16;  // equal numbers are searched among the last entries only
  for (uint32_t word = 0; word < cuda_kernel.arguments.size(); ++word) {
    const KernelArg& argument = cuda_kernel.arguments[word];
    if (argument.kind == KernelArg::Kind::buffer) addresses.push_back({word, argument.buffer});
    const bool is_of_run = argument.kind == KernelArg::Kind::scratch || argument.kind == KernelArg::Kind::error;
    if (!argument.symbol && !is_of_run) continue;
    const auto recent = numbers.end() - static_cast<ptrdiff_t>(std::min(numbers.size(), kRecent));
    const auto at = std::find_if(recent, numbers.end(), [&](const Number& n) { return n.argument == argument; });
    if (at != numbers.end()) at->words.push_back(word);
    else numbers.push_back({argument, {word}});
  }
}

LoadedKernels::LoadedKernels(GeneratedKernels of, Gpu& gpu)
    : kernels(std::move(of.kernels)), dynamic_args(kernels.begin(), kernels.end()), tables(kernels.size()) {
  if (of.arrivals > 0) {
    arrivals = gpu.allocator.allocate(of.arrivals * sizeof(uint32_t));
    gpu.device.fill(address_of(arrivals->data()), 0, of.arrivals * sizeof(uint32_t));
    for (CudaKernel& cuda_kernel : kernels)
      bind_addresses(cuda_kernel, KernelArg::Kind::arrivals, *arrivals, sizeof(uint32_t));
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i].arg_table_in_memory) continue;
    tables[i] = gpu.allocator.allocate(kernels[i].arg_table_words * sizeof(uint64_t));
    bind_addresses(kernels[i], KernelArg::Kind::arg_table, *tables[i], sizeof(uint64_t));
  }
}

bool LoadedKernels::replace(const exec::KernelSource& program, Gpu& gpu) {
  bool is_found = false;
  for (CUfunction& function : functions) {
    if (gpu.kernels.name_of(function) != program.name) continue;
    function = gpu.kernels.compile_edited(program.name, program.text);
    is_found = true;
  }
  return is_found;
}

exec::LoadedKernel describe(const Gpu& gpu, CUfunction function, int64_t blocks, int threads, uint64_t dynamic_shared) {
  const KernelCache::Resources resources = gpu.kernels.resources(function);
  exec::LoadedKernel kernel;
  kernel.name = gpu.kernels.name_of(function);
  kernel.blocks = blocks;
  kernel.threads = threads;
  kernel.registers = resources.registers;
  kernel.spilled = resources.local_bytes;
  kernel.shared = resources.shared_bytes + static_cast<int64_t>(dynamic_shared);
  kernel.occupancy = gpu.kernels.occupancy(function, threads, dynamic_shared);
  return kernel;
}

exec::KernelSource source_of(const CudaKernel& cuda_kernel, uint32_t launch, const exec::BackendOptions& options) {
  constexpr std::string_view kDefine = "--define-macro=";
  exec::KernelSource out{cuda_kernel.name(), launch, cuda_kernel.source()};
  for (const std::string& option : kernel_options(options)) {
    if (option.starts_with(kDefine)) out.prelude += fmt::format("#define {}\n", option.substr(kDefine.size()));
  }
  const std::string_view text = out.text;
  out.prelude += prelude_for({&text, 1});
  return out;
}

/// Replaces arguments that are offsets in `memory` by addresses.
void LoadedKernels::bind_addresses(CudaKernel& cuda_kernel, KernelArg::Kind kind, const Storage& memory, size_t unit) {
  for (KernelArg& argument : cuda_kernel.arguments) {
    if (argument.kind != kind) continue;
    argument.kind = KernelArg::Kind::integer;
    argument.value = static_cast<int64_t>(address_of(memory.data()) + argument.scratch * unit);
  }
}

}  // namespace tsl::cuda
