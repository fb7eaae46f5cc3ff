// The rules of the kernel IR.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "graph/dump.h"
#include "graph/fuse.h"
#include "graph/spec_rules.h"

namespace tsl::graph {

namespace {

using namespace spec;
using Kind = Instr::Kind;

struct KernelSubject {
  const Plan& plan;
  const Kernel& kernel;

  bool is_op() const { return kernel.kind == Template::op; }
  /// Returns the number of buffers that it only reads; they come first.
  size_t read_count() const { return kernel.buffers.size() - kernel.written; }
  std::string dump() const { return "kernel " + graph::dump(kernel); }
};

struct InstrSubject : KernelSubject {
  uint32_t index;
  const Instr& instr;

  bool is(Kind kind) const { return instr.kind == kind; }
  bool has_buffer() const { return is(Kind::load) || is(Kind::gather) || is(Kind::store); }
  bool has_map() const { return has_buffer() || is(Kind::generate) || is(Kind::part); }
  bool has_op() const { return is(Kind::map) || is(Kind::reduce) || is(Kind::gather) || is(Kind::generate); }
  const Buffer& buffer() const { return plan.buffers[kernel.buffers[instr.buffer]]; }
  std::string dump() const { return fmt::format("instruction {} of {}", index, KernelSubject::dump()); }
};

using KernelRule = Rule<KernelSubject>;
using InstrRule = Rule<InstrSubject>;

template <class Holds> bool all_instructions(const KernelSubject& s, Holds&& holds) {
  return std::all_of(s.kernel.program.begin(), s.kernel.program.end(), holds);
}

bool has_nodes_in_order(const KernelSubject& s) {
  const std::vector<NodeId>& nodes = s.kernel.nodes;
  const bool ascend = std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>()) == nodes.end();
  return ascend && !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
           return id < s.plan.graph.size() && !s.plan.graph[id].is_input;
         });
}

bool writes_no_input(const KernelSubject& s) {
  return std::none_of(s.kernel.buffers.begin() + static_cast<ptrdiff_t>(s.read_count()), s.kernel.buffers.end(),
                      [&](uint32_t b) { return s.plan.buffers[b].kind == Buffer::Kind::input; });
}

bool lists_buffers_once(const KernelSubject& s) {
  std::vector<uint32_t> buffers = s.kernel.buffers;
  std::sort(buffers.begin(), buffers.end());
  return s.is_op() || std::adjacent_find(buffers.begin(), buffers.end()) == buffers.end();
}

bool writes_nothing_it_reads(const KernelSubject& s) {
  const auto written = s.kernel.buffers.begin() + static_cast<ptrdiff_t>(s.read_count());
  return std::none_of(s.kernel.buffers.begin(), written, [&](uint32_t b) {
    return std::find(written, s.kernel.buffers.end(), b) != s.kernel.buffers.end();
  });
}

bool stores_each_output_once(const KernelSubject& s) {
  if (s.is_op()) return true;
  std::vector<int> stores(s.kernel.buffers.size(), 0);
  for (const Instr& instr : s.kernel.program) {
    if (instr.kind == Kind::store && instr.buffer < stores.size()) ++stores[instr.buffer];
  }
  const auto written = stores.begin() + static_cast<ptrdiff_t>(s.read_count());
  return std::all_of(stores.begin(), written, [](int count) { return count == 0; }) &&
         std::all_of(written, stores.end(), [](int count) { return count == 1; });
}

/// Whether an op kernel reads the buffers of its node's operands, in order, and writes the node's.
bool has_buffers_of_its_op(const KernelSubject& s) {
  if (!s.is_op()) return true;
  size_t i = 0;
  for (const Arg& arg : s.plan.graph[s.kernel.op_node].args) {
    if (!arg.is_tensor()) continue;
    if (i >= s.read_count() || s.plan.buffers[s.kernel.buffers[i++]].node != arg.node) return false;
  }
  if (i != s.read_count() || s.kernel.results.size() != s.kernel.written) return false;
  const bool has_results = s.plan.graph[s.kernel.op_node].has_results();
  if (!has_results) return s.kernel.written == 1 && s.plan.buffers[s.kernel.buffers[i]].node == s.kernel.op_node;
  for (const uint8_t result : s.kernel.results) {
    const Node& node = s.plan.graph[s.plan.buffers[s.kernel.buffers[i++]].node];
    if (!node.is_result() || node.args[0].node != s.kernel.op_node || node.result != result) return false;
  }
  return true;
}

