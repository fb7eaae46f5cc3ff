#include "graph/plan.h"

#include <algorithm>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "graph/fuse.h"
#include "graph/lower.h"
#include "graph/passes.h"

namespace tsl::graph {

namespace {

// Wide enough for any vector load, and keeps neighbours out of each other's cache lines.
constexpr uint64_t kAlignment = 64;

uint64_t bytes_of(const Buffer& buffer) {
  const uint64_t bytes = static_cast<uint64_t>(buffer.count.hint()) * size_of(buffer.dtype);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Whether two pointwise kernels run the same program, on other buffers and other sizes.
struct SameProgram {
  bool operator()(const Kernel* a, const Kernel* b) const {
    if (a->written != b->written || a->name != b->name) return false;
    return std::equal(
        a->program.begin(), a->program.end(), b->program.begin(), b->program.end(), [](const Instr& x, const Instr& y) {
          return x.kind == y.kind && x.op == y.op && x.dtype == y.dtype && x.operand_dtype == y.operand_dtype &&
                 x.a == y.a && x.b == y.b && x.c == y.c && x.scalar == y.scalar && x.symbol == y.symbol;
        });
  }
};

struct ProgramHash {
  size_t operator()(const Kernel* kernel) const {
    size_t hash = std::hash<std::string_view>()(kernel->name);  // says the ops
    for (const Instr& instr : kernel->program) hash = hash * 31 + std::hash<uint64_t>()(instr.scalar.bits());
    return hash;
  }
};

/// Whether the kernel writes one of the parts that a node's result is made of. They do not overlap, so they come in any
/// order.
bool writes_part(const Plan& plan, const Kernel& kernel) {
  return kernel.nodes.size() == 1 && plan.graph[kernel.nodes[0]].op == Op::concat;
}

/// Gathers kernels that run the same program and do not depend on each other into tables: one launch each. An
/// optimizer's update of two hundred parameters becomes one launch over a table of two hundred, and so do two hundred
/// parts of a concat. Of several launches that could take a kernel the earliest does, so that what reads it finds most
/// to join.
void make_launches(Plan& plan, std::pmr::memory_resource* memory) {
  if (plan.kernels.size() == 1) {
    plan.launches.push_back({0});
    return;
  }
  std::pmr::vector<int64_t> written_in(plan.buffers.size(), -1, memory);  // last launch that writes the buffer
  // A program: its launches, ascending.
  std::pmr::unordered_map<const Kernel*, std::pmr::vector<int64_t>, ProgramHash, SameProgram> running(memory);
  plan.launches.reserve(plan.kernels.size());
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) {
    const Kernel& kernel = plan.kernels[k];
    auto launch = static_cast<int64_t>(plan.launches.size());
    if (kernel.kind == Template::pointwise) {
      int64_t after = -1;  // the launch must come after this one
      const size_t waiting = kernel.buffers.size() - (writes_part(plan, kernel) ? 1 : 0);  // the last is what it writes
      for (size_t i = 0; i < waiting; ++i) after = std::max(after, written_in[kernel.buffers[i]]);
      std::pmr::vector<int64_t>& launches = running[&kernel];
      const auto first = std::upper_bound(launches.begin(), launches.end(), after);
      if (first != launches.end()) {
        launch = *first;
      } else {
        launches.push_back(launch);
      }
    }
    if (launch == static_cast<int64_t>(plan.launches.size())) plan.launches.emplace_back();
    plan.launches[launch].push_back(k);
    for (uint32_t w = 0; w < kernel.written; ++w) {
      int64_t& last = written_in[kernel.buffers[kernel.buffers.size() - 1 - w]];
      last = std::max(last, launch);
    }
  }
}

/// Of each buffer: the kernel that uses it in the launch that writes it first, and in the one that reads it last.
class Users {
 public:
  static constexpr uint32_t kNobody = ~0u, kSeveral = ~0u - 1;  // in place of a kernel

  /// Finds the buffers' lifetimes on the way.
  Users(Plan& plan, std::pmr::memory_resource* memory) : users_(plan.buffers.size(), memory) {
    for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
      for (uint32_t k : plan.launches[launch]) {
        for (uint32_t b : plan.kernels[k].buffers) add(plan.buffers[b], users_[b], launch, k);
      }
    }
  }

  uint32_t first(uint32_t buffer) const { return users_[buffer].first; }
  uint32_t last(uint32_t buffer) const { return users_[buffer].last; }

 private:
  struct OfBuffer {
    uint32_t first = kNobody, last = kNobody;
  };

