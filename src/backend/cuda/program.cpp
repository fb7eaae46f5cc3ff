#include "backend/cuda/program.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#include "backend/cuda/codegen/op.h"

namespace tsl::cuda {

using graph::Plan;

namespace {

/// Which stages share a table: those whose sources are equal with and without wide accesses.
std::vector<size_t> find_groups(const std::vector<Stage>& wide, const std::vector<Stage>& narrow) {
  std::unordered_map<std::string, size_t> numbers;
  std::vector<size_t> group;
  for (size_t i = 0; i < wide.size(); ++i) {
    const KernelText &a = wide[i].text, &b = narrow[i].text;
    group.push_back(numbers.try_emplace(a.before + a.after + b.before + b.after, numbers.size()).first->second);
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
  for (const std::vector<const Stage*>& members : groups) out.push_back(members.size() == 1 ? *members[0] : make_table(members));
  return out;
}

}  // namespace

bool is_op(const Plan& plan, const std::vector<uint32_t>& launch) {
  const graph::Kernel& kernel = plan.kernels[launch[0]];
  return kernel.kind == graph::Template::op && !has_generated_kernels(kernel, plan);
}

LaunchStages stages_of(const Plan& plan, const std::vector<uint32_t>& launch, bool wide) {
  LaunchStages out;
  const auto add = [&](KernelProgram program) {
    out.scratch_bytes = std::max(out.scratch_bytes, program.scratch_bytes);
    out.arrivals = std::max(out.arrivals, program.arrivals);
    std::move(program.stages.begin(), program.stages.end(), std::back_inserter(out.stages));
  };
  if (plan.kernels[launch[0]].kind == graph::Template::op) {
    add(generate_op(plan.kernels[launch[0]], plan));
    return out;
  }
  for (uint32_t k : launch) add(generate(plan.kernels[k], plan, wide));  // several: pointwise ones, which need no memory
  if (launch.size() == 1) return out;
  std::vector<Stage> others;
  for (uint32_t k : launch) {
    KernelProgram program = generate(plan.kernels[k], plan, !wide);
    std::move(program.stages.begin(), program.stages.end(), std::back_inserter(others));
  }
  out.stages = tabled(out.stages, wide ? find_groups(out.stages, others) : find_groups(others, out.stages));
  return out;
}

}  // namespace tsl::cuda