/// Whether an op kernel computes its op's node, and besides it nothing but results of that node.
bool runs_one_op(const KernelSubject& s) {
  const Graph& graph = s.plan.graph;
  if (s.kernel.nodes[0] != s.kernel.op_node || fuses(graph[s.kernel.op_node].def())) return false;
  return std::all_of(s.kernel.nodes.begin() + 1, s.kernel.nodes.end(),
                     [&](NodeId id) { return graph[id].is_result() && graph[id].args[0].node == s.kernel.op_node; });
}

constexpr KernelRule kKernelRules[] = {
    {"A kernel computes nodes of the graph, in order and each once, and no inputs.", has_nodes_in_order},
    {"A kernel's buffers are the plan's.",
     [](const KernelSubject& s) {
       return std::all_of(s.kernel.buffers.begin(), s.kernel.buffers.end(),
                          [&](uint32_t b) { return b < s.plan.buffers.size(); });
     }},
    {"A kernel writes no more buffers than it has.",
     [](const KernelSubject& s) { return s.kernel.written <= s.kernel.buffers.size(); }},
    {"No kernel writes an input.", writes_no_input},
    {"A kernel reads no buffer that it writes.", writes_nothing_it_reads},
    {"A fused kernel lists each buffer once.", lists_buffers_once},
    {"Loops have extents that are numbers, and none of 1.",
     [](const KernelSubject& s) {
       const auto is_loop = [](Dim d) { return !d.symbol() && d.hint() >= 0 && d.hint() != 1; };
       return std::all_of(s.kernel.kept.begin(), s.kernel.kept.end(), is_loop) &&
              std::all_of(s.kernel.reduced.begin(), s.kernel.reduced.end(), is_loop);
     }},
    {"An op kernel runs one node, which is never fused, and the node's results.",
     [](const KernelSubject& s) { return !s.is_op() || runs_one_op(s); }},
    {"An op kernel has no loops and no program.",
     [](const KernelSubject& s) {
       return !s.is_op() || (s.kernel.program.empty() && s.kernel.kept.rank() + s.kernel.reduced.rank() == 0);
     }},
    {"An op kernel reads its node's operands in order and writes its node, or the results that are read.",
     has_buffers_of_its_op},
    {"A pointwise kernel has no reduced loops.",
     [](const KernelSubject& s) { return s.kernel.kind != Template::pointwise || s.kernel.reduced.rank() == 0; }},
    {"A row or reduce kernel reduces, a pointwise kernel does not.",
     [](const KernelSubject& s) {
       const bool reduces = !all_instructions(s, [](const Instr& instr) { return instr.kind != Kind::reduce; });
       return s.is_op() || reduces == (s.kernel.kind != Template::pointwise);
     }},
    {"A kernel stores each buffer that it writes once, and no other.", stores_each_output_once},
};

/// Whether `holds` is true for every register that the instruction reads.
template <class Holds> bool all_operands(const InstrSubject& s, Holds&& holds) {
  const Operands operands = operands_of(s.instr);
  for (int i = 0; i < operands.count; ++i) {
    if (!holds(operands.registers[i], i)) return false;
  }
  return true;
}

FusesAs fusion_of(const Instr& instr) { return op_def(instr.op).traits.fuses_as; }

bool fuses_as_its_kind(const InstrSubject& s) {
  switch (s.instr.kind) {
    case Kind::map: return fusion_of(s.instr) == FusesAs::elementwise;
    case Kind::reduce: return fusion_of(s.instr) == FusesAs::reduction;
    case Kind::gather: return fusion_of(s.instr) == FusesAs::take;
    case Kind::generate: return fusion_of(s.instr) == FusesAs::source;
    case Kind::load:
    case Kind::scalar:
    case Kind::part:
    case Kind::choose:
    case Kind::store: return true;
  }
  return false;
}

bool reads_defined_registers(const InstrSubject& s) {
  return all_operands(s, [&](Reg reg, int) { return reg < s.index && s.kernel.program[reg].kind != Kind::store; });
}