  static void add(Buffer& buffer, OfBuffer& users, uint32_t launch, uint32_t kernel) {
    const auto joined = [&](uint32_t user) { return user == kernel ? kernel : kSeveral; };
    const bool is_new = users.first == kNobody;
    if (is_new) buffer.first = launch;
    if (buffer.first == launch) users.first = is_new ? kernel : joined(users.first);
    users.last = is_new || buffer.last != launch ? kernel : joined(users.last);
    buffer.last = launch;
  }

  std::pmr::vector<OfBuffer> users_;
};

bool same_map(const IndexMap& a, const IndexMap& b) { return same(a.strides, b.strides) && a.offset.same(b.offset); }

/// Whether the kernel, which writes `out`, reads `in` only where and before it writes, and does not write it.
bool may_overwrite(const Kernel& kernel, uint32_t in, uint32_t out) {
  if (kernel.kind != Template::pointwise && kernel.kind != Template::row) return false;
  const Instr* store = nullptr;
  for (const Instr& instr : kernel.program) {
    if (instr.kind == Instr::Kind::store && kernel.buffers[instr.buffer] == out) store = &instr;
  }
  if (!store) return false;
  for (const Instr& instr : kernel.program) {
    const bool is_access =
        instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::gather || instr.kind == Instr::Kind::store;
    if (!is_access || kernel.buffers[instr.buffer] != in) continue;
    if (instr.kind != Instr::Kind::load || instr.level != store->level || !same_map(instr.map, store->map))
      return false;
  }
  return true;
}

/// The last launch that can fail, on its elements' values or for want of memory of its own, or -1. A plan that failed
/// must have left its inputs alone.
int64_t last_fallible(const Plan& plan) {
  for (size_t launch = plan.launches.size(); launch-- > 0;) {
    for (uint32_t k : plan.launches[launch]) {
      if (plan.kernels[k].kind == Template::op) return static_cast<int64_t>(launch);
      if (!plan.may_fail) continue;
      for (NodeId id : plan.kernels[k].nodes) {
        if (plan.graph[id].may_fail()) return static_cast<int64_t>(launch);
      }
    }
  }
  return -1;
}

/// Whether `b` may have the memory of `a`, which is read last before b is written, or by the kernel that writes b
/// first.
bool may_follow(const Plan& plan, const Users& users, uint32_t a, uint32_t b) {
  const Buffer &before = plan.buffers[a], &after = plan.buffers[b];
  if (before.last != after.first) return before.last < after.first;
  const uint32_t reader = users.last(a), writer = users.first(b);
  if (reader == Users::kNobody) return true;  // an input that nobody reads
  // Another kernel of the launch may run at the same time.
  if (writer == Users::kNobody || writer == Users::kSeveral || reader != writer) return false;
  return before.dtype == after.dtype && before.count.hint() == after.count.hint() &&
         may_overwrite(plan.kernels[writer], a, b);
}

/// Whether output `out` would fit where input `in` lies.
bool fits_into(const Plan& plan, uint32_t in, uint32_t out) {
  const Buffer &input = plan.buffers[in], &output = plan.buffers[out];
  return input.dtype == output.dtype && input.count.hint() == output.count.hint() &&
         plan.graph[input.node].input_layout.is_contiguous();
}

void find_donors(Plan& plan, const Users& users, std::pmr::memory_resource* memory) {
  for (NodeId id = 0; id < plan.graph.size(); ++id) plan.may_fail |= plan.graph[id].may_fail();
  constexpr size_t kMaxDonors = 8;  // an output needs one; more are for callers that keep some of their inputs
  const int64_t safe_after = last_fallible(plan);
  std::pmr::vector<bool> may_give(plan.graph.inputs().size(), true,
                                  memory);  // an input that is also an output must stay
  for (const PlanOutput& out : plan.outputs) {
    const Buffer& buffer = plan.buffers[out.buffer];
    if (buffer.kind == Buffer::Kind::input) may_give[buffer.index] = false;
    if (buffer.kind == Buffer::Kind::output) plan.donors.resize(std::max<size_t>(plan.donors.size(), buffer.index + 1));
  }
  struct Input {
    uint32_t buffer, free_from;  // the first launch after all that read it
  };
  std::pmr::vector<Input> inputs(memory);
  inputs.reserve(may_give.size());
  for (uint32_t b = 0; b < plan.buffers.size() && !plan.launches.empty(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.kind != Buffer::Kind::input || !may_give[buffer.index]) continue;
    inputs.push_back({b, users.last(b) == Users::kNobody ? 0 : buffer.last + 1});
  }
  for (uint32_t out = 0; out < plan.buffers.size() && !plan.launches.empty(); ++out) {
    const Buffer& output = plan.buffers[out];
    if (output.kind != Buffer::Kind::output || static_cast<int64_t>(output.first) <= safe_after) continue;
    const uint32_t writer = users.first(out);
    if (writer == Users::kNobody) continue;
    std::vector<uint32_t>& donors = plan.donors[output.index];
    donors.reserve(std::min(inputs.size(), kMaxDonors));
    // First what the kernel reads itself, if there is but one: updates in place.
    std::span<const uint32_t> own;
    if (writer != Users::kSeveral) own = plan.kernels[writer].buffers;
    for (uint32_t in : own) {
      const Buffer& input = plan.buffers[in];
      if (input.kind != Buffer::Kind::input || !may_give[input.index]) continue;
      if (fits_into(plan, in, out) && may_follow(plan, users, in, out)) donors.push_back(input.index);
    }
    std::sort(donors.begin(), donors.end());
    donors.resize(std::min(donors.size(), kMaxDonors));
    for (const Input& in : inputs) {
      if (donors.size() == kMaxDonors) break;
      if (in.free_from <= output.first && fits_into(plan, in.buffer, out))
        donors.push_back(plan.buffers[in.buffer].index);
    }
  }
}

// An output's address changes from run to run, and what does is told to each kernel that writes there. Smaller
// temporaries stay in the arena, whose address does not change.
constexpr uint64_t kWorthAnOutput = uint64_t{1} << 20;

/// A temporary that is read last by the kernel which writes another buffer first, element by element, lies where that
/// one will. So an output may be made in the place of what it is made of. An input's place is worth more to it.
void find_homes(Plan& plan, const Users& users, std::pmr::memory_resource* memory) {
  std::pmr::vector<uint32_t> order(memory);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    plan.buffers[b].home = b;
    if (plan.buffers[b].kind == Buffer::Kind::temporary) order.push_back(b);
  }
  if (order.empty()) return;
  std::pmr::vector<bool> is_taken(plan.buffers.size(), false, memory);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    is_taken[b] = buffer.kind == Buffer::Kind::output && !plan.donors[buffer.index].empty();
  }
  // Homes are known from the end of the plan on.
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return plan.buffers[x].last > plan.buffers[y].last; });
  for (uint32_t b : order) {
    Buffer& buffer = plan.buffers[b];
    const uint32_t reader = users.last(b);
    if (reader == Users::kNobody || reader == Users::kSeveral) continue;
    const std::vector<uint32_t>& buffers = plan.kernels[reader].buffers;
    const auto next = std::find_if(buffers.end() - plan.kernels[reader].written, buffers.end(), [&](uint32_t out) {
      const bool is_output = plan.buffers[plan.buffers[out].home].kind == Buffer::Kind::output;
      if (is_taken[out] || plan.buffers[out].first != buffer.last || (is_output && bytes_of(buffer) < kWorthAnOutput))
        return false;
      return may_follow(plan, users, b, out);
    });
    if (next == buffers.end()) continue;
    is_taken[*next] = true;
    buffer.home = plan.buffers[*next].home;
  }
}

