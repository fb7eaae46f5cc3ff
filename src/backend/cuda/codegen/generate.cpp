#include "backend/cuda/codegen/generate.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <unordered_map>

#include "backend/cuda/codegen/contract.h"
#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/op.h"
#include "backend/cuda/codegen/table.h"

namespace tsl::cuda {

using graph::Kernel;
using graph::Node;
using graph::Plan;

// ---- One kernel --------------------------------------------------------------------------------------------

namespace {

/// Rows are sorted with places of 32 bits.
bool can_sort(const Node& node) { return node.shape[static_cast<int>(node.attrs.axis)].hint() <= kMaxSortLength; }

/// Rows that can be named, and updates, are counted in 32 bits.
bool can_scatter(const Node& node) {
  int64_t places = 1;
  for (int i = 0; i <= static_cast<int>(node.attrs.batch); ++i) places *= node.shape[i].hint();
  return places < INT32_MAX && element_count(node.args[1].layout.shape).hint() <= kMaxSortLength;
}

using OpGenerator = KernelProgram (*)(const OpKernel&);

/// Chooses the generator for an op with a kernel of its own; null if there is none.
OpGenerator generator_of(const Node& node) {
  switch (node.def().op_class) {
    case OpClass::scan: return generate_scan;
    case OpClass::sort: return can_sort(node) ? generate_argsort : nullptr;
    case OpClass::scatter: return can_scatter(node) ? generate_scatter : nullptr;
    case OpClass::nonzero: return generate_nonzero;
    case OpClass::fold: return generate_fold_windows;
    case OpClass::matmul: return is_float(node.dtype) ? nullptr : generate_integer_product;
    case OpClass::elementwise:  // the others are fused or change no memory
    case OpClass::source:
    case OpClass::view:
    case OpClass::reduction:
    case OpClass::take:
    case OpClass::concat:
    case OpClass::assign:
    case OpClass::transfer: return nullptr;
  }
  return nullptr;
}

KernelProgram generate_template(const Kernel& kernel, const Plan& plan, bool wide) {
  switch (kernel.kind) {
    case graph::Template::pointwise: {
      const int across = crossing_loop(kernel);
      return across >= 0 && count_of(kernel.kept) > 0 ? generate_transpose(kernel, plan, across)
                                                      : generate_pointwise(kernel, plan, wide);
    }
    case graph::Template::row: return generate_rows(kernel, plan, wide);
    case graph::Template::reduce: return generate_reduce(kernel, plan, wide);
    case graph::Template::op: return generator_of(plan.graph[kernel.op_node])(OpKernel(kernel, plan));
  }
  return {};
}

}  // namespace

bool has_generated_kernels(const Kernel& kernel, const Plan& plan) {
  return kernel.kind != graph::Template::op || generator_of(plan.graph[kernel.op_node]);
}

KernelProgram generate(const Kernel& kernel, const Plan& plan, bool wide) {
  if (plan.options.fast_numerics) return generate_template(contract(kernel), plan, wide);
  return generate_template(kernel, plan, wide);
}

// ---- One launch --------------------------------------------------------------------------------------------

namespace {

/// The texts of a stage with and without wide accesses.
struct Texts {
  const KernelText *wide, *narrow;
  bool operator==(const Texts& other) const { return *wide == *other.wide && *narrow == *other.narrow; }
};
struct TextsHash {
  size_t operator()(const Texts& texts) const { return KernelTextHash()(*texts.wide); }
};

/// Which stages share a table: those whose sources are equal with and without wide accesses.
std::vector<size_t> find_groups(const std::vector<Stage>& wide, const std::vector<Stage>& narrow) {
  std::unordered_map<Texts, size_t, TextsHash> numbers;
  std::vector<size_t> group;
  for (size_t i = 0; i < wide.size(); ++i) {
    group.push_back(numbers.try_emplace({&wide[i].text, &narrow[i].text}, numbers.size()).first->second);
  }
  return group;
}

std::vector<Stage> tabled(const std::vector<Stage>& stages, const std::vector<size_t>& group) {
  std::vector<Stage> out;
  std::vector<std::vector<const Stage*>> groups;
  for (size_t i = 0; i < stages.size(); ++i) {
    groups.resize(std::max(groups.size(), group[i] + 1));
    groups[group[i]].push_back(&stages[i]);
  }
  for (const std::vector<const Stage*>& members : groups)
    out.push_back(members.size() == 1 ? *members[0] : make_table(members));
  return out;
}

}  // namespace

bool is_op(const Plan& plan, const std::vector<uint32_t>& launch) {
  return !has_generated_kernels(plan.kernels[launch[0]], plan);
}

LaunchStages stages_of(const Plan& plan, const std::vector<uint32_t>& launch, bool wide) {
  const Kernel& first = plan.kernels[launch[0]];
  KernelProgram program = generate(first, plan, wide);
  LaunchStages out{std::move(program.stages), program.scratch_bytes, program.arrivals};
  if (launch.size() == 1) return out;
  // Pointwise ones, which need no memory.
  const auto add = [&](std::vector<Stage>& stages, KernelProgram more) {
    std::move(more.stages.begin(), more.stages.end(), std::back_inserter(stages));
  };
  std::vector<Stage> others = generate(first, plan, !wide).stages;
  for (uint32_t k : std::span(launch).subspan(1)) {
    add(out.stages, generate(plan.kernels[k], plan, wide));
    add(others, generate(plan.kernels[k], plan, !wide));
  }
  out.stages = tabled(out.stages, wide ? find_groups(out.stages, others) : find_groups(others, out.stages));
  return out;
}

}  // namespace tsl::cuda
