// Turns instructions into steps, chooses their kernels, and orders them.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "backend/cpu/tiles/builder.h"
#include "base/error_names.h"
#include "tensor/op.h"

namespace tsl::cpu {

using graph::Instr;
using graph::Kernel;
using graph::Level;

namespace {

static_assert(kReduceBlock == graph::kReduceBlock);

/// Chooses the kernels of a reduction to elements of `dtype`.
void choose_kernels(Reduce& reduce, DType dtype, const KernelTable& table) {
  const int from = static_cast<int>(reduce.operand_dtype);
  const auto choose = [&](ReduceOp op) {
    reduce.kernels = table.reduce[static_cast<int>(op)][from];
    reduce.combine = table.reduce[static_cast<int>(op)][static_cast<int>(dtype)];
    reduce.fold = table.reduce[static_cast<int>(op)][static_cast<int>(DType::f32)].rows;
  };
#define TSL_REDUCTION(name, ...) \
  if (reduce.op == Op::name) return choose(ReduceOp::name);
#define TSL_ARG_REDUCTION(name, ...) \
  if (reduce.op == Op::name) reduce.arg = table.name[from];
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
}

Origin origin_of(const Instr& instr, const graph::Plan& plan) {
  return {instr.node, instr.node == graph::kNoNode ? 0 : plan.graph[instr.node].order};
}

Map make_map(const Instr& instr, const TileSource& source) {
  const int from = static_cast<int>(instr.operand_dtype), op = static_cast<int>(instr.op);
  Map map;
  map.op = instr.op;
  map.src = {instr.a, instr.b, instr.c};
  map.arity = static_cast<uint8_t>(op_def(instr.op).arity);
  map.fallible = may_fail(op_def(instr.op));
  map.operand_dtype = instr.operand_dtype;
  map.kernel =
      instr.op == Op::cast ? source.table.cast[from][static_cast<int>(instr.dtype)] : source.table.map[op][from];
  if (is_half(instr.operand_dtype) && instr.op != Op::cast && instr.op != Op::where)
    map.wide_kernel = source.table.map[op][static_cast<int>(DType::f32)];
  map.origin = origin_of(instr, source.plan);
  if (!map.kernel) {
    fail(ErrorName::wrong_dtype, "{} is not defined for {}", op_def(instr.op).name, name_of(instr.operand_dtype));
  }
  return map;
}

Reduce make_reduce(const Instr& instr, const KernelTable& table) {
  Reduce reduce;
  reduce.op = instr.op;
  reduce.src = instr.a;
  reduce.operand_dtype = instr.operand_dtype;
  reduce.operand_size = static_cast<uint32_t>(size_of(instr.operand_dtype));
  choose_kernels(reduce, instr.dtype, table);
  return reduce;
}

/// Returns the elements of a buffer that an instruction accesses.
Elements elements_of(const Instr& instr, const Kernel& kernel) {
  return {kernel.buffers[instr.buffer], access_of(instr.map)};
}

Gather make_gather(const Instr& instr, const TileSource& source) {
  Gather gather;
  gather.src = instr.a;
  gather.from = elements_of(instr, source.kernel);
  gather.index_stride = instr.index_stride.hint();
  gather.index_extent = instr.index_extent.hint();
  gather.from_start = instr.from_start;
  gather.origin = origin_of(instr, source.plan);
  const Instr& index = source.kernel.program[instr.a];
  if (index.kind == Instr::Kind::load && !index.is_guarded) gather.indices = elements_of(index, source.kernel);
  return gather;
}

/// Reserves a reduction's part of a row's partial results, or of its results for totals.
void reserve_results(Reduce& reduce, const Step& step, TileMemory& memory) {
  const auto whole = [](uint32_t bytes) { return (bytes + 7) / 8 * 8; };
  if (step.level == Level::row) {
    reduce.offset_in_row = memory.partials;
    memory.partials += whole(step.size) + (reduce.arg ? whole(reduce.operand_size) : 0);
  } else {
    reduce.offset_in_row = memory.totals;
    memory.totals += whole(reduce.operand_size);
  }
}

/// Finds the loads that only gathers read, which read the indices where they are.
void find_indices(TilePlan& tiles) {
  std::vector<bool> is_read(tiles.memory.registers, false);  // by other steps
  for (const Step& step : tiles.steps) {
    if (step.is<Gather>()) continue;
    for (const uint32_t reg : sources(step)) is_read[reg] = true;
  }
  for (Step& step : tiles.steps) {
    if (auto* load = step.as<Load>()) load->is_read_in_place = !is_read[step.dst];
  }
}

}  // namespace

Access access_of(const graph::IndexMap& map) {
  Access access;
  access.rank = map.strides.rank();
  access.symbolic_offset = map.offset.symbol();
  if (!access.symbolic_offset) access.offset = map.offset.hint();
  for (int i = 0; i < access.rank; ++i) access.stride[i] = map.strides[i].hint();
  return access;
}

Step make_step(const Instr& instr, const TileSource& source) {
  Step step;
  step.level = instr.level;
  step.dtype = instr.dtype;
  step.size = static_cast<uint32_t>(size_of(instr.dtype));
  switch (instr.kind) {
    case Instr::Kind::load: step.does = Load{elements_of(instr, source.kernel)}; break;
    case Instr::Kind::scalar: step.does = Fill{instr.scalar, instr.symbol}; break;
    case Instr::Kind::map: step.does = make_map(instr, source); break;
    case Instr::Kind::reduce: step.does = make_reduce(instr, source.table); break;
    case Instr::Kind::gather: step.does = make_gather(instr, source); break;
    case Instr::Kind::generate:
      step.does = Generate{instr.op, access_of(instr.map), instr.scalar, instr.scalar2, instr.symbol, instr.symbol2};
      break;
    case Instr::Kind::part:
    case Instr::Kind::choose: step.does = Choose(); break;
    case Instr::Kind::store: step.does = Store{instr.a, elements_of(instr, source.kernel)}; break;
  }
  return step;
}

void add_steps(TilePlan& tiles, const TileSource& source) {
  const std::vector<Instr>& program = source.kernel.program;
  tiles.memory.registers = static_cast<uint32_t>(program.size());
  tiles.steps.reserve(program.size());
  Choices choices = find_choices(source);
  for (uint32_t r = 0; r < program.size(); ++r) {
    if (choices.role[r] == Choices::Role::no_step) continue;
    Step step = make_step(program[r], source);
    step.dst = r;
    if (choices.role[r] == Choices::Role::choice) step.does = std::move(choices.of.at(r));
    if (auto* reduce = step.as<Reduce>()) reserve_results(*reduce, step, tiles.memory);
    tiles.steps.push_back(std::move(step));
  }
  find_indices(tiles);
}

void skip_conversions(TilePlan& tiles, const KernelTable& table) {
  std::vector<Step>& steps = tiles.steps;
  std::set<uint32_t> skipped;
  for (Step& step : steps) {
    auto* reduce = step.as<Reduce>();
    if (!reduce || step.level != Level::row || (reduce->op != Op::sum && reduce->op != Op::prod)) continue;
    const uint32_t source = reduce->src;
    const auto at = std::find_if(steps.begin(), steps.end(),
                                 [&](const Step& other) { return other.is<Map>() && other.dst == source; });
    const Map* cast = at == steps.end() ? nullptr : at->as<Map>();
    if (!cast || cast->op != Op::cast || at->dtype != DType::f32 || !fits_accumulator(cast->operand_dtype)) continue;
    const auto readers = std::count_if(steps.begin(), steps.end(), [&](const Step& other) {
      const auto registers = sources(other);
      return std::find(registers.begin(), registers.end(), source) != registers.end();
    });
    if (readers > 1) continue;
    skipped.insert(source);
    reduce->src = cast->src[0];
    reduce->operand_dtype = cast->operand_dtype;
    reduce->operand_size = static_cast<uint32_t>(size_of(cast->operand_dtype));
    choose_kernels(*reduce, step.dtype, table);
  }
  std::erase_if(steps, [&](const Step& step) { return step.is<Map>() && skipped.count(step.dst); });
}

void add_spreads(TilePlan& tiles) {
  std::map<uint32_t, uint32_t> size_of_row;  // bytes per element of row-level registers
  std::map<uint32_t, uint32_t> spread;       // row-level register -> full-level copy
  std::vector<Step> steps = std::move(tiles.steps);
  tiles.steps.clear();
  for (const Step& step : steps) {
    if (step.level != Level::full && step.has_result()) size_of_row[step.dst] = step.size;
  }
  for (Step& step : steps) {
    const bool reads_full = step.level == Level::full || step.reduces_rows();
    const bool needs_tile = !step.is<Gather>() || !step.as<Gather>()->indices;
    const bool is_spread = reads_full && needs_tile && !(tiles.shape.by_rows && may_join(tiles, step));
    for (uint32_t& reg : is_spread ? sources(step) : std::span<uint32_t>()) {
      const auto size = size_of_row.find(reg);
      if (size == size_of_row.end()) continue;
      auto [it, is_new] = spread.try_emplace(reg, tiles.memory.registers);
      if (is_new) {
        ++tiles.memory.registers;
        Step copy;
        copy.does = Spread{reg};
        copy.dst = it->second;
        copy.size = size->second;
        tiles.steps.push_back(copy);
      }
      reg = it->second;
    }
    tiles.steps.push_back(std::move(step));
  }
}

void order_steps(TilePlan& tiles) {
  std::vector<int> phase(tiles.memory.registers, 0);  // the phase in which the register has its value
  std::vector<std::pair<int, size_t>> order;
  for (size_t i = 0; i < tiles.steps.size(); ++i) {
    Step& step = tiles.steps[i];
    int latest = 0;
    for (const uint32_t reg : sources(step)) latest = std::max(latest, phase[reg]);
    step.phase = static_cast<uint32_t>(latest);
    const bool is_last = step.is<Store>() || step.level == Level::total;
    if (step.has_result()) phase[step.dst] = latest + step.reduces_rows();
    const int key = 2 * latest + (step.level == Level::full || step.reduces_rows());
    order.emplace_back(is_last ? std::numeric_limits<int>::max() : key, i);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Step> sorted;
  sorted.reserve(order.size());
  for (const auto& [key, i] : order) sorted.push_back(std::move(tiles.steps[i]));
  tiles.steps = std::move(sorted);
}

}  // namespace tsl::cpu
