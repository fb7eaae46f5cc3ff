#include "graph/kernel_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "graph/reach.h"

namespace tsl::graph {

namespace {

/// Counts the iterations of an instruction.
uint64_t iterations(const Kernel& kernel, Level level) {
  uint64_t count = 1;
  if (level == Level::total) return count;
  for (const Dim& extent : kernel.kept) count *= static_cast<uint64_t>(extent.hint());
  if (level == Level::row) return count;
  for (const Dim& extent : kernel.reduced) count *= static_cast<uint64_t>(extent.hint());
  return count;
}

/// Returns the loops in which an access runs, with no more iterations than its guard allows.
std::vector<std::pair<int64_t, int64_t>> loops_of(const Kernel& kernel, const Instr& instr) {
  Dims extents;
  Bounds bounds;
  if (instr.kind == Instr::Kind::load) bounds = bounds_of(kernel, instr);
  for_each_loop(kernel, instr, [&](int64_t extent, int64_t) { extents.push_back(extent); });
  std::vector<std::pair<int64_t, int64_t>> loops;
  for (const Range& range : box_of(extents, bounds)) {
    const int64_t stride = instr.map.strides[static_cast<int>(loops.size())].hint();
    loops.emplace_back(std::max<int64_t>(range.high - range.low, 0), stride);
  }
  return loops;
}

/// Counts the elements that an access touches: loops that stay at an element do not count.
uint64_t elements(const std::vector<std::pair<int64_t, int64_t>>& loops) {
  uint64_t count = 1;
  for (const auto& [extent, stride] : loops) {
    if (stride != 0 || extent == 0) count *= static_cast<uint64_t>(extent);
  }
  return count;
}

uint64_t elements(const Layout& layout) {
  uint64_t count = 1;
  for (int i = 0; i < layout.rank(); ++i) {
    const int64_t extent = layout.shape[i].hint();
    if (layout.strides[i].hint() != 0 || extent == 0) count *= static_cast<uint64_t>(extent);
  }
  return count;
}

uint64_t elements(const Shape& shape) {
  uint64_t count = 1;
  for (const Dim& extent : shape) count *= static_cast<uint64_t>(extent.hint());
  return count;
}

bool computes(const Instr& instr) {
  return instr.kind == Instr::Kind::reduce || instr.kind == Instr::Kind::generate ||
         (instr.kind == Instr::Kind::map && instr.op != Op::copy && instr.op != Op::cast);
}

/// Returns how often an instruction computes.
uint64_t times(const Kernel& kernel, const Instr& instr) {
  if (instr.kind != Instr::Kind::reduce) return iterations(kernel, instr.level);
  return iterations(kernel, instr.level == Level::total ? Level::row : Level::full);
}

/// Counts the work of a generated kernel.
class KernelWork {
 public:
  KernelWork(const Plan& plan, const Kernel& kernel, KernelFacts& facts)
      : plan_(plan), kernel_(kernel), facts_(facts) {}

  void add() {
    for (const Instr& instr : kernel_.program) {
      if (computes(instr)) facts_.flops += times(kernel_, instr);
      add_operations(instr);
      if (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store || instr.kind == Instr::Kind::gather)
        add_access(instr);
    }
    for (const auto& [access, moved] : touched_) {
      facts_.bytes += moved.least;
      facts_.work.bytes += std::min(moved.in_lines, moved.most);
    }
  }

 private:
  /// What is moved between a buffer and the kernel, in bytes.
  struct Moved {
    uint64_t least = 0;  // several reads of one buffer count as the largest
    double in_lines = 0;
    double most = 0;
  };

  void add_operations(const Instr& instr) {
    Work& work = facts_.work;
    const auto count = static_cast<double>(times(kernel_, instr));
    switch (instr.kind) {
      case Instr::Kind::map:
      case Instr::Kind::reduce:
      case Instr::Kind::generate:
        work.operations += count * operations_of(instr.op, instr.operand_dtype, instr.dtype);
        break;
      case Instr::Kind::part:
      case Instr::Kind::choose: work.operations += count; break;
      case Instr::Kind::load:
      case Instr::Kind::gather:
      case Instr::Kind::store:
      case Instr::Kind::scalar: break;
    }
    if (instr.kind == Instr::Kind::reduce && instr.level == Level::row && is_float(instr.dtype))
      work.rows += static_cast<double>(iterations(kernel_, Level::row));
  }

