// Merges steps into chains.
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles/tile_plan.h"

namespace tsl::cpu {

using graph::Level;

namespace {

using Operand = Chain::Operand;
using Form = Chain::Form;

/// Kernels with fewer elements in all read from a cache, where prefetching costs more than it gains.
constexpr int64_t kCachedElements = int64_t{2} << 20;

/// Ops that work on the accumulator; other ops are calls.
struct Arithmetic {
  Op op;
  ChainCode code;                       // with the accumulator as left operand
  std::optional<ChainCode> from_right;  // with the accumulator as right operand
  bool rounds = true;                   // the result may not be a number of the operands' dtype
};
constexpr Arithmetic kArithmetic[] = {
    {Op::add, ChainCode::add, ChainCode::add},
    {Op::sub, ChainCode::sub, ChainCode::sub_from},
    {Op::mul, ChainCode::mul, ChainCode::mul},
    {Op::div, ChainCode::div, ChainCode::div_into},
    {Op::square, ChainCode::square, std::nullopt},
    {Op::neg, ChainCode::neg, std::nullopt, false},
    {Op::relu, ChainCode::relu, std::nullopt, false},
    {Op::abs, ChainCode::abs, std::nullopt, false},
    {Op::maximum, ChainCode::maximum, std::nullopt, false},
    {Op::minimum, ChainCode::minimum, std::nullopt, false},
};

/// The code, or the form of an operand, for a dtype that fits the accumulator.
template <class T> T choose_for(DType dtype, T f32, T f16, T bf16) {
  return dtype == DType::f16 ? f16 : dtype == DType::bf16 ? bf16 : f32;
}

const Arithmetic* arithmetic_of(const Step& step) {
  if (step.kind != Step::Kind::map || !fits_accumulator(step.dtype)) return nullptr;
  const auto* found = std::find_if(std::begin(kArithmetic), std::end(kArithmetic),
                                   [&](const Arithmetic& a) { return a.op == step.op; });
  return found == std::end(kArithmetic) ? nullptr : found;
}

/// Whether a cast leaves the value in the accumulator.
bool is_conversion(const Step& step) {
  return step.op == Op::cast && fits_accumulator(step.dtype) && fits_accumulator(step.operand_dtype);
}

/// Reductions that read the accumulator; others are calls.
constexpr std::pair<Op, ChainCode> kReductions[] = {
    {Op::sum, ChainCode::sum}, {Op::prod, ChainCode::prod}, {Op::max, ChainCode::max}, {Op::min, ChainCode::min}};

std::optional<ChainCode> reduction_of(const Step& step) {
  if (!fits_accumulator(step.dtype) || !fits_accumulator(step.operand_dtype)) return std::nullopt;
  for (const auto& [op, code] : kReductions) {
    if (op == step.op) return code;
  }
  return std::nullopt;
}

/// Writes the code of a chain. A result that only the next step reads stays in the accumulator, without memory. Values
/// of f16 and bf16 are f32 within the chain, in strips if they are read again. Calls of ops that have an f32 kernel
/// read such strips; other calls read elements in their own dtype.
class ChainBuilder {
 public:
  /// `operand_of` returns the operand for a register that the chain does not compute; `is_kept` is whether a result is
  /// used later, `is_streamed` whether it is stored past the caches.
  template <class OperandOf, class IsKept, class IsStreamed>
  static Chain build(const std::vector<Step>& members, int64_t row_length, OperandOf operand_of, IsKept is_kept,
                     IsStreamed is_streamed) {
    ChainBuilder builder;
    builder.row_length_ = row_length;
    for (const Step& step : members) {
      if (step.kind == Step::Kind::reduce) builder.chain_.results.push_back(step);
      else if (is_kept(step.dst)) builder.keep(step);
      else builder.sizes_[step.dst] = step.size;
      if (is_streamed(step)) builder.streamed_.insert(step.dst);
      if (step.kind == Step::Kind::map && !arithmetic_of(step) && !is_conversion(step) && !ends_in_accumulator(step))
        builder.by_call_.insert(step.dst);
    }
    // Builds the code twice: the first time finds the results that are read from memory.
    for (int pass = 0; pass < 2; ++pass) {
      builder.restart();
      for (const Step& step : members) builder.add(step, operand_of);
    }
    return std::move(builder.chain_);
  }