bool reads_registers_of_its_dtype(const InstrSubject& s) {
  return all_operands(s, [&](Reg reg, int i) {
    DType wanted = s.instr.operand_dtype;
    if (s.is(Kind::gather)) wanted = DType::i64;
    if (s.is(Kind::load) || s.is(Kind::part) || (s.is(Kind::choose) && i == 0)) wanted = DType::boolean;
    if (s.is(Kind::map) && i == 0 && op_def(s.instr.op).dtype_rule == DTypeRule::select) wanted = DType::boolean;
    return s.kernel.program[reg].dtype == wanted;
  });
}

/// Whether the result dtype of a map follows from its operands' dtype.
bool has_dtype_of_its_map(const InstrSubject& s) {
  if (!s.is(Kind::map) || s.instr.op == Op::cast) return true;
  const DTypeRule rule = op_def(s.instr.op).dtype_rule;
  const bool asks = rule == DTypeRule::compare || rule == DTypeRule::predicate;
  return s.instr.dtype == (asks ? DType::boolean : s.instr.operand_dtype);
}

bool has_dtype_of_its_reduction(const InstrSubject& s) {
  if (!s.is(Kind::reduce)) return true;
  const Op op = s.instr.op;
  if (op == Op::sum || op == Op::prod) return s.instr.dtype == accumulator_of(s.instr.operand_dtype);
  Attrs attrs;
  attrs.axes = {0};
  const Operand row = Tensor(s.instr.operand_dtype, Layout::contiguous({1}), nullptr);
  return s.instr.dtype == op_def(op).infer({&row, 1}, attrs).dtype;
}

bool reads_its_level(const InstrSubject& s) {
  return all_operands(s, [&](Reg reg, int) {
    const Level from = s.kernel.program[reg].level, to = s.instr.level;
    if (s.is(Kind::reduce)) return from == (to == Level::total ? Level::row : Level::full);
    return from == to || (from == Level::row && to == Level::full);
  });
}

bool keeps_rows_if_it_reads_them(const InstrSubject& s) {
  if (s.kernel.kind == Template::row || s.instr.level != Level::full) return true;
  return all_operands(s, [&](Reg reg, int) { return s.kernel.program[reg].level == Level::full; });
}

bool has_strides_of_its_level(const InstrSubject& s) {
  if (!s.has_map()) return true;
  const Dims& strides = s.instr.map.strides;
  const int moving = s.instr.level == Level::total ? 0 : s.kernel.kept.rank();
  return s.instr.level == Level::full ||
         std::all_of(strides.begin() + moving, strides.end(), [](Dim d) { return d.hint() == 0; });
}

bool stays_in_its_buffer(const InstrSubject& s) {
  if (!s.has_buffer()) return true;
  const std::optional<Reach> reach = reach_of(s.kernel, s.instr);
  if (!reach) return true;
  const Reach memory = memory_of(s.plan.graph[s.buffer().node]);
  if (s.instr.map.offset.symbol()) return reach->last - reach->first <= memory.last - memory.first;
  return memory.holds(*reach, s.instr.map.offset.hint());
}

bool stores_no_element_twice(const InstrSubject& s) {
  if (!s.is(Kind::store)) return true;
  std::vector<std::pair<int64_t, int64_t>> loops;  // stride, extent
  bool runs = true;
  for_each_loop(s.kernel, s.instr, [&](int64_t extent, int64_t stride) {
    runs &= extent > 0;
    loops.emplace_back(std::abs(stride), extent);
  });
  std::sort(loops.begin(), loops.end());
  int64_t inner = 0;  // the elements covered by loops with smaller strides
  for (const auto& [stride, extent] : loops) {
    if (runs && stride <= inner) return false;
    inner += stride * (extent - 1);
  }
  return true;
}

/// Whether the registers that guard loads and parts, or choose, are parts.
bool tests_parts(const InstrSubject& s) {
  if (!s.instr.is_guarded) return !s.is(Kind::choose) || s.kernel.program[s.instr.a].kind == Kind::part;
  return (s.is(Kind::load) || s.is(Kind::part)) && s.kernel.program[s.instr.a].kind == Kind::part;
}

bool names_its_node_if_it_may_fail(const InstrSubject& s) {
  if (!s.has_op() || !may_fail(op_def(s.instr.op), s.instr.dtype)) return true;
  return std::binary_search(s.kernel.nodes.begin(), s.kernel.nodes.end(), s.instr.node);
}

