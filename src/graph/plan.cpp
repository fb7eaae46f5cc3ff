#include "graph/plan.h"

#include <algorithm>

namespace tsl::graph {

uint64_t bytes_of(const Buffer& buffer) {
  return aligned(static_cast<uint64_t>(buffer.count.hint()) * size_of(buffer.dtype));
}

std::span<const uint32_t> donors_of(const Plan& plan, uint32_t b) {
  const Buffer& buffer = plan.buffers[plan.buffers[b].alias_of];
  if (buffer.kind != Buffer::Kind::output || buffer.index >= plan.donors.size()) return {};
  return plan.donors[buffer.index];
}

std::optional<uint32_t> position_of_result(const Kernel& kernel, int result) {
  const auto found = std::find(kernel.results.begin(), kernel.results.end(), result);
  if (found == kernel.results.end()) return {};
  return static_cast<uint32_t>(kernel.buffers.size() - kernel.written + (found - kernel.results.begin()));
}

bool may_fail(const Plan& plan, std::span<const uint32_t> kernels) {
  const auto is_fallible = [&](NodeId id) { return plan.graph[id].may_fail(); };
  return plan.may_fail && std::any_of(kernels.begin(), kernels.end(), [&](uint32_t k) {
           const std::vector<NodeId>& nodes = plan.kernels[k].nodes;
           return std::any_of(nodes.begin(), nodes.end(), is_fallible);
         });
}

bool needs_success(const Plan& plan, const Kernel& kernel) {
  if (!plan.may_fail) return false;
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                     [&](uint32_t b) { return !donors_of(plan, b).empty(); });
}

bool may_share_memory(const Plan& plan, uint32_t in, uint32_t out) {
  const Buffer &source = plan.buffers[plan.buffers[in].alias_of], &target = plan.buffers[plan.buffers[out].alias_of];
  if (&source == &target) return true;
  if (source.kind == Buffer::Kind::temporary && target.kind == Buffer::Kind::temporary) {
    return source.offset < target.offset + bytes_of(target) && target.offset < source.offset + bytes_of(source);
  }
  if (source.kind != Buffer::Kind::input) return false;
  const std::span<const uint32_t> donors = donors_of(plan, out);
  return std::find(donors.begin(), donors.end(), source.index) != donors.end();
}

}  // namespace tsl::graph