 private:
  void keep(const Step& step) {
    chain_.results.push_back(step);
    sizes_[step.dst] = step.size;
    kept_.insert(step.dst);
    in_memory_.insert(step.dst);
  }

  void restart() {
    chain_.code.clear();
    chain_.operands.clear();
    index_.clear();
    strips_.clear();
    accumulator_.reset();
  }

  template <class OperandOf> void add(const Step& step, OperandOf& operand_of) {
    const auto [left, right, third] = step.src;
    const Arithmetic* arithmetic = arithmetic_of(step);
    if (step.kind == Step::Kind::reduce) {
      load(left, step.operand_dtype, operand_of);
      chain_.operands.push_back({Operand::Kind::lanes, step.dst, sizeof(float), kLaneBytes, -1, true});
      push(*reduction_of(step), chain_.operands.size() - 1, DType::f32);
    } else if (arithmetic) {
      compute(step, *arithmetic, operand_of);
      finish(step, arithmetic->rounds, operand_of);
    } else if (is_conversion(step)) {
      load(left, step.operand_dtype, operand_of);
      finish(step, true, operand_of);
    } else if (step.wide_map) {
      call_wide(step, operand_of);
    } else {
      ChainInstr call{ChainCode::call};
      call.call = step.map;
      call.arity = static_cast<uint8_t>(step.arity);
      for (int i = 0; i < step.arity; ++i) call.in[i] = index_of(operand(step.src[i], operand_of, Form::own));
      in_memory_.insert(step.dst);
      const bool is_streamed = streamed_.count(step.dst) > 0;
      call.operand =
          is_streamed ? add_scratch(step.dst, step.size) : index_of(operand(step.dst, operand_of, Form::own));
      chain_.code.push_back(call);
      if (is_streamed) {
        push(ChainCode::load, call.operand, step.dtype);
        store(step, operand_of);
      }
      accumulator_.reset();
    }
  }

  /// Calls the f32 kernel of an op on strips of f32. The result is rounded in the accumulator if it is no bool.
  template <class OperandOf> void call_wide(const Step& step, OperandOf& operand_of) {
    ChainInstr call{ChainCode::call};
    call.call = step.wide_map;
    call.arity = static_cast<uint8_t>(step.arity);
    for (int i = 0; i < step.arity; ++i) call.in[i] = wide_strip(step.src[i], step.operand_dtype, operand_of);
    const bool ends = ends_in_accumulator(step);
    if (!ends) in_memory_.insert(step.dst);
    call.operand = ends ? add_scratch(step.dst, sizeof(float)) : index_of(operand(step.dst, operand_of, Form::own));
    chain_.code.push_back(call);
    accumulator_.reset();
    if (!ends) return;
    push(ChainCode::load, call.operand, DType::f32);
    finish(step, true, operand_of);
  }

  /// Whether a call leaves its result in the accumulator.
  static bool ends_in_accumulator(const Step& step) { return step.wide_map && fits_accumulator(step.dtype); }

  template <class OperandOf> void compute(const Step& step, const Arithmetic& arithmetic, OperandOf& operand_of) {
    const auto [left, right, third] = step.src;
    const bool is_square = left == right && step.op == Op::mul;
    if (step.arity == 1 || is_square) {
      load(left, step.dtype, operand_of);
      push(is_square ? ChainCode::square : arithmetic.code, 0, DType::f32);
    } else if (accumulator_ == right && arithmetic.from_right) {
      from_accumulator_.insert(right);
      push_read(*arithmetic.from_right, left, step.dtype, operand_of);
    } else {
      load(left, step.dtype, operand_of);
      push_read(arithmetic.code, right, step.dtype, operand_of);
    }
  }

  /// Rounds the result in the accumulator if it is read as f32, and stores it where others read it.
  template <class OperandOf> void finish(const Step& step, bool rounds, OperandOf& operand_of) {
    const bool is_read = from_accumulator_.count(step.dst) || in_wide_memory_.count(step.dst);
    if (rounds && is_read && step.dtype != DType::f32)
      push(choose_for(step.dtype, ChainCode::load, ChainCode::round_f16, ChainCode::round_bf16), 0, DType::f32);
    accumulator_ = step.dst;
    if (in_memory_.count(step.dst)) store(step, operand_of);
    if (in_wide_memory_.count(step.dst)) push(ChainCode::store, strip_of(step.dst), DType::f32);
  }

