#include "backend/cuda/kernels/generate.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <unordered_map>

#include "backend/cuda/codegen/contract.h"
#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/multi_tensor.h"
#include "backend/cuda/codegen/reduce_shape.h"
#include "backend/cuda/codegen/reduce_writer.h"
#include "backend/cuda/kernels/op.h"

namespace tsl::cuda {

using graph::Kernel;
using graph::Node;
using graph::Plan;

// ---- One kernel --------------------------------------------------------------------------------------------

namespace {

/// Row positions in generated sorts are 32-bit numbers.
bool can_sort(const Node& node) {
  return node.args[0].layout.shape[static_cast<int>(node.attrs.axis)].hint() <= kMaxSortLength;
}

/// Scatter kernels count target rows and updates in 32 bits.
bool can_scatter(const Node& node) {
  int64_t places = 1;
  for (int i = 0; i <= static_cast<int>(node.attrs.batch); ++i) places *= node.shape[i].hint();
  return places < INT32_MAX && element_count(node.args[1].layout.shape).hint() <= kMaxSortLength;
}

using OpGenerator = GeneratedKernels (*)(const OpNode&);

bool can_always(const Node&) { return true; }
bool can_multiply(const Node& node) { return !is_float(node.dtype); }

/// A generator of an op's own kernels, and for which nodes it serves.
struct OpRow {
  Op op;
  OpGenerator generate;
  bool (*can)(const Node&) = can_always;
};
constexpr OpRow kOpRows[] = {
    {Op::cumsum, generate_scan},
    {Op::cumprod, generate_scan},
    {Op::sort, generate_sort, can_sort},
    {Op::scatter, generate_scatter, can_scatter},
    {Op::scatter_add, generate_scatter, can_scatter},
    {Op::nonzero, generate_nonzero},
    {Op::fold_windows, generate_fold_windows},
    {Op::conv, generate_convolution},
    {Op::conv_input_grad, generate_convolution},
    {Op::conv_weight_grad, generate_convolution},
    {Op::matmul, generate_integer_product, can_multiply},
};

/// Returns the generator for an op with a kernel of its own; null if there is none.
OpGenerator generator_of(const Node& node) {
  const auto* const row =
      std::find_if(std::begin(kOpRows), std::end(kOpRows), [&](const OpRow& r) { return r.op == node.op; });
  return row != std::end(kOpRows) && row->can(node) ? row->generate : nullptr;
}

/// Generates a reduction that reads every element once (logsumexp over columns: twice), in one launch. Its result is in
/// the reduction order of templates.cuh, whatever the form.
GeneratedKernels generate_reduce(const Kernel& kernel, const Plan& plan, bool vectorized,
                                 const LaunchParameters& parameters) {
  const ReduceShape shape = shape_of(kernel);
  const bool is_one_row = shape.rows == 1 && shape.length > 0 && !shape.across;
  if (parameters.is_joined && is_one_row) return generate_blocks(kernel, plan, vectorized, true);
  switch (reduce_form(shape)) {
    case ReduceForm::rows: return generate_rows(kernel, plan, vectorized, parameters);
    case ReduceForm::blocks: return generate_blocks(kernel, plan, vectorized, false);
    case ReduceForm::columns: return generate_columns(kernel, plan, vectorized, parameters);
  }
  return {};
}

GeneratedKernels generate_template(const Kernel& kernel, const Plan& plan, bool vectorized,
                                   const LaunchParameters& parameters) {
  switch (kernel.kind) {
    case graph::Template::pointwise: {
      if (const std::vector<int64_t> tile = permuted_tile(kernel, plan); !tile.empty())
        return generate_permute(kernel, plan, tile, vectorized);
      const int across = crossing_loop(kernel);
      return across >= 0 && count_of(kernel.kept) > 0 ? generate_transpose(kernel, plan, across, vectorized, parameters)
                                                      : generate_pointwise(kernel, plan, vectorized, parameters);
    }
    case graph::Template::row:
    case graph::Template::reduce: {
      const Kernel ordered = in_memory_order(kernel);
      const bool stays =
          kernel.kind == graph::Template::row && !reads_rows_once(kernel);  // not if nothing follows an argmax
      return stays ? generate_rows(ordered, plan, vectorized, parameters)
                   : generate_reduce(ordered, plan, vectorized, parameters);
    }
    case graph::Template::op: return generator_of(plan.graph[kernel.op_node])(OpNode(kernel, plan));
  }
  return {};
}

}  // namespace

bool has_generated_kernels(const Kernel& kernel, const Plan& plan) {
  return kernel.kind != graph::Template::op || generator_of(plan.graph[kernel.op_node]);
}

GeneratedKernels generate(const Kernel& kernel, const Plan& plan, bool vectorized, const LaunchParameters& parameters) {
  if (plan.options.fast_numerics) return generate_template(contract(kernel), plan, vectorized, parameters);
  return generate_template(kernel, plan, vectorized, parameters);
}

// ---- One launch --------------------------------------------------------------------------------------------

namespace {

/// The texts of a CUDA kernel with and without vectorized accesses.
struct Texts {
  const KernelText *vectorized, *narrow;
  bool operator==(const Texts& other) const { return *vectorized == *other.vectorized && *narrow == *other.narrow; }
};
struct TextsHash {
  size_t operator()(const Texts& texts) const { return KernelTextHash()(*texts.vectorized); }
};

/// The CUDA kernels of each kernel of a launch, with scratch memory and counters of their own.
struct Members {
  std::vector<std::vector<CudaKernel>> kernels;
  uint64_t scratch_bytes = 0, arrivals = 0;