  /// Whether neighbours of the innermost loop are found by indices of their own.
  bool gathers_elements(const Instr& gather) const {
    bool is_neighbour = false;
    for_each_loop(kernel_, gather, [&](int64_t extent, int64_t stride) {
      if (extent > 1) is_neighbour = stride == 1;
    });
    return !is_neighbour;
  }

  void add_access(const Instr& instr) {
    const bool is_gather = instr.kind == Instr::Kind::gather;
    const uint32_t number = kernel_.buffers[instr.buffer];
    const Buffer& buffer = plan_.buffers[number];
    const auto size = static_cast<double>(size_of(buffer.dtype));
    Moved& moved = touched_[{number, instr.kind == Instr::Kind::store}];
    moved.most = static_cast<double>(buffer.count.hint()) * size;
    if (is_gather) {
      const uint64_t count = iterations(kernel_, instr.level);
      moved.least = std::max(moved.least, count * size_of(buffer.dtype));
      if (gathers_elements(instr)) {
        facts_.work.gathered += static_cast<double>(count);
      } else {
        moved.in_lines += static_cast<double>(count) * size;
      }
      return;
    }
    const std::vector<std::pair<int64_t, int64_t>> loops = loops_of(kernel_, instr);
    moved.least = std::max(moved.least, elements(loops) * size_of(buffer.dtype));
    Access access;
    for (size_t i = loops.size(); i-- > 0;) access.add_loop(loops[i].first, loops[i].second);
    moved.in_lines += access.elements() * size;
    if (access.is_strided()) facts_.work.strided += static_cast<double>(iterations(kernel_, instr.level));
    else facts_.work.runs += access.runs() - 1;
  }