/// Gives every temporary that has no other home a place in one arena: the lowest gap that is free while anything lies
/// there.
void place_temporaries(Plan& plan, std::pmr::memory_resource* memory) {
  std::pmr::vector<uint32_t> order(memory), first(memory);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind == Buffer::Kind::temporary && plan.buffers[b].home == b) order.push_back(b);
  }
  if (order.empty()) return;
  for (const Buffer& buffer : plan.buffers) first.push_back(buffer.first);
  for (const Buffer& buffer : plan.buffers) first[buffer.home] = std::min(first[buffer.home], buffer.first);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return bytes_of(plan.buffers[x]) > bytes_of(plan.buffers[y]); });
  std::pmr::vector<uint32_t> placed(memory);  // ascending by offset
  for (uint32_t b : order) {
    Buffer& buffer = plan.buffers[b];
    uint64_t offset = 0;
    for (uint32_t p : placed) {
      const Buffer& other = plan.buffers[p];
      const bool overlaps_in_time = first[p] <= buffer.last && first[b] <= other.last;
      if (!overlaps_in_time) continue;
      if (offset + bytes_of(buffer) <= other.offset) break;
      offset = std::max(offset, other.offset + bytes_of(other));
    }
    buffer.offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + bytes_of(buffer));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), b,
                         [&](uint32_t x, uint32_t y) { return plan.buffers[x].offset < plan.buffers[y].offset; }),
        b);
  }
}