  template <class OperandOf> void store(const Step& step, OperandOf& operand_of) {
    const ChainCode code =
        streamed_.count(step.dst)
            ? choose_for(step.dtype, ChainCode::stream, ChainCode::stream_f16, ChainCode::stream_bf16)
            : choose_for(step.dtype, ChainCode::store, ChainCode::store_f16, ChainCode::store_bf16);
    push(code, operand(step.dst, operand_of, Form::own), DType::f32);
  }

  /// Loads a register into the accumulator, unless it is there.
  template <class OperandOf> void load(uint32_t reg, DType dtype, OperandOf& operand_of) {
    if (accumulator_ == reg) from_accumulator_.insert(reg);
    else push_read(ChainCode::load, reg, dtype, operand_of);
    accumulator_ = reg;
  }

  /// Adds an instruction that reads a register of a dtype that fits the accumulator.
  template <class OperandOf> void push_read(ChainCode code, uint32_t reg, DType dtype, OperandOf& operand_of) {
    if (dtype != DType::f32 && (is_computed_here(reg) || strips_.count(reg))) {
      if (is_computed_here(reg)) in_wide_memory_.insert(reg);
      return push(code, strip_of(reg), DType::f32);
    }
    push(code, operand(reg, operand_of, Form::wide_one), dtype);
  }

  /// Returns the strip of f32 that holds a register of f16 or bf16.
  template <class OperandOf> uint16_t wide_strip(uint32_t reg, DType dtype, OperandOf& operand_of) {
    if (is_computed_here(reg)) in_wide_memory_.insert(reg);
    if (is_computed_here(reg) || strips_.count(reg)) return index_of(strip_of(reg));
    const size_t found = operand(reg, operand_of, Form::wide);
    if (chain_.operands[found].kind == Operand::Kind::repeated) return index_of(found);
    push(ChainCode::load, found, dtype);
    push(ChainCode::store, strip_of(reg), DType::f32);
    accumulator_ = reg;
    return index_of(strip_of(reg));
  }

  /// Whether the chain computes the register in the accumulator.
  bool is_computed_here(uint32_t reg) const { return sizes_.count(reg) && !by_call_.count(reg); }

  /// Returns the strip of f32 for a register.
  size_t strip_of(uint32_t reg) {
    const auto [it, is_new] = strips_.try_emplace(reg, chain_.operands.size());
    if (is_new) add_scratch(reg, sizeof(float));
    return it->second;
  }

  /// Adds strips that are used only within the chain.
  uint16_t add_scratch(uint32_t reg, uint32_t size) {
    chain_.operands.push_back({Operand::Kind::scratch, reg, size, 0, -1, true});
    return index_of(chain_.operands.size() - 1);
  }

  static uint16_t index_of(size_t operand) { return static_cast<uint16_t>(operand); }

  void push(ChainCode code, size_t operand, DType dtype) {
    const bool is_one = !chain_.operands.empty() && chain_.operands[operand].kind == Operand::Kind::one;
    const ChainRead read = is_one ? ChainRead::one : choose_for(dtype, ChainRead::f32, ChainRead::f16, ChainRead::bf16);
    chain_.code.push_back({code, read, index_of(operand)});
  }

  /// Returns the register's operand; a result of the chain is then stored in memory.
  template <class OperandOf> size_t operand(uint32_t reg, OperandOf& operand_of, Form form) {
    const auto computed = sizes_.find(reg);
    if (computed != sizes_.end()) in_memory_.insert(reg);
    const Operand found = computed == sizes_.end() ? operand_of(reg, form) : result(reg, computed->second);
    auto [it, is_new] = index_.try_emplace({reg, found.kind, found.is_widened}, chain_.operands.size());
    if (is_new) chain_.operands.push_back(found);
    return it->second;
  }

  Operand result(uint32_t reg, uint32_t size) const {
    if (!kept_.count(reg)) return {Operand::Kind::scratch, reg, size, 0, -1, true};
    return {Operand::Kind::elements, reg, size, row_length_ * size, -1, true};
  }