  const Plan& plan_;
  const Kernel& kernel_;
  KernelFacts& facts_;
  std::map<std::pair<uint32_t, bool>, Moved> touched_;  // by buffer and whether it is written
};

/// Adds the work of an op with a kernel of its own.
void add_work(const Plan& plan, const Node& node, KernelFacts& facts) {
  for (const Arg& arg : node.args) {
    if (arg.is_tensor()) facts.bytes += elements(arg.layout) * size_of(plan.graph[arg.node].dtype);
  }
  const uint64_t results = elements(node.shape);
  facts.bytes += results * size_of(node.dtype);
  const OpClass op_class = node.def().op_class;
  if (op_class == OpClass::matmul) {
    const Shape& left = node.args[0].layout.shape;
    facts.flops += 2 * results * static_cast<uint64_t>(left[left.rank() - 1].hint());
    facts.work.products = static_cast<double>(facts.flops);
  } else if (op_class == OpClass::scan) {
    facts.flops += results;
    facts.work.operations = static_cast<double>(results) * operations_of(node.op, node.dtype, node.dtype);
  }
  facts.work.bytes = static_cast<double>(facts.bytes);
  facts.is_predictable = op_class != OpClass::sort && op_class != OpClass::scatter && op_class != OpClass::nonzero;
}

Category category_of(const Node& node) {
  switch (node.def().op_class) {
    case OpClass::matmul: return Category::matmul;
    case OpClass::scan: return Category::scan;
    case OpClass::sort: return Category::sort;
    case OpClass::take:
    case OpClass::scatter:
    case OpClass::nonzero: return Category::indexing;
    case OpClass::concat:
    case OpClass::assign:
    case OpClass::transfer:
    case OpClass::view: return Category::copy;
    case OpClass::fold: return Category::row_reduction;
    case OpClass::reduction: return Category::full_reduction;
    case OpClass::elementwise:
    case OpClass::source: return Category::pointwise;
  }
  return Category::pointwise;
}

/// Whether a reduction reads along the axis that is contiguous in memory.
bool reduces_rows(const Kernel& kernel) {
  const int kept = kernel.kept.rank(), last = kept + kernel.reduced.rank() - 1;
  return std::any_of(kernel.program.begin(), kernel.program.end(), [&](const Instr& instr) {
    return instr.kind == Instr::Kind::load && instr.level == Level::full && instr.map.strides[last].hint() == 1;
  });
}

Category category_of(const Plan& plan, const Kernel& kernel) {
  const auto is = [&](auto&& accepts) { return std::any_of(kernel.program.begin(), kernel.program.end(), accepts); };
  switch (kernel.kind) {
    case Template::op: return category_of(plan.graph[kernel.op_node]);
    case Template::row: return Category::row_reduction;
    case Template::reduce:
      if (iterations(kernel, Level::row) == 1) return Category::full_reduction;
      return reduces_rows(kernel) ? Category::row_reduction : Category::column_reduction;
    case Template::pointwise:
      if (is([](const Instr& i) { return i.kind == Instr::Kind::gather; })) return Category::indexing;
      if (!is([](const Instr& i) { return i.kind == Instr::Kind::map && i.op != Op::copy; }) &&
          is([](const Instr& i) { return i.kind == Instr::Kind::load; }))
        return Category::copy;
      return Category::pointwise;
  }
  return Category::pointwise;
}

std::string type_of(DType dtype, const Shape& shape) { return fmt::format("{}{}", name_of(dtype), to_string(shape)); }

/// Formats the tensors that a kernel reads from other kernels, and those it writes.
std::string types_of(const Plan& plan, const Kernel& kernel) {
  std::string reads, writes;
  const auto add = [](std::string& to, const std::string& type) { to += (to.empty() ? "" : ", ") + type; };
  const std::set<NodeId> own(kernel.nodes.begin(), kernel.nodes.end());
  std::set<NodeId> seen;
  const auto read = [&](const Node& node) {
    for (const Arg& arg : node.args) {
      if (!arg.is_tensor() || own.count(arg.node) > 0 || !seen.insert(arg.node).second) continue;
      add(reads, type_of(plan.graph[arg.node].dtype, plan.graph[arg.node].shape));
    }
  };
  for (NodeId id : kernel.nodes) read(plan.graph[id]);
  for (size_t b = kernel.buffers.size() - kernel.written; b < kernel.buffers.size(); ++b) {
    const NodeId node = plan.buffers[kernel.buffers[b]].node;
    if (node != kNoNode) add(writes, type_of(plan.graph[node].dtype, plan.graph[node].shape));
  }
  return reads.empty() ? writes : reads + " -> " + writes;
}

}  // namespace

std::string_view name_of(Category category) {
  switch (category) {
    case Category::pointwise: return "pointwise";
    case Category::row_reduction: return "row reduction";
    case Category::column_reduction: return "column reduction";
    case Category::full_reduction: return "full reduction";
    case Category::multi_tensor: return "multi-tensor";
    case Category::matmul: return "matmul";
    case Category::indexing: return "indexing";
    case Category::scan: return "scan";
    case Category::sort: return "sort";
    case Category::copy: return "copy";
  }
  return "";
}

KernelFacts facts_of(const Plan& plan, std::span<const uint32_t> kernels) {
  KernelFacts facts;
  const Kernel& first = plan.kernels[kernels[0]];
  facts.name = first.name;
  facts.category = kernels.size() > 1 ? Category::multi_tensor : category_of(plan, first);
  facts.types = types_of(plan, first);
  facts.work.launches = 1;
  if (kernels.size() > 1) facts.types += fmt::format(" and {} more", kernels.size() - 1);
  for (uint32_t k : kernels) {
    const Kernel& kernel = plan.kernels[k];
    if (kernel.kind == Template::op) add_work(plan, plan.graph[kernel.op_node], facts);
    else KernelWork(plan, kernel, facts).add();
    for (NodeId id : kernel.nodes) {
      const Node& node = plan.graph[id];
      facts.ops.push_back({name_of(node), node.origin()});
    }
  }
  return facts;
}

std::string unique_name(const Plan& plan, std::span<const uint32_t> kernels) {
  constexpr size_t kMaxName = 48;
  const Kernel& kernel = plan.kernels[kernels[0]];
  uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  const auto add = [&hash](auto value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3ull; };
  add(kernel.kind);
  if (kernel.op_node != kNoNode) add(plan.graph[kernel.op_node].dtype);
  for (const Instr& instr : kernel.program) {
    for (auto part : {uint64_t(instr.kind), uint64_t(instr.op), uint64_t(instr.dtype), uint64_t(instr.level),
                      uint64_t(instr.a), uint64_t(instr.b), uint64_t(instr.c)})
      add(part);
  }
  const std::string many = kernels.size() > 1 ? "multi_" : "";
  return fmt::format("k_{}{}__{:04x}", many, kernel.name.substr(0, kMaxName), (hash ^ hash >> 32) & 0xffff);
}

}  // namespace tsl::graph
