#include "graph/kernel_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "graph/conv_form.h"
#include "graph/passes/passes.h"
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

/// The loops in which an access runs, from the outermost one, with no more iterations than its guard allows.
struct AccessLoops {
  int64_t offset;
  std::vector<DistinctElements::Loop> loops;
};

AccessLoops loops_of(const Kernel& kernel, const Instr& instr) {
  Dims extents;
  Bounds bounds;
  if (instr.kind == Instr::Kind::load) bounds = bounds_of(kernel, instr);
  for_each_loop(kernel, instr, [&](int64_t extent, int64_t) { extents.push_back(extent); });
  AccessLoops out{instr.map.offset.hint(), {}};
  for (const Range& range : box_of(extents, bounds)) {
    const int64_t stride = instr.map.strides[static_cast<int>(out.loops.size())].hint();
    out.loops.push_back({std::max<int64_t>(range.high - range.low, 0), stride});
    out.offset += range.low * stride;
  }
  return out;
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

/// Counts the work of the generated kernels of a launch.
class KernelWork {
 public:
  KernelWork(const Plan& plan, KernelFacts& facts) : plan_(plan), facts_(facts) {}

  void add(const Kernel& kernel) {
    for (const Instr& instr : kernel.program) {
      if (computes(instr)) facts_.flops += times(kernel, instr);
      add_operations(kernel, instr);
      if (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store || instr.kind == Instr::Kind::gather)
        add_access(kernel, instr);
    }
  }

  /// Adds the bytes of all accesses so far: each element of a buffer once, however often it is read.
  void add_bytes() {
    for (const auto& [access, moved] : touched_) {
      const Buffer& buffer = plan_.buffers[access.first];
      const auto count = static_cast<uint64_t>(buffer.count.hint());
      const uint64_t size = size_of(buffer.dtype);
      facts_.bytes += std::min(moved.elements.count() + moved.gathered, count) * size;
      facts_.work.bytes += std::min(moved.in_lines, static_cast<double>(count * size));
    }
  }

 private:
  /// What is moved between a buffer and the kernels.
  struct Moved {
    DistinctElements elements;
    uint64_t gathered = 0;  // elements found by an index; which ones is not known
    double in_lines = 0;    // bytes
  };

  void add_operations(const Kernel& kernel, const Instr& instr) {
    Work& work = facts_.work;
    const auto count = static_cast<double>(times(kernel, instr));
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
      work.rows += static_cast<double>(iterations(kernel, Level::row));
  }

  /// Whether neighbours of the innermost loop are found by indices of their own.
  static bool gathers_elements(const Kernel& kernel, const Instr& gather) {
    bool is_neighbour = false;
    for_each_loop(kernel, gather, [&](int64_t extent, int64_t stride) {
      if (extent > 1) is_neighbour = stride == 1;
    });
    return !is_neighbour;
  }

  void add_access(const Kernel& kernel, const Instr& instr) {
    const uint32_t number = kernel.buffers[instr.buffer];
    const auto size = static_cast<double>(size_of(plan_.buffers[number].dtype));
    Moved& moved = touched_[{number, instr.kind == Instr::Kind::store}];
    const uint64_t count = iterations(kernel, instr.level);
    if (instr.kind == Instr::Kind::gather) {
      moved.gathered += count;
      if (gathers_elements(kernel, instr)) facts_.work.gathered += static_cast<double>(count);
      else moved.in_lines += static_cast<double>(count) * size;
      return;
    }
    AccessLoops reached = loops_of(kernel, instr);
    Access access;
    for (size_t i = reached.loops.size(); i-- > 0;) access.add_loop(reached.loops[i].extent, reached.loops[i].stride);
    moved.in_lines += access.elements() * size;
    if (access.is_strided()) facts_.work.strided += static_cast<double>(count);
    else facts_.work.runs += access.runs() - 1;
    moved.elements.add(reached.offset, std::move(reached.loops));
  }

  const Plan& plan_;
  KernelFacts& facts_;
  std::map<std::pair<uint32_t, bool>, Moved> touched_;  // by buffer and whether it is written
};

/// Returns the operands whose elements a node reads: without the one before it in the program's order.
std::span<const Arg> elements_read(const Node& node) {
  return std::span(node.args).first(node.is_of_program() ? 1 : node.args.size());
}

/// Adds the work of an op with a kernel of its own.
void add_work(const Plan& plan, const Kernel& kernel, KernelFacts& facts) {
  const Node& node = plan.graph[kernel.op_node];
  std::map<NodeId, DistinctElements> read;
  for (const Arg& arg : elements_read(node)) {
    if (arg.is_tensor()) read[arg.node].add(arg.layout);
  }
  for (const auto& [id, operand] : read) facts.bytes += operand.count() * size_of(plan.graph[id].dtype);
  const uint64_t results = elements(node.shape);
  for (const uint32_t b : written_by(kernel))
    facts.bytes += static_cast<uint64_t>(plan.buffers[b].count.hint()) * size_of(plan.buffers[b].dtype);
  switch (node.def().traits.flops) {
    case FlopsOf::nothing: break;
    case FlopsOf::product: {
      const Shape& left = node.args[0].layout.shape;
      facts.flops += 2 * results * static_cast<uint64_t>(left[left.rank() - 1].hint());
      facts.work.products = static_cast<double>(facts.flops);
      break;
    }
    case FlopsOf::convolution:
      facts.flops += 2 * conv_form_of(node).products();
      facts.work.products = static_cast<double>(facts.flops);
      break;
    case FlopsOf::scan:
      facts.flops += results;
      facts.work.operations = static_cast<double>(results) * operations_of(node.op, node.dtype, node.dtype);
  }
  facts.work.bytes = static_cast<double>(facts.bytes);
  facts.is_predictable = node.def().traits.operations.value.has_value();
}

bool is_random(Op op) { return op_def(op).traits.category == Category::random; }

Category category_of(const Plan& plan, const Kernel& kernel) {
  if (kernel.kind == Template::op) return plan.graph[kernel.op_node].def().traits.category;
  const auto has = [&](auto&& accepts) { return std::any_of(kernel.program.begin(), kernel.program.end(), accepts); };
  if (has([](const Instr& i) { return i.kind == Instr::Kind::reduce; })) return Category::reduction;
  if (has([](const Instr& i) { return i.kind == Instr::Kind::generate && is_random(i.op); })) return Category::random;
  if (has([](const Instr& i) { return i.kind == Instr::Kind::gather; })) return Category::indexing;
  return has(computes) ? Category::pointwise : Category::copy;
}

/// Estimates what each op of a kernel costs, in cheap operations: to compute it, and to move what it reads from other
/// kernels and what it stores. Readers of one tensor share its cost.
class OpCosts {
 public:
  OpCosts(const Plan& plan, const Kernel& kernel) : plan_(plan), kernel_(kernel) {
    own_.insert(kernel.nodes.begin(), kernel.nodes.end());
    for (NodeId id : kernel.nodes) {
      for (const Arg& arg : plan.graph[id].args) {
        if (arg.is_tensor() && !is_own(arg.node)) ++others_[arg.node];
      }
    }
    for (const uint32_t b : written_by(kernel)) written_.insert(plan.buffers[b].node);
  }

  double of(NodeId id) const {
    const Node& node = plan_.graph[id];
    if (id == kernel_.op_node) {
      KernelFacts facts;
      add_work(plan_, kernel_, facts);
      return kOperationsPerProduct * facts.work.products + facts.work.operations + moving(facts.work.bytes);
    }
    const bool has_operand = !node.args.empty() && node.args[0].is_tensor();
    const DType from = has_operand ? plan_.graph[node.args[0].node].dtype : node.dtype;
    const Shape& shape = has_operand && is_reduction(node.def()) ? node.args[0].layout.shape : node.shape;
    double bytes = written_.count(id) > 0 ? bytes_of(node) : 0;
    for (const Arg& arg : node.args) {
      if (!arg.is_tensor() || is_own(arg.node)) continue;
      const Node& read = plan_.graph[arg.node];
      const double reached = static_cast<double>(elements(arg.layout.shape) * size_of(read.dtype));
      bytes += std::min(reached, bytes_of(read)) / others_.at(arg.node);
    }
    return static_cast<double>(elements(shape)) * operations_of(node.op, from, node.dtype) + moving(bytes);
  }

 private:
  static constexpr double kOperationsPerProduct = 0.015;  // as the rates of a CPU have it

  bool is_own(NodeId id) const { return own_.count(id) > 0; }
  double moving(double bytes) const { return bytes * plan_.device.operations_per_byte; }
  static double bytes_of(const Node& node) { return static_cast<double>(elements(node.shape) * size_of(node.dtype)); }

  const Plan& plan_;
  const Kernel& kernel_;
  std::set<NodeId> own_, written_;
  std::map<NodeId, int> others_;  // how often each tensor of another kernel is read
};

/// Adds the ops of a kernel, with their costs.
void add_ops(const Plan& plan, const Kernel& kernel, KernelFacts& facts) {
  const OpCosts costs(plan, kernel);
  for (NodeId id : kernel.nodes) {
    const Node& node = plan.graph[id];
    if (!node.is_result()) facts.ops.push_back({name_of(node), node.origin(), costs.of(id)});
  }
}

/// Makes parts of the costs of a launch's ops; equal ones if nothing has a cost.
void divide(std::vector<KernelFacts::SourceOp>& ops) {
  double sum = 0;
  for (const KernelFacts::SourceOp& op : ops) sum += op.part;
  for (KernelFacts::SourceOp& op : ops) op.part = sum > 0 ? op.part / sum : 1 / static_cast<double>(ops.size());
}

/// Returns the composed work that more than half of a launch's cost is for.
ComposedWork main_work(const std::vector<KernelFacts::SourceOp>& ops) {
  std::map<ComposedWork, double> parts;
  for (const KernelFacts::SourceOp& op : ops) parts[op.origin.work] += op.part;
  for (const auto& [work, part] : parts) {
    if (2 * part > 1) return work;
  }
  return ComposedWork::none;
}

/// Whether a kernel reads neither tensors nor numbers of the run. Ops with kernels of their own count as such that do.
bool is_constant(const Kernel& kernel) {
  return kernel.kind != Template::op && std::none_of(kernel.program.begin(), kernel.program.end(), [](const Instr& i) {
           return i.kind == Instr::Kind::load || i.kind == Instr::Kind::gather || i.symbol || i.symbol2;
         });
}

std::string type_of(DType dtype, const Shape& shape) { return fmt::format("{}{}", name_of(dtype), to_string(shape)); }

/// Formats the tensors that a kernel reads from other kernels, and those it writes.
std::string types_of(const Plan& plan, const Kernel& kernel) {
  std::string reads, writes;
  const auto add = [](std::string& to, const std::string& type) { to += (to.empty() ? "" : ", ") + type; };
  const std::set<NodeId> own(kernel.nodes.begin(), kernel.nodes.end());
  std::set<NodeId> seen;
  const auto read = [&](const Node& node) {
    for (const Arg& arg : elements_read(node)) {
      if (!arg.is_tensor() || own.count(arg.node) > 0 || !seen.insert(arg.node).second) continue;
      add(reads, type_of(plan.graph[arg.node].dtype, plan.graph[arg.node].shape));
    }
  };
  for (NodeId id : kernel.nodes) read(plan.graph[id]);
  for (const uint32_t b : written_by(kernel)) {
    const NodeId node = plan.buffers[b].node;
    if (node != kNoNode) add(writes, type_of(plan.graph[node].dtype, plan.graph[node].shape));
  }
  return reads.empty() ? writes : reads + " -> " + writes;
}

}  // namespace

