#include "graph/plan_steps.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <span>

#include "graph/passes/passes.h"

namespace tsl::graph {

namespace {

bool same_map(const IndexMap& a, const IndexMap& b) { return same(a.strides, b.strides) && a.offset.same(b.offset); }

}  // namespace

bool may_overwrite(const Kernel& kernel, uint32_t in, uint32_t out) {
  if (kernel.kind == Template::op) return false;
  const Instr* store = nullptr;
  for (const Instr& instr : kernel.program) {
    if (instr.kind == Instr::Kind::store && kernel.buffers[instr.buffer] == out) store = &instr;
  }
  if (!store) return false;
  // A reduction ends each row once, in one thread; it may read elements twice, and totals in a kernel of their own.
  if (kernel.kind == Template::reduce && store->level != Level::row) return false;
  for (const Instr& instr : kernel.program) {
    const bool is_access =
        instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::gather || instr.kind == Instr::Kind::store;
    if (!is_access || kernel.buffers[instr.buffer] != in) continue;
    if (instr.kind != Instr::Kind::load || instr.level != store->level || !same_map(instr.map, store->map))
      return false;
  }
  return true;
}

bool may_overwrite(const Plan& plan, const Kernel& kernel, uint32_t in, uint32_t out) {
  if (kernel.kind != Template::op) return may_overwrite(kernel, in, out);
  const Node& node = plan.graph[kernel.op_node];
  return node.def().traits.writes_into == WritesInto::fresh_or_first && kernel.buffers[0] == in &&
         std::count(kernel.buffers.begin(), kernel.buffers.end(), in) == 1 &&
         reads_all_in_order(plan.graph, node.args[0]);
}

std::optional<Move> move_of(const Kernel& kernel) {
  const bool moves = kernel.program.size() == 2 && kernel.program[0].kind == Instr::Kind::load &&
                     kernel.buffers.size() == 2 && may_overwrite(kernel, kernel.buffers[0], kernel.buffers[1]);
  if (!moves) return std::nullopt;
  return Move{kernel.buffers[0], kernel.buffers[1]};
}

std::vector<Move> moves_of(const Plan& plan, std::span<const uint32_t> kernels) {
  std::vector<Move> moves;
  for (const uint32_t k : kernels) {
    const std::optional<Move> move = move_of(plan.kernels[k]);
    if (!move) return {};
    moves.push_back(*move);
  }
  return moves;
}

namespace {

/// The most elements with which a device's own kernels compute sorts and scatters; the host computes others.
constexpr int64_t kMostByDevice = std::numeric_limits<int32_t>::max();

/// Whether an op's kernel may allocate memory while it runs. For those of libraries, the run does that as it begins.
bool allocates(const Plan& plan, const Kernel& kernel) {
  if (kernel.kind != Template::op) return false;
  const Node& node = plan.graph[kernel.op_node];
  switch (node.def().traits.allocates) {
    case Allocates::always: return true;
    case Allocates::never: return false;
    case Allocates::unless_of_floats:
      if (is_float(node.dtype)) return false;
      break;
    case Allocates::by_device: break;
  }
  if (plan.device.ops_allocate) return true;
  const auto is_large = [&](uint32_t b) { return plan.buffers[b].count.hint() > kMostByDevice; };
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(), is_large);
}

}  // namespace

int64_t last_fallible(const Plan& plan) {
  for (size_t launch = plan.launches.size(); launch-- > 0;) {
    const std::vector<uint32_t>& kernels = plan.launches[launch];
    const auto takes_memory = [&](uint32_t k) { return allocates(plan, plan.kernels[k]); };
    if (std::any_of(kernels.begin(), kernels.end(), takes_memory) || may_fail(plan, kernels))
      return static_cast<int64_t>(launch);
  }
  return -1;
}

bool may_take_donors(const Plan& plan, uint32_t writer) {
  return !plan.may_fail || plan.kernels[writer].kind != Template::op;
}

namespace {

/// Per buffer: the kernel that uses it in its first launch, and the one that uses it in its last launch.
class BufferUsers {
 public:
  static constexpr uint32_t kNoKernel = ~0u, kSeveral = ~0u - 1;  // instead of a kernel

  /// Also finds the buffers' lifetimes.
  BufferUsers(Plan& plan, std::pmr::memory_resource* memory) : users_(plan.buffers.size(), memory) {
    for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
      for (uint32_t k : plan.launches[launch]) {
        for (uint32_t b : plan.kernels[k].buffers) add(plan.buffers[b], users_[b], launch, k);
      }
    }
  }

  uint32_t first(uint32_t buffer) const { return users_[buffer].first; }
  uint32_t last(uint32_t buffer) const { return users_[buffer].last; }

 private:
  struct FirstAndLast {
    uint32_t first = kNoKernel, last = kNoKernel;
  };

  static void add(Buffer& buffer, FirstAndLast& users, uint32_t launch, uint32_t kernel) {
    const auto joined = [&](uint32_t user) { return user == kernel ? kernel : kSeveral; };
    const bool is_new = users.first == kNoKernel;
    if (is_new) buffer.first = launch;
    if (buffer.first == launch) users.first = is_new ? kernel : joined(users.first);
    users.last = is_new || buffer.last != launch ? kernel : joined(users.last);
    buffer.last = launch;
  }

