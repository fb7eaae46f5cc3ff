#include "graph/cost.h"

#include <algorithm>
#include <cstdlib>

#include "graph/domain.h"
#include "graph/recompute.h"

namespace tsl::graph {

namespace {

// Operations, as those in the op table: measured on the CPU beside an addition of f32 in a cache (AVX-512, November
// 2026).
constexpr double kFunction = 8;       // from here on, those of f64 are no loops over vectors
constexpr double kWideFunction = 24;  // how much longer they take
constexpr double kConversion = 3;     // from and to 16 bits

/// Beyond this stride, in elements, neighbours are in different lines of a cache.
constexpr int64_t kMaxLineStride = 8;

double stored_bytes(const Node& node) {
  return static_cast<double>(count_of(node.shape)) * static_cast<double>(size_of(node.dtype));
}

/// The elements of one producer that a kernel reads from memory.
struct Reads {
  NodeId producer;
  double elements = 0;
  std::vector<const Layout*> layouts;
};

/// Counts the work of fused groups.
class GroupWork {
 public:
  GroupWork(const Graph& graph, const Fusion& fusion)
      : graph_(graph), fusion_(fusion), stored_(stored_nodes(graph, fusion)) {}

  Work of(const Group& group, int number) {
    reads_.clear();
    work_ = {.launches = 1};
    double full = 1, rows = 1;
    for (int i = 0; i < group.loops.rank(); ++i) {
      const auto extent = static_cast<double>(group.loops[i].hint());
      full *= extent;
      if (!group.reduced[i]) rows *= extent;
    }
    for (NodeId id : group.nodes) {
      const Node& node = graph_[id];
      const bool is_reduction = tsl::is_reduction(node.def());
      const Level level = fusion_.level[id];
      const bool is_full = level == Level::full || (level == Level::row && is_reduction);
      const double times = is_full ? full : level == Level::row || is_reduction ? rows : 1;
      const DType from = node.args.empty() || !node.args[0].is_tensor() ? node.dtype : graph_[node.args[0].node].dtype;
      work_.operations += times * operations_of(node.op, from, node.dtype);
      if (is_reduction && level == Level::row && is_float(from)) work_.rows += rows;
      for (const Arg& arg : node.args) {
        if (arg.is_tensor() && fusion_.group_of[arg.node] != number) work_.strided += add_read(arg) ? times : 0;
      }
      if (stored_[id]) work_.bytes += stored_bytes(node);
    }
    for (const Reads& read : reads_) work_.bytes += bytes_of(read);
    return work_;
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
    Access access;
    for (int i = arg.layout.rank(); i-- > 0;) access.add_loop(arg.layout.shape[i].hint(), arg.layout.strides[i].hint());
    reads->elements += access.elements();
    return !arg.layout.is_contiguous();
  }

  /// Returns the bytes that are moved. Slices share lines of the cache, and small tensors stay there.
  double bytes_of(const Reads& reads) const {
    const Node& producer = graph_[reads.producer];
    return std::min(reads.elements * static_cast<double>(size_of(producer.dtype)), stored_bytes(producer));
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const std::vector<bool> stored_;
  Work work_;
  std::vector<Reads> reads_;
};

}  // namespace

Work& Work::operator+=(const Work& other) {
  launches += other.launches;
  bytes += other.bytes;
  operations += other.operations;
  strided += other.strided;
  gathered += other.gathered;
  runs += other.runs;
  rows += other.rows;
  products += other.products;
  return *this;
}

double seconds_of(const Work& work, const Rates& rates) {
  const double speedup = work.bytes <= rates.cached_bytes ? rates.cache_speedup : 1;
  const double operations = work.operations + work.strided * rates.operations_per_strided +
                            work.gathered * rates.operations_per_gathered + work.runs * rates.operations_per_run +
                            work.rows * rates.operations_per_row;
  const double moving = work.bytes / (speedup * rates.bytes_per_second);
  const double computing = operations / rates.operations_per_second + work.products / rates.flops_per_second;
  return work.launches * rates.seconds_per_launch + (rates.overlaps ? std::max(moving, computing) : moving + computing);
}

double operations_of(Op op, DType from, DType to) {
  const double operations = op_def(op).traits.operations.value.value_or(1);
  if (operations == 0) return 0;
  // To read and widen an element takes no longer than to read it widened.
  if (op == Op::cast && is_float(to) && is_float(from) && size_of(from) < size_of(to)) return 0;
  if (is_float(to) && size_of(to) < sizeof(float)) return operations + kConversion;
  if (to == DType::f64 && operations >= kFunction) return kWideFunction * operations;
  return to == DType::f32 ? operations : 2 * operations;
}

void Access::add_loop(int64_t extent, int64_t stride) {
  if (extent == 1) return;
  if (stride != 0) elements_ *= static_cast<double>(extent);
  if (is_empty_) {
    is_empty_ = false;
    stride_ = std::abs(stride);
    end_ = stride * extent;
    return;
  }
  is_open_ = is_open_ && stride == end_;
  if (is_open_) end_ *= extent;
  else runs_ *= static_cast<double>(extent);
}

double Access::elements() const {
  return elements_ * static_cast<double>(std::clamp<int64_t>(stride_, 1, kMaxLineStride));
}

double seconds_of(const Graph& graph, const Fusion& fusion, const Rates& rates) {
  GroupWork work(graph, fusion);
  Work total;  // whole numbers: graphs of equal work take equally long
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    if (!fusion.groups[g].is_op) total += work.of(fusion.groups[g], static_cast<int>(g));
  }
  return seconds_of(total, rates);
}

}  // namespace tsl::graph