  Chain chain_;
  std::map<uint32_t, uint32_t> sizes_;  // element sizes of the registers that the chain computes
  std::map<std::tuple<uint32_t, Operand::Kind, bool>, size_t> index_;  // operands by register
  int64_t row_length_ = 0;
  std::map<uint32_t, size_t> strips_;  // strips of f32, by register of f16 or bf16
  std::set<uint32_t> kept_, by_call_, in_memory_, in_wide_memory_, streamed_;
  std::set<uint32_t> from_accumulator_;  // results that a later step reads there
  std::optional<uint32_t> accumulator_;  // the register whose value is in the accumulator
};

}  // namespace

/// Whether a step can be part of a chain.
bool TileProgram::may_join(const Step& step) const {
  if (step.kind == Step::Kind::map) return step.level == Level::full && !step.fallible;
  return step.kind == Step::Kind::reduce && step.level == Level::row && by_rows_ && reduction_of(step) &&
         (row_length_ <= static_cast<int64_t>(kReduceBlock) || form_ == Form::row_blocks);
}

/// Decides which results are stored past the caches: those of kernels that move more than fits there, whose lines would
/// be read only to be overwritten. A result that is read again stays.
void TileProgram::find_streams(StepGroups& groups, uint64_t cached_bytes) {
  if (moved_bytes() <= cached_bytes || form_ == Form::columns) return;
  std::set<uint32_t> read;
  const std::vector<Step*> steps = in_order(groups);
  for (const Step* step : steps) {
    if (step->kind != Step::Kind::store) read.insert(step->src.begin(), step->src.begin() + step->arity);
  }
  for (Step* step : steps) {
    step->is_streamed = step->direct >= 0 && step->level == Level::full && fits_accumulator(step->dtype) &&
                        may_join(*step) && !read.count(step->dst) &&
                        is_linear(direct_stores_[step->direct].access, full_walk());
    streams_ |= step->is_streamed;
  }
}

/// Returns the bytes that the kernel reads and writes: each element of a tensor once.
uint64_t TileProgram::moved_bytes() const {
  uint64_t bytes = 0;
  auto add = [&](const Step& step) {
    uint64_t elements = 1;
    for (int i = 0; i < kept_rank_ + reduced_rank_; ++i)
      elements *= step.access.stride[i] == 0 ? 1 : static_cast<uint64_t>(extent_[i]);
    bytes += elements * step.size;
  };
  for_each_load(*this, add);
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::store) add(step);
  }
  return bytes;
}

/// Whether rows of a load are consecutive elements, wherever each row starts.
bool TileProgram::lies_in_rows(const Step& load) const {
  Walk walk;
  walk.rank = reduced_rank_;
  for (int i = 0; i < reduced_rank_; ++i) {
    walk.loop[i] = static_cast<int8_t>(kept_rank_ + i);
    walk.extent[i] = extent_[kept_rank_ + i];
  }
  return is_linear(load.access, walk);
}

/// Groups neighbouring steps that chains can run, and puts a chain where each group was. Loads and scalars do not
/// separate members, since they depend on nothing. This is the final order of steps.
StepGroups TileProgram::group_steps() {
  StepGroups groups;
  std::vector<const Step*> definition(registers_, nullptr);
  const std::vector<Step> steps = std::move(steps_);
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::store) definition[step.dst] = &step;
  }
  std::vector<Step> members;
  steps_.clear();
  auto end_group = [&] {
    if (members.empty()) return;
    Step chain;
    chain.kind = Step::Kind::chain;
    chain.chain = static_cast<uint32_t>(groups.size());
    chain.phase = members.front().phase;
    steps_.push_back(chain);
    groups.push_back(std::move(members));
    members.clear();
  };
  for (const Step& step : steps) {
    if (may_join(step)) {
      if (!members.empty() && members.back().phase != step.phase) end_group();  // rows must be reduced before
      members.push_back(step);
    } else {
      const bool reads_memory = step.kind == Step::Kind::load || (step.kind == Step::Kind::choose && step.arity == 0);
      if (!reads_memory && step.kind != Step::Kind::scalar) end_group();
      steps_.push_back(step);
    }
  }
  end_group();
  compute_again(groups, definition);
  return groups;
}