void check(const Plan& plan) {
  for (const Kernel& kernel : plan.kernels) {
    for (const Instr& instr : kernel.program) {
      const bool has_map = instr.map.strides.rank() > 0 || kernel.kept.rank() + kernel.reduced.rank() == 0;
      const bool needs_map =
          instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store || instr.kind == Instr::Kind::gather;
      if (needs_map && (!has_map || instr.map.strides.rank() != kernel.kept.rank() + kernel.reduced.rank())) {
        throw std::logic_error("kernel: a map does not fit the loops\n" + dump(kernel));
      }
      if (needs_map && instr.buffer >= kernel.buffers.size())
        throw std::logic_error("kernel: no such buffer\n" + dump(kernel));
    }
  }
}

void verify_in_debug([[maybe_unused]] const Graph& graph) {
#ifndef NDEBUG
  verify(graph);
#endif
}

void log_lines(const CompileLog* log, const std::string& text) {
  if (log && log->write) log->write(log->context, text);
}

std::string dump_map(const IndexMap& map) { return fmt::format("{} + {}", to_string(map.strides), map.offset.hint()); }

std::string dump_scalar(Scalar scalar, const Symbol* symbol) {
  if (symbol) return fmt::format("s{}", symbol->id);
  return scalar.type == ScalarType::real ? fmt::format("{}", scalar.real) : fmt::format("{}", scalar.as_integer());
}

std::string dump_instr(const Kernel& kernel, const Instr& instr) {
  const char* level = instr.level == Level::row ? "row " : instr.level == Level::total ? "total " : "";
  const std::string type = fmt::format("{}{}", level, name_of(instr.dtype));
  switch (instr.kind) {
    case Instr::Kind::load:
      return fmt::format("{} = load b{} [{}]", type, kernel.buffers[instr.buffer], dump_map(instr.map));
    case Instr::Kind::scalar: return fmt::format("{} = {}", type, dump_scalar(instr.scalar, instr.symbol));
    case Instr::Kind::map: {
      std::string args = fmt::format("r{}", instr.a);
      if (op_def(instr.op).arity > 1) args += fmt::format(", r{}", instr.b);
      if (op_def(instr.op).arity > 2) args += fmt::format(", r{}", instr.c);
      return fmt::format("{} = {}({})", type, op_def(instr.op).name, args);
    }
    case Instr::Kind::reduce: return fmt::format("{} = reduce {}(r{})", type, op_def(instr.op).name, instr.a);
    case Instr::Kind::gather:
      return fmt::format("{} = gather b{} [{} + r{} * {}]", type, kernel.buffers[instr.buffer], dump_map(instr.map),
                         instr.a, instr.index_stride.hint());
    case Instr::Kind::generate:
      return fmt::format("{} = {}({}, {})", type, op_def(instr.op).name, dump_scalar(instr.scalar, instr.symbol),
                         dump_scalar(instr.scalar2, instr.symbol2));
    case Instr::Kind::store:
      return fmt::format("store b{} [{}] = r{}", kernel.buffers[instr.buffer], dump_map(instr.map), instr.a);
  }
  return "";
}

const char* name_of(Template kind) {
  switch (kind) {
    case Template::pointwise: return "pointwise";
    case Template::row: return "row";
    case Template::reduce: return "reduce";
    case Template::op: return "op";
  }
  return "";
}

void log_fusion(const CompileLog& log, const Plan& plan, const Fusion& fusion) {
  std::string text = fmt::format("[fusion] {} ops in {} groups\n", fusion.level.size() - plan.graph.inputs().size(),
                                 fusion.groups.size());
  for (const Group& group : fusion.groups) {
    const char* kind = group.is_op ? "op" : group.rows_stay ? "row" : group.has_reduction ? "reduce" : "pointwise";
    text += fmt::format("  {} {}:", kind, to_string(group.loops));
    for (NodeId id : group.nodes) {
      text += fmt::format(" {}", name_of(plan.graph[id]));
      if (log.sources && plan.graph[id].span.valid())
        text += fmt::format("({})", log.sources->place(plan.graph[id].span));
    }
    text += '\n';
  }
  for (const std::string& decision : fusion.decisions) text += "  " + decision + "\n";
  log_lines(&log, text);
}

}  // namespace