constexpr InstrRule kInstrRules[] = {
    {"An instruction's op has the class that its kind runs.", fuses_as_its_kind},
    {"A register is defined before it is read; a store defines none.", reads_defined_registers},
    {"An instruction's buffer is one of its kernel's.",
     [](const InstrSubject& s) { return !s.has_buffer() || s.instr.buffer < s.kernel.buffers.size(); }},
    {"Guards of loads and parts, and what chooses, are parts.", tests_parts},
    {"A part is a bool, and has a range that starts at offset 0.",
     [](const InstrSubject& s) {
       return !s.is(Kind::part) ||
              (s.instr.dtype == DType::boolean && s.instr.map.offset.same(0) && s.instr.low < s.instr.high);
     }},
    {"A choice has the dtype of what it chooses from.",
     [](const InstrSubject& s) { return !s.is(Kind::choose) || s.instr.dtype == s.instr.operand_dtype; }},
    {"Loads and gathers have the dtype of the buffer that they read.",
     [](const InstrSubject& s) {
       return !(s.is(Kind::load) || s.is(Kind::gather)) || s.buffer().dtype == s.instr.dtype;
     }},
    {"A store has the dtype of the buffer that it writes.",
     [](const InstrSubject& s) { return !s.is(Kind::store) || s.buffer().dtype == s.instr.dtype; }},
    {"Registers have the dtype in which they are read.", reads_registers_of_its_dtype},
    {"A map gives the dtype of its operands; comparisons and predicates give bools.", has_dtype_of_its_map},
    {"any and all reduce bools.",
     [](const InstrSubject& s) {
       const bool is_logic = s.is(Kind::reduce) && (s.instr.op == Op::any || s.instr.op == Op::all);
       return !is_logic || s.instr.operand_dtype == DType::boolean;
     }},
    {"A sum or product gives its accumulator's dtype, another reduction what the op table infers.",
     has_dtype_of_its_reduction},
    {"A pointwise kernel runs for every element, never once a row.",
     [](const InstrSubject& s) { return s.kernel.kind != Template::pointwise || s.instr.level == Level::full; }},
    {"A reduction gives rows of elements, or totals of rows.",
     [](const InstrSubject& s) { return !s.is(Kind::reduce) || s.instr.level != Level::full; }},
    {"An instruction reads its own level; one of every element may read its row's.", reads_its_level},
    {"Elements read their row's results only in row kernels.", keeps_rows_if_it_reads_them},
    {"Only row kernels find positions.",
     [](const InstrSubject& s) {
       const bool is_position = s.is(Kind::reduce) && (s.instr.op == Op::argmax || s.instr.op == Op::argmin);
       return !is_position || s.kernel.kind == Template::row;
     }},
    {"What accesses a buffer or counts elements has a stride for each loop; nothing else has strides.",
     [](const InstrSubject& s) {
       const int loops = s.has_map() ? s.kernel.kept.rank() + s.kernel.reduced.rank() : 0;
       return s.instr.map.strides.rank() == loops;
     }},
    {"Strides are numbers.",
     [](const InstrSubject& s) {
       return are_numbers(s.instr.map.strides) && !s.instr.index_stride.symbol() && !s.instr.index_extent.symbol();
     }},
    {"A row's access has no strides along reduced loops, a total's along none.", has_strides_of_its_level},
    {"An access reaches no element outside its buffer.", stays_in_its_buffer},
    {"A store writes no element twice.", stores_no_element_twice},
    {"The symbols of a kernel belong to a table of symbols.",
     [](const InstrSubject& s) {
       return is_known(s.instr.symbol) && is_known(s.instr.symbol2) && is_known(s.instr.map.offset.symbol());
     }},
    {"An instruction that may fail names a node of its kernel.", names_its_node_if_it_may_fail},
    {"Only code generation contracts a product and a sum.",
     [](const InstrSubject& s) { return s.instr.contraction == Instr::Contraction::none; }},
};

struct BufferSubject {
  const Plan& plan;
  uint32_t id;
  const Buffer& buffer;

  std::string dump() const { return fmt::format("buffer b{} of %{} of\n", id, buffer.node) + graph::dump(plan); }
};