  void add(GeneratedKernels generated) {
    for (CudaKernel& cuda_kernel : generated.kernels) {
      for (KernelArg& argument : cuda_kernel.arguments) {
        if (argument.kind == KernelArg::Kind::scratch) argument.scratch += scratch_bytes;
        if (argument.kind == KernelArg::Kind::arrivals) argument.scratch += arrivals;
      }
    }
    scratch_bytes += graph::aligned(generated.scratch_bytes);
    arrivals += generated.arrivals;
    kernels.push_back(std::move(generated.kernels));
  }
};

/// Joins the kernels at one place of all members: those whose sources are equal, both vectorized and scalar, become one
/// CUDA kernel.
void join_place(size_t place, const Members& vectorized, const Members& scalar, bool takes_vectorized,
                std::vector<CudaKernel>& out) {
  std::unordered_map<Texts, size_t, TextsHash> numbers;
  std::vector<std::vector<const CudaKernel*>> groups;
  for (size_t i = 0; i < vectorized.kernels.size(); ++i) {
    if (place >= vectorized.kernels[i].size()) continue;
    const CudaKernel &wide = vectorized.kernels[i][place], &narrow = scalar.kernels[i][place];
    const size_t group = numbers.try_emplace({&wide.text, &narrow.text}, numbers.size()).first->second;
    groups.resize(numbers.size());
    groups[group].push_back(takes_vectorized ? &wide : &narrow);
  }
  for (const std::vector<const CudaKernel*>& group : groups)
    out.push_back(group.size() == 1 ? *group[0] : make_multi_tensor_kernel(group));
}

}  // namespace

bool is_op(const Plan& plan, const std::vector<uint32_t>& launch) {
  return !has_generated_kernels(plan.kernels[launch[0]], plan);
}

GeneratedKernels generate_launch(const Plan& plan, const std::vector<uint32_t>& launch, bool vectorized,
                                 const LaunchParameters& parameters) {
  if (launch.size() == 1) return generate(plan.kernels[launch[0]], plan, vectorized, parameters);
  Members members[2];  // scalar, vectorized
  LaunchParameters joined = parameters;
  joined.is_joined = true;
  for (const bool is_vectorized : {false, true}) {
    for (uint32_t k : launch) members[is_vectorized].add(generate(plan.kernels[k], plan, is_vectorized, joined));
  }
  const Members& taken = members[vectorized];
  size_t places = 0;
  for (const std::vector<CudaKernel>& kernels : taken.kernels) places = std::max(places, kernels.size());
  GeneratedKernels out{{}, taken.scratch_bytes, taken.arrivals};
  for (size_t place = 0; place < places; ++place) join_place(place, members[1], members[0], vectorized, out.kernels);
  return out;
}

}  // namespace tsl::cuda
