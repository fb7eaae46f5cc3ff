#include "backend/cuda/kernels/op.h"

#include <algorithm>

namespace tsl::cuda {

using graph::Kernel;
using graph::Node;

namespace {

/// Returns the largest distance, in either direction, from an operand's first element to any other.
int64_t reach(const Layout& layout) {
  int64_t sum = 0;
  for (int i = 0; i < layout.rank(); ++i) {
    sum += std::abs(layout.strides[i].hint()) * std::max<int64_t>(layout.shape[i].hint() - 1, 0);
  }
  return sum;
}

Loops loops_over(const Layout& layout, const std::vector<int>& axes) {
  Loops loops;
  for (int axis : axes) {
    const int64_t extent = layout.shape[axis].hint(), stride = layout.strides[axis].hint();
    if (extent == 1) continue;
    if (!loops.extents.empty() && loops.strides.back() == stride * extent) {
      loops.extents.back() *= extent;
      loops.strides.back() = stride;
    } else {
      loops.extents.push_back(extent);
      loops.strides.push_back(stride);
    }
  }
  return loops;
}

}  // namespace

Loops loops_of(const Layout& layout, int first, int last) {
  std::vector<int> axes;
  for (int i = first; i < last; ++i) axes.push_back(i);
  return loops_over(layout, axes);
}

Loops loops_without(const Layout& layout, int axis) {
  std::vector<int> axes;
  for (int i = 0; i < layout.rank(); ++i) {
    if (i != axis) axes.push_back(i);
  }
  return loops_over(layout, axes);
}

OpNode::OpNode(const Kernel& kernel, const graph::Plan& plan)
    : kernel(kernel), plan(plan), node(plan.graph[kernel.op_node]) {
  farthest_index_ = element_count(node.shape).hint();
  for (const graph::Arg& arg : node.args) {
    if (arg.is_tensor())
      farthest_index_ = std::max({farthest_index_, reach(arg.layout), element_count(arg.layout.shape).hint()});
  }
}

uint32_t OpNode::buffer(size_t arg) const {
  uint32_t position = 0;
  for (size_t i = 0; i < arg; ++i) position += node.args[i].is_tensor();
  return position;
}

KernelWriter OpNode::writer(std::string_view templates, int64_t count) const {
  // Leaves a margin below the limit: indices are rounded up to whole tiles.
  constexpr int64_t kMaxFarthestIndex = INT32_MAX - (1 << 20);
  return KernelWriter(kernel, plan, std::max(farthest_index_, count) <= kMaxFarthestIndex, templates);
}

void write_index_function(KernelWriter& writer, const char* name, const Loops& loops, Dim offset) {
  writer.open("const auto {} = [&](Index i) -> long long", name);
  graph::IndexMap map;
  for (int64_t stride : loops.strides) map.strides.push_back(stride);
  map.offset = offset;
  Position at;
  at.index = writer.coordinates("i", loops.extents, "k");
  writer.line("return {};", writer.index_expr(map, at));
  writer.close(";");
}

}  // namespace tsl::cuda