constexpr Rule<BufferSubject> kBufferRules[] = {
    {"A buffer holds a node of the graph.", [](const BufferSubject& s) { return s.buffer.node < s.plan.graph.size(); }},
    {"A buffer has the dtype and the number of elements of its node.",
     [](const BufferSubject& s) {
       const Node& node = s.plan.graph[s.buffer.node];
       return s.buffer.dtype == node.dtype && !s.buffer.count.symbol() && s.buffer.count.hint() == count_of(node.shape);
     }},
    {"A node has one buffer at most.",
     [](const BufferSubject& s) {
       return std::none_of(s.plan.buffers.begin(), s.plan.buffers.begin() + s.id,
                           [&](const Buffer& other) { return other.node == s.buffer.node; });
     }},
    {"The buffers of inputs come first, in order of the inputs.",
     [](const BufferSubject& s) {
       const std::vector<NodeId>& inputs = s.plan.graph.inputs();
       if (s.buffer.kind != Buffer::Kind::input) return s.id >= inputs.size();
       return s.id < inputs.size() && s.buffer.index == s.id && inputs[s.id] == s.buffer.node;
     }},
    {"The buffers of outputs come next, numbered in order.",
     [](const BufferSubject& s) {
       if (s.buffer.kind != Buffer::Kind::output) return true;
       const bool is_first = s.id == s.plan.graph.inputs().size();
       if (is_first) return s.buffer.index == 0;
       const Buffer& before = s.plan.buffers[s.id - 1];
       return before.kind == Buffer::Kind::output && s.buffer.index == before.index + 1;
     }},
};

/// Counts the stored elements of a buffer: an op stores all, and kernels of parts store one part each.
struct WrittenSubject : BufferSubject {
  int64_t stored;
};

constexpr Rule<WrittenSubject> kWrittenRules[] = {
    {"Every buffer but those of inputs is written in full.",
     [](const WrittenSubject& s) { return s.buffer.kind == Buffer::Kind::input || s.stored >= s.buffer.count.hint(); }},
};

struct ComputedSubject {
  const Plan& plan;
  NodeId id;
  bool is_computed;

  std::string dump() const { return graph::dump(plan.graph, id, nullptr) + "\nof\n" + graph::dump(plan); }
};

constexpr Rule<ComputedSubject> kComputedRules[] = {
    {"Every node but inputs is computed by a kernel.",
     [](const ComputedSubject& s) { return s.is_computed || s.plan.graph[s.id].is_input; }},
};

/// Returns the number of elements that kernels store to each buffer.
std::vector<int64_t> stored_elements(const Plan& plan) {
  std::vector<int64_t> stored(plan.buffers.size(), 0);
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.kind == Template::op) {
      for (const uint32_t b : written_by(kernel)) stored[b] += plan.buffers[b].count.hint();
      continue;
    }
    for (const Instr& instr : kernel.program) {
      if (instr.kind != Kind::store) continue;
      int64_t count = 1;
      for_each_loop(kernel, instr, [&](int64_t extent, int64_t) { count *= extent; });
      stored[kernel.buffers[instr.buffer]] += count;
    }
  }
  return stored;
}

}  // namespace

void spec::add_kernel_sentences(std::vector<const char*>& sentences) {
  add_sentences<BufferSubject>(kBufferRules, sentences);
  add_sentences<KernelSubject>(kKernelRules, sentences);
  add_sentences<InstrSubject>(kInstrRules, sentences);
  add_sentences<WrittenSubject>(kWrittenRules, sentences);
  add_sentences<ComputedSubject>(kComputedRules, sentences);
}

void verify_kernels(const Plan& plan, const char* pass) {
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    check<BufferSubject>(kBufferRules, {plan, b, plan.buffers[b]}, pass);
  }
  std::vector<bool> computed(plan.graph.size(), false);
  for (const Kernel& kernel : plan.kernels) {
    check<KernelSubject>(kKernelRules, {plan, kernel}, pass);
    for (uint32_t i = 0; i < kernel.program.size(); ++i) {
      check<InstrSubject>(kInstrRules, {{plan, kernel}, i, kernel.program[i]}, pass);
    }
    for (NodeId id : kernel.nodes) computed[id] = true;
  }
  const std::vector<int64_t> stored = stored_elements(plan);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    check<WrittenSubject>(kWrittenRules, {{plan, b, plan.buffers[b]}, stored[b]}, pass);
  }
  for (NodeId id = 0; id < plan.graph.size(); ++id)
    check<ComputedSubject>(kComputedRules, {plan, id, computed[id]}, pass);
}

}  // namespace tsl::graph
