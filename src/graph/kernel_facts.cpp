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

/// Counts the elements that an access touches: loops that stay at an element do not count, nor what a guard excludes.
uint64_t elements(const Kernel& kernel, const Instr& instr) {
  Dims extents;
  Bounds bounds;
  if (instr.kind == Instr::Kind::load) bounds = bounds_of(kernel, instr);
  for_each_loop(kernel, instr, [&](int64_t extent, int64_t) { extents.push_back(extent); });
  uint64_t count = 1;
  int loop = 0;
  for (const Range& range : box_of(extents, bounds)) {
    if (instr.map.strides[loop++].hint() == 0 && range.high > range.low) continue;
    count *= static_cast<uint64_t>(std::max<int64_t>(range.high - range.low, 0));
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

/// Adds the work of a generated kernel. Several reads of one buffer count as the largest.
void add_work(const Plan& plan, const Kernel& kernel, KernelFacts& facts) {
  std::map<std::pair<uint32_t, bool>, uint64_t> touched;  // by buffer and whether it is written
  for (const Instr& instr : kernel.program) {
    if (computes(instr)) {
      const Level level = instr.kind != Instr::Kind::reduce ? instr.level
                          : instr.level == Level::total     ? Level::row
                                                            : Level::full;
      facts.flops += iterations(kernel, level);
    }
    const bool is_store = instr.kind == Instr::Kind::store;
    if (!is_store && instr.kind != Instr::Kind::load && instr.kind != Instr::Kind::gather) continue;
    const Buffer& buffer = plan.buffers[kernel.buffers[instr.buffer]];
    const uint64_t count =
        instr.kind == Instr::Kind::gather ? iterations(kernel, instr.level) : elements(kernel, instr);
    uint64_t& bytes = touched[{kernel.buffers[instr.buffer], is_store}];
    bytes = std::max(bytes, count * size_of(buffer.dtype));
  }
  for (const auto& [access, bytes] : touched) facts.bytes += bytes;
}

/// Adds the work of an op with a kernel of its own.
void add_work(const Plan& plan, const Node& node, KernelFacts& facts) {
  for (const Arg& arg : node.args) {
    if (arg.is_tensor()) facts.bytes += elements(arg.layout) * size_of(plan.graph[arg.node].dtype);
  }
  const uint64_t results = elements(node.shape);
  facts.bytes += results * size_of(node.dtype);
  if (node.op == Op::matmul) {
    const Shape& left = node.args[0].layout.shape;
    facts.flops += 2 * results * static_cast<uint64_t>(left[left.rank() - 1].hint());
  } else if (node.def().op_class == OpClass::scan) {
    facts.flops += results;
  }
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
  if (kernels.size() > 1) facts.types += fmt::format(" and {} more", kernels.size() - 1);
  for (uint32_t k : kernels) {
    const Kernel& kernel = plan.kernels[k];
    if (kernel.kind == Template::op) add_work(plan, plan.graph[kernel.op_node], facts);
    else add_work(plan, kernel, facts);
    for (NodeId id : kernel.nodes) {
      const Node& node = plan.graph[id];
      facts.ops.push_back({name_of(node), Origin(node.span, node.is_backward)});
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