bool needs_success(const Plan& plan, const Kernel& kernel) {
  if (!plan.may_fail) return false;
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [&](uint32_t b) {
    const Buffer& buffer = plan.buffers[b];
    return buffer.kind == Buffer::Kind::output && buffer.index < plan.donors.size() &&
           !plan.donors[buffer.index].empty();
  });
}

std::string dump(const Kernel& kernel) {
  std::string text = fmt::format("{} {} kept {} reduced {}\n", name_of(kernel.kind), kernel.name,
                                 to_string(kernel.kept), to_string(kernel.reduced));
  for (size_t i = 0; i < kernel.program.size(); ++i) {
    const Instr& instr = kernel.program[i];
    const bool defines = instr.kind != Instr::Kind::store;
    text += fmt::format("      {}{}\n", defines ? fmt::format("r{}: ", i) : "", dump_instr(kernel, instr));
  }
  return text;
}

std::string dump(const Plan& plan, const SourceMap*) {
  std::string text = fmt::format("[plan] {} kernels in {} launches, {} buffers, arena {} bytes\n", plan.kernels.size(),
                                 plan.launches.size(), plan.buffers.size(), plan.arena_bytes);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].home != b) text += fmt::format("  b{} lies where b{} will\n", b, plan.buffers[b].home);
  }
  for (const std::vector<uint32_t>& launch : plan.launches) {
    const std::string table = launch.size() > 1 ? fmt::format("table of {}: ", launch.size()) : "";
    text += fmt::format("  k{} {}{}", launch[0], table, dump(plan.kernels[launch[0]]));
  }
  return text;
}

Plan compile(Graph graph, const PlanOptions& options, const CompileLog* log, Backend* backend) {
  verify_in_debug(graph);
  if (log && log->graph) log_lines(log, "[graph]\n" + dump(graph, log->sources));
  graph = dead_code(std::move(graph), [&](const Node& node) {
    if (!log || !log->graph) return;
    const std::string place = log->sources && node.span.valid() ? log->sources->place(node.span) : "?";
    log_lines(log, fmt::format("[graph] eliminated: {} at {}: its result is unused\n", node.def().name, place));
  });
  verify_in_debug(graph);
  graph = spell_out(std::move(graph));
  verify_in_debug(graph);
  graph = simplify(std::move(graph));
  verify_in_debug(graph);
  if (options.fast_numerics && backend) {
    graph = absorb_epilogues(std::move(graph), [&](const Node& product) { return backend->has_epilogue(product); });
    verify_in_debug(graph);
  }
  Plan plan;
  plan.options = options;
  plan.graph = std::move(graph);
  // What is needed on the way: most graphs are small, and it goes all at once.
  std::byte local[8 * 1024];
  std::pmr::monotonic_buffer_resource scratch(local, sizeof local);
  const Fusion fusion = fuse(plan.graph, log && log->fusion, &scratch);
  if (log && log->fusion) log_fusion(*log, plan, fusion);
  lower(plan, fusion, &scratch);
  make_launches(plan, &scratch);
  const Users users(plan, &scratch);
  find_donors(plan, users, &scratch);
  find_homes(plan, users, &scratch);
  place_temporaries(plan, &scratch);
  check(plan);
  if (log && log->plan) log_lines(log, dump(plan, log->sources));
  return plan;
}

bool may_share_memory(const Plan& plan, uint32_t in, uint32_t out) {
  const Buffer &source = plan.buffers[plan.buffers[in].home], &target = plan.buffers[plan.buffers[out].home];
  if (&source == &target) return true;
  if (source.kind == Buffer::Kind::temporary && target.kind == Buffer::Kind::temporary) {
    return source.offset < target.offset + bytes_of(target) && target.offset < source.offset + bytes_of(source);
  }
  if (source.kind != Buffer::Kind::input || target.kind != Buffer::Kind::output || target.index >= plan.donors.size())
    return false;
  const std::vector<uint32_t>& donors = plan.donors[target.index];
  return std::find(donors.begin(), donors.end(), source.index) != donors.end();
}

Error describe(const RunError& error, const Graph& graph) {
  const Node& node = graph[error.node];
  Error out;
  out.span = node.span;
  if (node.def().op_class == OpClass::elementwise) {
    out.kind = ErrorKind::value;
    out.message = "integer division by zero";
    return out;
  }
  out.kind = ErrorKind::index;
  const Layout& source = node.args[0].layout;
  const int axis = static_cast<int>(node.attrs.batch);
  out.message =
      fmt::format("index {} is out of range for axis {} with extent {}", error.value, axis, source.shape[axis].hint());
  return out;
}

}  // namespace tsl::graph
