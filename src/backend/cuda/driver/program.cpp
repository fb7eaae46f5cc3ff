#include "backend/cuda/driver/program.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>

#include "backend/cuda/codegen/op.h"

namespace tsl::cuda {

using graph::Plan;

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
  const graph::Kernel& kernel = plan.kernels[launch[0]];
  return kernel.kind == graph::Template::op && !has_generated_kernels(kernel, plan);
}

LaunchStages stages_of(const Plan& plan, const std::vector<uint32_t>& launch, bool wide) {
  const graph::Kernel& first = plan.kernels[launch[0]];
  KernelProgram program = first.kind == graph::Template::op ? generate_op(first, plan) : generate(first, plan, wide);
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