  std::pmr::vector<FirstAndLast> users_;
};

/// Whether `b` may use the memory of `a`: a is last read before b is written, or by the kernel that first writes b.
bool may_follow(const Plan& plan, const BufferUsers& users, uint32_t a, uint32_t b) {
  const Buffer &before = plan.buffers[a], &after = plan.buffers[b];
  if (before.last != after.first) return before.last < after.first;
  const uint32_t reader = users.last(a), writer = users.first(b);
  if (reader == BufferUsers::kNoKernel) return true;  // an input that nothing reads
  // Kernels of one launch may run at the same time.
  if (writer == BufferUsers::kNoKernel || writer == BufferUsers::kSeveral || reader != writer) return false;
  return before.dtype == after.dtype && before.count.hint() == after.count.hint() &&
         may_overwrite(plan, plan.kernels[writer], a, b);
}

/// Whether output `out` fits in the memory of input `in`.
bool fits_into(const Plan& plan, uint32_t in, uint32_t out) {
  const Buffer &input = plan.buffers[in], &output = plan.buffers[out];
  return input.dtype == output.dtype && input.count.hint() == output.count.hint() &&
         plan.graph[input.node].input_layout.is_contiguous();
}

/// Returns by buffer of the kernel how few instructions lead from its elements to those of `out`; the number of
/// instructions if none do.
std::vector<size_t> distances(const Kernel& kernel, uint32_t out) {
  const size_t far = kernel.program.size();
  std::vector<size_t> of_register(far, far), of_buffer(kernel.buffers.size(), far);
  for (size_t r = far; r-- > 0;) {
    const Instr& instr = kernel.program[r];
    if (instr.kind == Instr::Kind::store) of_register[r] = kernel.buffers[instr.buffer] == out ? 0 : far;
    if (of_register[r] == far) continue;
    if (instr.kind == Instr::Kind::load) of_buffer[instr.buffer] = std::min(of_buffer[instr.buffer], of_register[r]);
    for (const Reg operand : operands_of(instr))
      of_register[operand] = std::min(of_register[operand], of_register[r] + 1);
  }
  return of_buffer;
}

/// Returns the inputs that the kernel, which writes output `out`, may overwrite. Of those that lead to it, the ones
/// come first that lead to the fewest results, then the nearest: a parameter, its mean, its gradient. Where each output
/// so updates its own input, memory does not move from call to call of a program, and a GPU patches nothing.
std::vector<uint32_t> updated_by(const Plan& plan, const BufferUsers& users, const Kernel& kernel, uint32_t out,
                                 const std::pmr::vector<bool>& may_donate) {
  struct Found {
    bool is_far;
    size_t results, distance;
    uint32_t input;
    auto operator<=>(const Found&) const = default;
  };
  std::vector<Found> found;
  std::vector<std::vector<size_t>> to_results;  // of those that the kernel writes
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const uint32_t in = kernel.buffers[i];
    const Buffer& input = plan.buffers[in];
    if (input.kind != Buffer::Kind::input || !may_donate[input.index]) continue;
    if (!fits_into(plan, in, out) || !may_follow(plan, users, in, out)) continue;
    if (to_results.empty()) {
      for (const uint32_t result : written_by(kernel)) to_results.push_back(distances(kernel, result));
    }
    const std::span<const uint32_t> results = written_by(kernel);
    const size_t far = kernel.program.size();
    const auto leads = [&](const std::vector<size_t>& distance) { return distance[i] < far; };
    const auto reached = static_cast<size_t>(std::count_if(to_results.begin(), to_results.end(), leads));
    const size_t own = to_results[std::find(results.begin(), results.end(), out) - results.begin()][i];
    found.push_back({own == far, reached, own, input.index});
  }
  std::sort(found.begin(), found.end());
  std::vector<uint32_t> inputs;
  for (const Found& each : found) inputs.push_back(each.input);
  return inputs;
}

