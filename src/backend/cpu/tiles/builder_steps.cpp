// Prepares kernels: turns instructions into steps, and chooses kernels, registers and memory of a tile.
#include "backend/cpu/tiles/tile_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "graph/domain.h"
#include "graph/plan_steps.h"
#include "graph/spec.h"

namespace tsl::cpu {

using graph::Instr;
using graph::Kernel;
using graph::Level;
using graph::Plan;

namespace {

// The elements of a tile: several registers of this length fit in a 32 KiB first-level cache.
constexpr int64_t kTileElements = 2048;
// Those of a tile that is only copied, where they pass through the first-level cache once.
constexpr int64_t kCopiedElements = 16 * 1024;
// Those of a tile whose chains run row by row, and keep most of their values in registers.
constexpr int64_t kLongTileElements = 4096;
// The most elements per register in a tile of a column reduction, which stays in the second-level cache.
constexpr int64_t kColumnTileElements = 16 * 1024;
static_assert(kReduceBlock == graph::kReduceBlock);
// The fewest bytes of a row of such a tile, which are a cache line, and the most columns.
constexpr int64_t kColumnBytes = 64, kMaxColumns = 512;
// Rows of a tile whose elements are far apart in memory: neighbours share cache lines, which are then read once. The
// rows may leave the first-level cache, but have at most as many elements per register as the last number says.
constexpr int64_t kFewestAcross = 16, kMostAcross = 64, kMostElementsAcross = 512 * 1024;

/// Chooses the kernels of a reduction.
void choose_kernels(Step& step, const KernelTable& table) {
  const int from = static_cast<int>(step.operand_dtype);
  const auto choose = [&](ReduceOp op) {
    step.reduce = table.reduce[static_cast<int>(op)][from];
    step.combine = table.reduce[static_cast<int>(op)][static_cast<int>(step.dtype)];
    step.fold = table.reduce[static_cast<int>(op)][static_cast<int>(DType::f32)].rows;
  };
#define TSL_REDUCTION(name, ...) \
  if (step.op == Op::name) return choose(ReduceOp::name);
#define TSL_ARG_REDUCTION(name, ...) \
  if (step.op == Op::name) step.arg = table.name[from];
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
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

TileProgram::TileProgram(const Kernel& kernel, const Plan& plan, const KernelTable& table, uint64_t cached_bytes,
                         TileForms forms)
    : table_(table), is_plain_(forms == TileForms::plain) {
  kept_rank_ = kernel.kept.rank();
  reduced_rank_ = kernel.reduced.rank();
  for (int i = 0; i < kept_rank_; ++i) rows_ *= extent_[i] = kernel.kept[i].hint();
  for (int i = 0; i < reduced_rank_; ++i) row_length_ *= extent_[kept_rank_ + i] = kernel.reduced[i].hint();
  operations_ = static_cast<int64_t>(kernel.program.size());
  for (const Kernel& box : is_plain_ ? std::vector<Kernel>() : divide_into_boxes(kernel)) {
    // Whether results are stored past the caches is for the kernel to decide: a box has its share of them.
    const auto share = static_cast<double>(graph::count_of(box.kept)) / static_cast<double>(rows_);
    boxes_.emplace_back(box, plan, table, static_cast<uint64_t>(share * static_cast<double>(cached_bytes)));
  }
  if (boxes_.empty()) make_steps(kernel, plan, cached_bytes);
  if (graph::enforces_specification()) verify(kernel, plan);
}

/// Makes the steps of a tile, their order and their memory.
void TileProgram::make_steps(const Kernel& kernel, const Plan& plan, uint64_t cached_bytes) {
  copies_ = !is_plain_ && kernel.program.size() == 2 && kernel.program[0].kind == Instr::Kind::load &&
            kernel.buffers.size() == 2 && graph::may_overwrite(kernel, kernel.buffers[0], kernel.buffers[1]);
  if (copies_) from_ = kernel.buffers[0], to_ = kernel.buffers[1];
  add_steps(kernel, plan);
  if (kernel.kind == graph::Template::pointwise) form_ = Form::pointwise;
  else choose_form(kernel.kind == graph::Template::row);
  if (!by_rows_ || form_ == Form::row_blocks) skip_conversions();
  add_spreads();
  order_steps();
  stores_number_ = rows_ == 1 && row_length_ == 1 && steps_.size() == 2 && steps_[0].kind == Step::Kind::scalar &&
                   steps_[1].kind == Step::Kind::store && steps_[1].level == Level::full;
  choose_tile();
  StepGroups groups;
  if (tile_elements_ >= static_cast<int64_t>(kStrip) && !is_plain_) groups = group_steps();
  if (!is_plain_) share_memory(groups, plan);
  if (!groups.empty()) {
    find_streams(groups, cached_bytes);
    build_chains(std::move(groups));
  }
  if (form_ == Form::row_blocks) divide_into_phases();
  place_registers();
}

/// Turns instructions into steps.
void TileProgram::add_steps(const Kernel& kernel, const Plan& plan) {
  registers_ = static_cast<uint32_t>(kernel.program.size());
  const std::vector<int> choice_of = find_choices(kernel, plan);
  for (uint32_t r = 0; r < kernel.program.size(); ++r) {
    if (choice_of[r] == kNoStep) continue;
    Step step = make_step(kernel, kernel.program[r], plan);
    step.dst = r;
    if (choice_of[r] >= 0) {
      step.kind = Step::Kind::choose;
      step.choice = static_cast<uint32_t>(choice_of[r]);
      const std::vector<uint32_t>& sources = choices_[step.choice].sources;
      std::copy(sources.begin(), sources.end(), step.src.begin());
      step.arity = static_cast<int>(sources.size());
    }
    const bool reduces_rows = step.kind == Step::Kind::reduce && step.level == Level::row;
    if (reduces_rows) {
      step.offset_in_row = partial_bytes_;
      partial_bytes_ += (step.size + 7) / 8 * 8 + (step.arg ? (step.operand_size + 7) / 8 * 8 : 0);
    } else if (step.kind == Step::Kind::reduce) {
      step.offset_in_row = kept_bytes_;
      kept_bytes_ += (step.operand_size + 7) / 8 * 8;
    }
    steps_.push_back(step);
  }
  for (Step& load : steps_) {
    load.is_read_in_place =
        load.kind == Step::Kind::load && std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
          return step.kind == Step::Kind::gather ||
                 !std::count(step.src.begin(), step.src.begin() + step.arity, load.dst);
        });
  }
}

/// Lets sums and products read f16 and bf16, which they accumulate in f32, instead of their conversions to f32.
void TileProgram::skip_conversions() {
  std::set<uint32_t> skipped;
  for (Step& reduction : steps_) {
    const bool accumulates = reduction.op == Op::sum || reduction.op == Op::prod;
    if (reduction.kind != Step::Kind::reduce || reduction.level != Level::row || !accumulates) continue;
    const uint32_t source = reduction.src[0];
    const auto cast = std::find_if(steps_.begin(), steps_.end(),
                                   [&](const Step& s) { return s.kind == Step::Kind::map && s.dst == source; });
    if (cast == steps_.end() || cast->op != Op::cast || cast->dtype != DType::f32 ||
        !fits_accumulator(cast->operand_dtype))
      continue;
    const auto readers = std::count_if(steps_.begin(), steps_.end(), [&](const Step& s) {
      return std::count(s.src.begin(), s.src.begin() + s.arity, source) > 0;
    });
    if (readers > 1) continue;
    skipped.insert(source);
    reduction.src[0] = cast->src[0];
    reduction.operand_dtype = cast->operand_dtype;
    reduction.operand_size = static_cast<uint32_t>(size_of(cast->operand_dtype));
    choose_kernels(reduction, table_);
  }
  std::erase_if(steps_, [&](const Step& s) { return s.kind == Step::Kind::map && skipped.count(s.dst); });
}

/// Where a full-level step reads a row-level register, adds a step that expands it, unless the step will be in a chain
/// that runs row by row.
void TileProgram::add_spreads() {
  std::map<uint32_t, const Step*> of_row;  // row-level registers
  std::map<uint32_t, uint32_t> spread;     // row-level register -> full-level copy
  const std::vector<Step> steps = std::move(steps_);
  steps_.clear();
  for (const Step& step : steps) {
    if (step.level != Level::full && step.kind != Step::Kind::store) of_row[step.dst] = &step;
  }
  for (Step step : steps) {
    const bool reads_full = step.level == Level::full || (step.kind == Step::Kind::reduce && step.level == Level::row);
    const bool needs_tile = step.kind != Step::Kind::gather || step.index_buffer < 0;
    for (int i = 0; reads_full && needs_tile && !(by_rows_ && may_join(step)) && i < step.arity; ++i) {
      const auto source = of_row.find(step.src[i]);
      if (source == of_row.end()) continue;
      auto [it, is_new] = spread.try_emplace(source->first, registers_);
      if (is_new) {
        ++registers_;
        Step copy;
        copy.kind = Step::Kind::spread;
        copy.dst = it->second;
        copy.src[0] = source->first;
        copy.arity = 1;
        copy.size = source->second->size;
        steps_.push_back(copy);
      }
      step.src[i] = it->second;
    }
    steps_.push_back(step);
  }
}

Step TileProgram::make_step(const Kernel& kernel, const Instr& instr, const Plan& plan) const {
  Step step;
  step.level = instr.level;
  step.op = instr.op;
  step.dtype = instr.dtype;
  step.operand_dtype = instr.operand_dtype;
  step.size = static_cast<uint32_t>(size_of(instr.dtype));
  step.node = instr.node;
  step.order = instr.node == graph::kNoNode ? 0 : plan.graph[instr.node].order;
  step.access = access_of(instr.map);
  step.scalar = instr.scalar;
  step.scalar2 = instr.scalar2;
  step.symbol = instr.symbol;
  step.symbol2 = instr.symbol2;
  step.src = {instr.a, instr.b, instr.c};
  if (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store || instr.kind == Instr::Kind::gather) {
    step.buffer = kernel.buffers[instr.buffer];
  }
  const int from = static_cast<int>(instr.operand_dtype);
  switch (instr.kind) {
    case Instr::Kind::load: step.kind = Step::Kind::load; break;
    case Instr::Kind::scalar: step.kind = Step::Kind::scalar; break;
    case Instr::Kind::map:
      step.kind = Step::Kind::map;
      step.arity = op_def(instr.op).arity;
      step.fallible = may_fail(op_def(instr.op));
      step.map = instr.op == Op::cast ? table_.cast[from][static_cast<int>(instr.dtype)]
                                      : table_.map[static_cast<int>(instr.op)][from];
      if (is_half(instr.operand_dtype))
        if (instr.op != Op::cast && instr.op != Op::where)
          step.wide_map = table_.map[static_cast<int>(instr.op)][static_cast<int>(DType::f32)];
      if (!step.map) {
        fail(ErrorKind::type, "{} is not defined for {}", op_def(instr.op).name, name_of(instr.operand_dtype));
      }
      break;
    case Instr::Kind::reduce:
      step.kind = Step::Kind::reduce;
      step.arity = 1;
      step.operand_size = static_cast<uint32_t>(size_of(instr.operand_dtype));
      choose_kernels(step, table_);
      break;
    case Instr::Kind::gather:
      step.kind = Step::Kind::gather;
      step.arity = 1;
      step.index_stride = instr.index_stride.hint();
      step.index_extent = instr.index_extent.hint();
      step.from_start = instr.from_start;
      if (const Instr& index = kernel.program[instr.a]; index.kind == Instr::Kind::load && !index.is_guarded) {
        step.index_access = access_of(index.map);
        step.index_buffer = static_cast<int32_t>(kernel.buffers[index.buffer]);
      }
      break;
    case Instr::Kind::generate: step.kind = Step::Kind::generate; break;
    case Instr::Kind::part:
    case Instr::Kind::choose: step.kind = Step::Kind::choose; break;
    case Instr::Kind::store:
      step.kind = Step::Kind::store;
      step.arity = 1;
      break;
  }
  return step;
}

/// Orders steps by phases. A phase ends with reductions, whose results the next phase may use. Steps that run once per
/// row come first. Stores stay last, since they may overwrite an input.
void TileProgram::order_steps() {
  std::vector<int> phase(registers_, 0);  // the phase in which the register has its value
  std::vector<std::pair<int, size_t>> order;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    int latest = 0;
    for (int k = 0; k < step.arity; ++k) latest = std::max(latest, phase[step.src[k]]);
    step.phase = static_cast<uint32_t>(latest);
    const bool reduces_rows = step.kind == Step::Kind::reduce && step.level == Level::row;
    const bool is_last = step.kind == Step::Kind::store || step.level == Level::total;
    if (step.kind != Step::Kind::store) phase[step.dst] = latest + reduces_rows;
    order.emplace_back(
        is_last ? std::numeric_limits<int>::max() : 2 * latest + (step.level == Level::full || reduces_rows), i);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Step> sorted;
  sorted.reserve(order.size());
  for (const auto& [key, i] : order) sorted.push_back(steps_[i]);
  steps_ = std::move(sorted);
}

/// Whether most operands of the reductions are contiguous along the last kept loop rather than along the reduced ones.
bool TileProgram::prefers_columns() const {
  if (kept_rank_ == 0 || reduced_rank_ == 0) return false;
  bool along_kept = false, along_reduced = false;
  const auto count = [&](const Step& reader) {
    if (reader.level != Level::full || reader.is_read_in_place) return;
    along_reduced |= reader.access.stride[kept_rank_ + reduced_rank_ - 1] == 1;
    along_kept |= reader.access.stride[kept_rank_ - 1] == 1;
  };
  for_each_load(*this, count);
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::gather) count(step);
  }
  return along_kept && !along_reduced;
}