Category category_of(ComposedWork work, Category otherwise) {
  switch (work) {
    case ComposedWork::none: return otherwise;
    case ComposedWork::convolution: return Category::convolution;
    case ComposedWork::attention: return Category::attention;
    case ComposedWork::optimizer: return Category::optimizer;
    case ComposedWork::reduction: return Category::reduction;
  }
  return otherwise;
}

KernelFacts facts_of(const Plan& plan, std::span<const uint32_t> kernels) {
  KernelFacts facts;
  const Kernel& first = plan.kernels[kernels[0]];
  facts.name = first.name;
  facts.kernels = static_cast<uint32_t>(kernels.size());
  facts.types = types_of(plan, first);
  facts.work.launches = 1;
  facts.is_constant = true;
  if (kernels.size() > 1) facts.types += fmt::format(" and {} more", kernels.size() - 1);
  KernelWork work(plan, facts);
  for (uint32_t k : kernels) {
    const Kernel& kernel = plan.kernels[k];
    facts.is_constant &= is_constant(kernel);
    if (kernel.kind == Template::op) add_work(plan, kernel, facts);
    else work.add(kernel);
    add_ops(plan, kernel, facts);
  }
  work.add_bytes();
  divide(facts.ops);
  facts.own_category = category_of(plan, first);
  facts.category = category_of(main_work(facts.ops), facts.own_category);
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