void find_donors(Plan& plan, const BufferUsers& users, std::pmr::memory_resource* memory) {
  for (NodeId id = 0; id < plan.graph.size(); ++id) plan.may_fail |= plan.graph[id].may_fail();
  const int64_t safe_after = last_fallible(plan);
  std::pmr::vector<bool> may_donate(plan.graph.inputs().size(), true,
                                    memory);  // an input that is also an output must not be overwritten
  for (const PlanOutput& out : plan.outputs) {
    const Buffer& buffer = plan.buffers[out.buffer];
    if (buffer.kind == Buffer::Kind::input) may_donate[buffer.index] = false;
    if (buffer.kind == Buffer::Kind::output) plan.donors.resize(std::max<size_t>(plan.donors.size(), buffer.index + 1));
  }
  struct Input {
    uint32_t buffer, free_from;  // the first launch after all its readers
  };
  std::pmr::vector<Input> inputs(memory);
  inputs.reserve(may_donate.size());
  for (uint32_t b = 0; b < plan.buffers.size() && !plan.launches.empty(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.kind != Buffer::Kind::input || !may_donate[buffer.index]) continue;
    inputs.push_back({b, users.last(b) == BufferUsers::kNoKernel ? 0 : buffer.last + 1});
  }
  for (uint32_t out = 0; out < plan.buffers.size() && !plan.launches.empty(); ++out) {
    const Buffer& output = plan.buffers[out];
    if (output.kind != Buffer::Kind::output || static_cast<int64_t>(output.first) <= safe_after) continue;
    const uint32_t writer = users.first(out);
    if (writer == BufferUsers::kNoKernel) continue;
    if (writer != BufferUsers::kSeveral && !may_take_donors(plan, writer)) continue;
    std::vector<uint32_t>& donors = plan.donors[output.index];
    if (writer != BufferUsers::kSeveral) donors = updated_by(plan, users, plan.kernels[writer], out, may_donate);
    donors.resize(std::min(donors.size(), kMaxDonors));
    for (const Input& in : inputs) {
      if (donors.size() == kMaxDonors) break;
      if (in.free_from <= output.first && fits_into(plan, in.buffer, out))
        donors.push_back(plan.buffers[in.buffer].index);
    }
  }
}

// An output's address may change in each run, and each change updates the arguments of all kernels that use it. Smaller
// temporaries stay in the arena, whose address does not change.
constexpr uint64_t kMinAliasedOutputBytes = uint64_t{1} << 20;

/// Returns the donors of an output whose memory temporary `b` may use as well: they are read before b is written.
std::vector<uint32_t> donors_before(const Plan& plan, const BufferUsers& users, uint32_t b, const Buffer& output,
                                    int64_t safe_after) {
  std::vector<uint32_t> donors = plan.donors[output.index];
  const uint32_t writer = users.first(b);
  const bool may_take = writer >= BufferUsers::kSeveral || may_take_donors(plan, writer);
  if (!may_take || static_cast<int64_t>(plan.buffers[b].first) <= safe_after) donors.clear();
  std::erase_if(donors, [&](uint32_t in) { return !may_follow(plan, users, in, b); });  // the buffer of input i is i
  return donors;
}

/// Aliases a temporary with the buffer its last reader writes, if that kernel is elementwise. An output that can take a
/// donor's memory is aliased only if some donor remains that can give its memory to the temporary, too: a chain of
/// writes to a donated tensor then happens in place.
void alias_temporaries(Plan& plan, const BufferUsers& users, std::pmr::memory_resource* memory) {
  std::pmr::vector<uint32_t> order(memory);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    plan.buffers[b].alias_of = b;
    if (plan.buffers[b].kind == Buffer::Kind::temporary) order.push_back(b);
  }
  if (order.empty()) return;
  std::pmr::vector<bool> is_taken(plan.buffers.size(), false, memory);
  const int64_t safe_after = last_fallible(plan);
  // Goes from the end of the plan backwards, so that alias_of of later buffers is known.
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return plan.buffers[x].last > plan.buffers[y].last; });
  for (uint32_t b : order) {
    Buffer& buffer = plan.buffers[b];
    const uint32_t reader = users.last(b);
    if (reader == BufferUsers::kNoKernel || reader == BufferUsers::kSeveral) continue;
    const std::vector<uint32_t>& buffers = plan.kernels[reader].buffers;
    const auto next = std::find_if(buffers.end() - plan.kernels[reader].written, buffers.end(), [&](uint32_t out) {
      const Buffer& target = plan.buffers[plan.buffers[out].alias_of];
      const bool is_output = target.kind == Buffer::Kind::output;
      if (is_taken[out] || plan.buffers[out].first != buffer.last ||
          (is_output && bytes_of(buffer) < kMinAliasedOutputBytes))
        return false;
      if (!may_follow(plan, users, b, out)) return false;
      return !is_output || plan.donors[target.index].empty() ||
             !donors_before(plan, users, b, target, safe_after).empty();
    });
    if (next == buffers.end()) continue;
    is_taken[*next] = true;
    buffer.alias_of = plan.buffers[*next].alias_of;
    const Buffer& target = plan.buffers[buffer.alias_of];
    if (target.kind == Buffer::Kind::output)
      plan.donors[target.index] = donors_before(plan, users, b, target, safe_after);
  }
}

/// Assigns an arena offset to each temporary that aliases no other buffer: the lowest gap that is free during its
/// lifetime.
void allocate_temporaries(Plan& plan, std::pmr::memory_resource* memory) {
  std::pmr::vector<uint32_t> order(memory), first(memory);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind == Buffer::Kind::temporary && plan.buffers[b].alias_of == b) order.push_back(b);
  }
  if (order.empty()) return;
  for (const Buffer& buffer : plan.buffers) first.push_back(buffer.first);
  for (const Buffer& buffer : plan.buffers) first[buffer.alias_of] = std::min(first[buffer.alias_of], buffer.first);
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

}  // namespace

void assign_buffers(Plan& plan, std::pmr::memory_resource* memory) {
  const BufferUsers users(plan, memory);
  find_donors(plan, users, memory);
  alias_temporaries(plan, users, memory);
  allocate_temporaries(plan, memory);
}

}  // namespace tsl::graph