/// Whether columns are reduced directly from memory, with nothing to compute before.
bool TileProgram::reads_only_columns() const {
  return reduced_rank_ == 1 && std::all_of(steps_.begin(), steps_.end(), [this](const Step& step) {
           return step.level != Level::full ||
                  (step.kind == Step::Kind::load && step.access.stride[kept_rank_ - 1] == 1);
         });
}

/// Chooses the form of a kernel with reductions. `rows_stay`: elements are used after a reduction of their row.
void TileProgram::choose_form(bool rows_stay) {
  if (is_plain_) {
    form_ = Form::rows;
    return;
  }
  const bool reads_indices = std::any_of(steps_.begin(), steps_.end(), [](const Step& s) { return s.arg != nullptr; });
  const bool across = prefers_columns();
  if (!rows_stay && row_length_ == 0) form_ = Form::row_blocks;
  else if (!rows_stay && across && !reads_indices) form_ = Form::columns;
  else form_ = row_length_ > static_cast<int64_t>(kReduceBlock) && !across ? Form::row_blocks : Form::rows;
  by_rows_ = (rows_stay || form_ == Form::row_blocks) && row_length_ >= static_cast<int64_t>(kStrip);
}

/// Returns the number of rows of a tile.
int64_t TileProgram::rows_in_tile() const {
  const int64_t length = std::max<int64_t>(row_length_, 1);
  int64_t rows = (by_rows_ ? kLongTileElements : kTileElements) / length;
  if (prefers_columns() && !is_plain_) {
    const int64_t across = std::clamp(kColumnTileElements / length, kFewestAcross, kMostAcross);
    rows = std::max(rows, std::min(across, kMostElementsAcross / length));
  }
  return std::clamp<int64_t>(rows, 1, std::max<int64_t>(rows_, 1));
}

