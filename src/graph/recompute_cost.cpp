// Estimates what a fused graph costs.
#include <algorithm>
#include <cstdlib>

#include "graph/domain.h"
#include "graph/recompute.h"

namespace tsl::graph {

namespace {

/// Beyond this stride, in elements, neighbours are in different lines of a cache.
constexpr int64_t kMaxLineStride = 8;

/// Returns the cheap operations that an op costs for each element. To read and widen an element takes no longer than to
/// read it widened.
double operations_of(const Graph& graph, const Node& node) {
  if (node.op == Op::copy || node.def().op_class == OpClass::source) return 0;
  if (node.op == Op::cast && is_float(node.dtype) && node.args[0].is_tensor()) {
    const Node& from = graph[node.args[0].node];
    if (is_float(from.dtype) && size_of(from.dtype) < size_of(node.dtype)) return 0;
  }
  double operations = 1;
  if (node.op == Op::div || node.op == Op::sqrt || node.op == Op::rsqrt) operations = 4;
  else if (node.op == Op::mod || node.op == Op::floordiv) operations = 8;
  else if (node.op == Op::pow || node.op == Op::atan2) operations = 40;
  else if (node.def().op_class == OpClass::elementwise && node.def().dtype_rule == DTypeRule::floating) operations = 16;
  return node.dtype == DType::f32 ? operations : 2 * operations;  // wider elements, or conversions
}

double stored_bytes(const Node& node) {
  return static_cast<double>(count_of(node.shape)) * static_cast<double>(size_of(node.dtype));
}

/// The elements of one producer that a kernel reads from memory.
struct Reads {
  NodeId producer;
  double elements = 0;
  std::vector<const Layout*> layouts;
};

class Cost {
 public:
  Cost(const Graph& graph, const Fusion& fusion, const Rates& rates)
      : graph_(graph), fusion_(fusion), rates_(rates), stored_(stored_nodes(graph, fusion)) {}

  double of(const Group& group, int number) {
    reads_.clear();
    double full = 1, rows = 1, bytes = rates_.bytes_per_launch, operations = 0;
    for (int i = 0; i < group.loops.rank(); ++i) {
      const auto extent = static_cast<double>(group.loops[i].hint());
      full *= extent;
      if (!group.reduced[i]) rows *= extent;
    }
    for (NodeId id : group.nodes) {
      const Node& node = graph_[id];
      const bool is_reduction = node.def().op_class == OpClass::reduction;
      const Level level = fusion_.level[id];
      const bool is_full = level == Level::full || (level == Level::row && is_reduction);
      const double times = is_full ? full : level == Level::row || is_reduction ? rows : 1;
      operations += times * operations_of(graph_, node);
      if (is_reduction && level == Level::row && is_float(graph_[node.args[0].node].dtype))
        operations += rows * rates_.operations_per_row;
      for (const Arg& arg : node.args) {
        if (arg.is_tensor() && fusion_.group_of[arg.node] != number) operations += add_read(arg) ? times : 0;
      }
      if (stored_[id]) bytes += stored_bytes(node);
    }
    for (const Reads& read : reads_) bytes += bytes_of(read);
    return bytes + operations / rates_.operations_per_byte;
  }

 private:
  /// Adds an access, and returns whether it copies elements to other positions.
  bool add_read(const Arg& arg) {
    auto reads = std::find_if(reads_.begin(), reads_.end(), [&](const Reads& r) { return r.producer == arg.node; });
    if (reads == reads_.end()) reads = reads_.insert(reads_.end(), Reads{arg.node, 0, {}});
    for (const Layout* known : reads->layouts) {
      if (same(*known, arg.layout)) return false;
    }
    reads->layouts.push_back(&arg.layout);
    double elements = 1;
    int64_t inner = 0;  // the stride of the innermost axis
    for (int i = 0; i < arg.layout.rank(); ++i) {
      if (arg.layout.shape[i].hint() == 1) continue;
      inner = std::abs(arg.layout.strides[i].hint());
      if (inner != 0) elements *= static_cast<double>(arg.layout.shape[i].hint());
    }
    reads->elements += elements * static_cast<double>(std::clamp<int64_t>(inner, 1, kMaxLineStride));
    return !arg.layout.is_contiguous();
  }

  /// Returns the bytes that are moved. Slices share lines of the cache, and small tensors stay there.
  double bytes_of(const Reads& reads) const {
    const Node& producer = graph_[reads.producer];
    return std::min(reads.elements * static_cast<double>(size_of(producer.dtype)), stored_bytes(producer));
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const Rates& rates_;
  const std::vector<bool> stored_;
  std::vector<Reads> reads_;
};

}  // namespace

double cost_of(const Graph& graph, const Fusion& fusion, const Rates& rates) {
  Cost cost(graph, fusion, rates);
  double total = 0;
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    if (!fusion.groups[g].is_op) total += cost.of(fusion.groups[g], static_cast<int>(g));
  }
  return total;
}

}  // namespace tsl::graph