/// Runs groups of one step as steps, unless a chain saves repeating an operand for a whole tile, or reading the lines
/// that the step writes.
void TileProgram::dissolve_groups(StepGroups& groups) {
  std::set<uint32_t> repeated;  // registers that a step reads from copies for a whole tile
  for (const Step* step : in_order(groups)) {
    if (step->kind != Step::Kind::store && (step->level != Level::full || step->kind == Step::Kind::scalar))
      repeated.insert(step->dst);
  }
  const auto is_worth_it = [&](const Step& step) {
    return step.is_streamed || std::any_of(step.src.begin(), step.src.begin() + step.arity,
                                           [&](uint32_t reg) { return repeated.count(reg) > 0; });
  };
  StepGroups kept;
  for (Step& step : steps_) {
    if (step.kind != Step::Kind::chain) continue;
    std::vector<Step>& members = groups[step.chain];
    if (members.size() > 1 || is_worth_it(members[0])) {
      step.chain = static_cast<uint32_t>(kept.size());
      kept.push_back(std::move(members));
    } else {
      step = Step(members[0]);
    }
  }
  groups = std::move(kept);
}

/// Repeats arithmetic ops whose operands every chain can read in each chain that needs the results: this costs less
/// than storing them. So do conversions of loads in rows of one strip, whose lanes are stored; in longer rows they cost
/// more.
void TileProgram::compute_again(StepGroups& groups, const std::vector<const Step*>& definition) const {
  if (!by_rows_) return;
  auto converts_load = [&](const Step& step) {
    return row_length_ == static_cast<int64_t>(kStrip) && step.kind == Step::Kind::map && is_conversion(step) &&
           definition[step.src[0]]->kind == Step::Kind::load;
  };
  auto is_at_hand = [&](uint32_t reg) {
    const Step& step = *definition[reg];
    return step.level == Level::row || step.kind == Step::Kind::load || step.kind == Step::Kind::scalar ||
           converts_load(step);
  };
  auto is_cheap = [&](const Step& step) {
    const auto begin = step.src.begin(), end = begin + step.arity;
    return converts_load(step) || (arithmetic_of(step) && std::all_of(begin, end, is_at_hand));
  };
  std::set<uint32_t> earlier;
  for (std::vector<Step>& group : groups) {
    std::set<uint32_t> own, again;
    for (const Step& step : group) own.insert(step.dst);
    auto repeat_sources = [&](const Step& step) {
      for (int k = 0; k < step.arity; ++k) {
        const uint32_t reg = step.src[k];
        if (earlier.count(reg) && !own.count(reg) && is_cheap(*definition[reg])) again.insert(reg);
      }
    };
    for (const Step& step : group) repeat_sources(step);
    for (uint32_t reg : std::set<uint32_t>(again)) repeat_sources(*definition[reg]);
    earlier.insert(own.begin(), own.end());
    for (auto reg = again.rbegin(); reg != again.rend(); ++reg) group.insert(group.begin(), *definition[*reg]);
  }
}

/// Makes the chains of groups, in which results have their memory.
void TileProgram::build_chains(StepGroups groups) {
  dissolve_groups(groups);
  std::vector<Step> all;
  for (const Step* step : in_order(groups)) all.push_back(*step);
  std::vector<const Step*> definition(registers_, nullptr);
  for (const Step& step : all) {
    if (step.kind != Step::Kind::store && !definition[step.dst]) definition[step.dst] = &step;
  }
  constexpr int kPlain = -1;
  std::vector<std::set<int>> readers(registers_);  // per register: chains other than its own, or kPlain
  std::vector<int> home(registers_, -1);           // the chain that computes it for all others
  for (const Step& step : steps_) {
    for (int k = 0; k < step.arity; ++k) readers[step.src[k]].insert(kPlain);
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    std::set<uint32_t> own;
    for (const Step& step : groups[g]) {
      if (home[step.dst] < 0) home[step.dst] = static_cast<int>(g);
      for (int k = 0; k < step.arity; ++k) {
        if (!own.count(step.src[k])) readers[step.src[k]].insert(static_cast<int>(g));
      }
      own.insert(step.dst);
    }
  }
  if (by_rows_) {
    for (const Step& step : steps_) {
      if (step.kind == Step::Kind::load && step.level == Level::full && !step.is_copied && lies_in_rows(step))
        rows_in_place_.emplace(step.dst, step);
    }
    std::erase_if(steps_, [&](const Step& step) {
      return step.kind == Step::Kind::load && rows_in_place_.count(step.dst) && !readers[step.dst].count(kPlain);
    });
  }
  auto operand_of = [&](uint32_t reg, Chain::Form form) { return chain_operand(*definition[reg], form); };
  for (size_t g = 0; g < groups.size(); ++g) {
    auto lives_on = [&](uint32_t reg) { return home[reg] == static_cast<int>(g) && !readers[reg].empty(); };
    auto streams = [](const Step& step) { return step.is_streamed; };
    chains_.push_back(ChainBuilder::build(groups[g], row_length_, operand_of, lives_on, streams));
    join_rows(chains_.back());
  }
  read_ahead();
}

