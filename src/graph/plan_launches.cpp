#include "graph/plan_steps.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace tsl::graph {

namespace {

struct SameProgram {
  bool operator()(const Kernel* a, const Kernel* b) const { return same_program(*a, *b); }
};

struct ProgramHash {
  size_t operator()(const Kernel* kernel) const {
    size_t hash = std::hash<std::string_view>()(kernel->name);  // the name lists the ops
    for (const Instr& instr : kernel->program) hash = hash * 31 + std::hash<uint64_t>()(instr.scalar.bits());
    return hash;
  }
};

}  // namespace

bool same_program(const Kernel& a, const Kernel& b) {
  if (a.kind != b.kind || a.written != b.written || a.name != b.name) return false;
  return std::equal(a.program.begin(), a.program.end(), b.program.begin(), b.program.end(),
                    [](const Instr& x, const Instr& y) {
                      return x.kind == y.kind && x.level == y.level && x.op == y.op && x.dtype == y.dtype &&
                             x.operand_dtype == y.operand_dtype && x.is_guarded == y.is_guarded && x.a == y.a &&
                             x.b == y.b && x.c == y.c && x.scalar == y.scalar && x.symbol == y.symbol;
                    });
}

bool is_of_program(const Plan& plan, const Kernel& kernel) {
  return kernel.kind == Template::op && plan.graph[kernel.op_node].is_of_program();
}

namespace {

/// Returns the last kernel of an op of Ordering::program; the number of kernels if there is none.
uint32_t find_last_of_program(const Plan& plan) {
  const auto count = static_cast<uint32_t>(plan.kernels.size());
  for (uint32_t k = count; k-- > 0;) {
    if (is_of_program(plan, plan.kernels[k])) return k;
  }
  return count;
}

}  // namespace

bool writes_part(const Plan& plan, const Kernel& kernel) {
  return kernel.nodes.size() == 1 && plan.graph[kernel.nodes[0]].op == Op::concat;
}

void make_launches(Plan& plan, std::pmr::memory_resource* memory) {
  if (plan.kernels.size() == 1) {
    plan.launches.push_back({0});
    return;
  }
  std::pmr::vector<int64_t> written_in(plan.buffers.size(), -1, memory);  // the last launch that writes each buffer
  const uint32_t last_ordered = find_last_of_program(plan);
  int64_t last_ordered_launch = -1;
  std::pmr::vector<bool> follows_last_ordered(memory);  // per launch
  // The launches of each program, ascending.
  std::pmr::unordered_map<const Kernel*, std::pmr::vector<int64_t>, ProgramHash, SameProgram> running(memory);
  plan.launches.reserve(plan.kernels.size());
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) {
    const Kernel& kernel = plan.kernels[k];
    auto launch = static_cast<int64_t>(plan.launches.size());
    bool follows = false;
    if (kernel.kind != Template::op) {
      int64_t after = -1;  // the last launch that this kernel depends on
      const size_t waiting = kernel.buffers.size() - (writes_part(plan, kernel) ? 1 : 0);  // parts need no order
      for (size_t i = 0; i < waiting; ++i) after = std::max(after, written_in[kernel.buffers[i]]);
      follows = last_ordered_launch >= 0 && after >= last_ordered_launch;
      std::pmr::vector<int64_t>& launches = running[&kernel];
      const auto first = std::find_if(std::upper_bound(launches.begin(), launches.end(), after), launches.end(),
                                      [&](int64_t other) { return follows_last_ordered[other] == follows; });
      if (first != launches.end()) {
        launch = *first;
      } else {
        launches.push_back(launch);
      }
    }
    if (launch == static_cast<int64_t>(plan.launches.size())) {
      plan.launches.emplace_back();
      follows_last_ordered.push_back(follows);
    }
    if (k == last_ordered) last_ordered_launch = launch;
    plan.launches[launch].push_back(k);
    for (uint32_t w = 0; w < kernel.written; ++w) {
      int64_t& last = written_in[kernel.buffers[kernel.buffers.size() - 1 - w]];
      last = std::max(last, launch);
    }
  }
}

}  // namespace tsl::graph