void TileProgram::choose_tile() {
  switch (form_) {
    case Form::pointwise: {
      const bool copies = std::none_of(steps_.begin(), steps_.end(), [](const Step& step) {
        return step.kind != Step::Kind::load && step.kind != Step::Kind::gather && step.kind != Step::Kind::store;
      });
      tile_ = tile_elements_ = std::min(rows_, copies ? kCopiedElements : kTileElements);
      break;
    }
    case Form::rows:
      tile_ = rows_in_tile();
      tile_elements_ = tile_ * row_length_;
      row_elements_ = tile_;
      break;
    case Form::row_blocks:
      tile_ = static_cast<int64_t>(kReduceBlock);
      tile_elements_ = std::min(row_length_, tile_);
      row_elements_ = std::min(rows_, kTileElements);
      break;
    case Form::columns: {
      const int64_t block = std::min(row_length_, static_cast<int64_t>(kReduceBlock));
      in_place_ = reads_only_columns();
      uint32_t size = sizeof(double);
      for_each_load(*this, [&](const Step& load) { size = std::min(size, load.size); });
      tile_ = in_place_ ? kMaxColumns : std::clamp(kColumnTileElements / block, kColumnBytes / size, kMaxColumns);
      tile_ = std::min(tile_, extent_[kept_rank_ - 1]);
      tile_elements_ = in_place_ ? 1 : tile_ * block;
      row_elements_ = std::min(rows_, kTileElements);
      break;
    }
  }
  tile_elements_ = std::max<int64_t>(tile_elements_, 1);
  row_elements_ = std::max<int64_t>(row_elements_, 1);
}

}  // namespace tsl::cpu