/// Lets a chain over rows of one strip take all rows of a tile as the strips of one row, if its operands follow each
/// other in memory or repeat: the lanes of a row are then its elements.
void TileProgram::join_rows(Chain& chain) const {
  auto allows_it = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::repeated) return operand.row_bytes == 0;
    return operand.kind != Operand::Kind::row || operand.row_bytes == 0 ||
           is_linear(rows_in_place_.at(operand.reg).access, full_walk());
  };
  chain.is_joined = by_rows_ && row_length_ == static_cast<int64_t>(kStrip) &&
                    std::all_of(chain.operands.begin(), chain.operands.end(), allows_it);
  if (!chain.is_joined) return;
  for (ChainInstr& instr : chain.code) {
    const bool reduces = std::any_of(std::begin(kReductions), std::end(kReductions),
                                     [&](const auto& reduction) { return reduction.second == instr.code; });
    if (reduces) instr.code = ChainCode::store;
  }
}

/// Describes a value that a step outside the chain has computed.
Operand TileProgram::chain_operand(const Step& definition, Chain::Form form) const {
  Operand operand{Operand::Kind::elements, definition.dst, definition.size};
  if (rows_in_place_.count(definition.dst)) {
    operand.kind = Operand::Kind::row;
    operand.row_bytes = kept_rank_ == 0   ? 0
                        : kept_rank_ == 1 ? definition.access.stride[0] * definition.size
                                          : Chain::kUneven;
  } else if (definition.level == Level::row || definition.kind == Step::Kind::scalar) {
    operand.kind = form == Chain::Form::wide_one ? Operand::Kind::one : Operand::Kind::repeated;
    operand.is_widened = form != Chain::Form::own && definition.dtype != DType::f32;
    operand.dtype = definition.dtype;
    if (operand.is_widened) operand.size = sizeof(float);
    if (definition.level == Level::row) operand.row_bytes = operand.size;
  } else {
    operand.row_bytes = row_length_ * definition.size;
  }
  return operand;
}

/// Prefetches the rows of the next tile, those to read and those to write in caches, while this tile is computed.
/// The last chain waits for its stores, so the one before it prefetches; if there is only one chain, it prefetches if
/// it has calls (such as exp), which take long enough.
void TileProgram::read_ahead() {
  if (!by_rows_ || form_ != Form::rows || chains_.empty() || rows_ * row_length_ < kCachedElements) return;
  Chain& chain = chains_[std::max<size_t>(chains_.size(), 2) - 2];
  const bool has_calls =
      std::any_of(chain.code.begin(), chain.code.end(), [](const ChainInstr& i) { return i.code == ChainCode::call; });
  if (chains_.size() == 1 && !has_calls) return;
  for (const Step& result : chains_.back().results) {
    if (result.direct >= 0 && result.level == Level::full && !result.is_streamed)
      rows_in_place_.emplace(result.dst, direct_stores_[result.direct]);
  }
  for (const auto& [reg, step] : rows_in_place_) {
    const auto begin = step.access.stride.begin();
    if (std::all_of(begin, begin + kept_rank_, [](int64_t stride) { return stride == 0; })) continue;
    Operand ahead{Operand::Kind::ahead, reg, step.size,
                  kept_rank_ == 1 ? step.access.stride[0] * step.size : Chain::kUneven};
    ChainInstr prefetch{ChainCode::prefetch, ChainRead::f32, static_cast<uint16_t>(chain.operands.size())};
    prefetch.in[0] = static_cast<uint16_t>(kStrip * step.size);
    chain.operands.push_back(ahead);
    chain.code.insert(chain.code.begin() + 1, prefetch);
  }
}

}  // namespace tsl::cpu
