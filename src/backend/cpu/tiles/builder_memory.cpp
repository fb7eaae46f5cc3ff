// Gives the results of steps their memory: that of an output, of the tile, or what a long row keeps.
#include <algorithm>
#include <map>
#include <set>

#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles/tile_plan.h"

namespace tsl::cpu {

using graph::Level;
using graph::Plan;

namespace {

/// Extends the last use of what a choice reads to that of its result, which may be the same memory. Choices come from
/// the last one to the first.
template <class Use> void extend_uses(const Step& step, std::vector<Use>& last_use) {
  if (step.kind != Step::Kind::choose) return;
  for (int k = 0; k < step.arity; ++k) last_use[step.src[k]] = std::max(last_use[step.src[k]], last_use[step.dst]);
}

/// Allocates and reuses pieces of a tile's memory.
class Slots {
 public:
  explicit Slots(size_t reserved) : end_(aligned(reserved)) {}

  int32_t take(size_t bytes) {
    const auto reusable = free_.find(aligned(bytes));
    if (reusable == free_.end()) return add(bytes);
    const int32_t slot = reusable->second;
    free_.erase(reusable);
    return slot;
  }
  int32_t add(size_t bytes) {
    end_ += aligned(bytes);
    return static_cast<int32_t>(end_ - aligned(bytes));
  }
  void give_back(size_t bytes, int32_t slot) { free_.emplace(aligned(bytes), slot); }
  uint32_t size() const { return end_; }

 private:
  static uint32_t aligned(size_t bytes) { return static_cast<uint32_t>((bytes + 63) / 64 * 64); }
  uint32_t end_;
  std::multimap<uint32_t, int32_t> free_;  // bytes -> slot
};

/// Calls visit(register) for every register that a step reads.
template <class Visit> void for_each_source(const Step& step, const std::vector<Chain>& chains, Visit visit) {
  if (step.kind != Step::Kind::chain) {
    for (int k = 0; k < step.arity; ++k) visit(step.src[k]);
    return;
  }
  for (const Chain::Operand& operand : chains[step.chain].operands) {
    if (!operand.is_result && operand.kind <= Chain::Operand::Kind::repeated) visit(operand.reg);
  }
}

/// Allocates memory that a chain needs only while it runs.
void place_chain(Chain& chain, Slots& slots, int64_t rows) {
  const size_t addresses = 2 * chain.operands.size() * sizeof(ChainOperand);
  // The lanes of all rows of a joined chain are strips; numbers are converted for all rows at once.
  auto bytes_of = [&](const Chain::Operand& operand) {
    int64_t bytes = kMaxInHand * operand.size;
    if (operand.kind == Chain::Operand::Kind::lanes)
      bytes = operand.row_bytes * (chain.is_joined ? rows : std::min(rows, Chain::kFoldedRows));
    else if (operand.kind == Chain::Operand::Kind::one) bytes = std::max(bytes, rows * operand.row_bytes);
    return static_cast<size_t>(bytes);
  };
  chain.slot = slots.take(addresses);
  for (Chain::Operand& operand : chain.operands) operand.slot = slots.take(bytes_of(operand));
  for (const Chain::Operand& operand : chain.operands) slots.give_back(bytes_of(operand), operand.slot);
  slots.give_back(addresses, chain.slot);
}

}  // namespace

/// Returns all steps in the order in which a tile runs them; those of a chain as if one after the other.
std::vector<Step*> TileProgram::in_order(StepGroups& groups) {
  std::vector<Step*> order;
  for (Step& step : steps_) {
    if (step.kind != Step::Kind::chain) order.push_back(&step);
    else
      for (Step& member : groups[step.chain]) order.push_back(&member);
  }
  return order;
}

/// When a tile uses registers: positions in the order of its steps.
struct TileProgram::Uses {
  Uses(const std::vector<Step*>& order, uint32_t registers) : defined(registers, -1), last(registers, -1) {
    for (size_t i = 0; i < order.size(); ++i) {
      const Step& step = *order[i];
      for (int k = 0; k < step.arity; ++k) last[step.src[k]] = static_cast<int>(i);
      // A chain that repeats an op has its result for itself.
      if (step.kind != Step::Kind::store && defined[step.dst] < 0) defined[step.dst] = static_cast<int>(i);
    }
    for (size_t i = order.size(); i-- > 0;) extend_uses(*order[i], last);
  }
  std::vector<int> defined, last;
};

/// Decides which memory of the plan steps use in place: results are computed in outputs, and loads are read where they
/// are, only if no step writes memory that a later step of the tile reads. The order of steps is final.
void TileProgram::share_memory(StepGroups& groups, const Plan& plan) {
  const std::vector<Step*> order = in_order(groups);
  const Uses uses(order, registers_);
  const auto is_read_after = [&](uint32_t output, int position) {
    bool is_read = false;
    for_each_load(*this, [&](Step& load) {
      is_read |= uses.last[load.dst] > position && graph::may_share_memory(plan, load.buffer, output);
    });
    // A gather reads its indices in any order.
    const Step& step = *order[static_cast<size_t>(position)];
    return is_read || (step.index_buffer >= 0 && graph::may_share_memory(plan, step.index_buffer, output));
  };
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i]->kind == Step::Kind::store) compute_in_output(*order[i], order, uses, is_read_after);
  }
  for_each_load(*this, [&](Step& load) {
    for (int i = uses.defined[load.dst] + 1; i < uses.last[load.dst] && !load.is_copied; ++i) {
      const int64_t written = written_by(*order[static_cast<size_t>(i)]);
      load.is_copied = written >= 0 && graph::may_share_memory(plan, load.buffer, static_cast<uint32_t>(written));
    }
    const auto stride = load.access.stride.begin();
    load.is_same_for_tiles = form_ == Form::rows && load.level == Level::full && load.direct < 0 &&
                             std::all_of(stride, stride + kept_rank_, [](int64_t s) { return s == 0; });
  });
}

/// Returns the buffer that a step writes, or -1.
int64_t TileProgram::written_by(const Step& step) const {
  if (step.kind == Step::Kind::store) return step.buffer;
  return step.direct >= 0 ? static_cast<int64_t>(direct_stores_[static_cast<size_t>(step.direct)].buffer) : -1;
}

/// Lets the result that a step stores be computed in its output, if nothing is read there afterwards.
template <class IsReadAfter> void TileProgram::compute_in_output(const Step& store, const std::vector<Step*>& order,
                                                                 const Uses& uses, const IsReadAfter& is_read_after) {
  const int definition = uses.defined[store.src[0]];
  Step& source = *order[static_cast<size_t>(definition)];
  if (source.kind == Step::Kind::scalar || source.direct >= 0) return;
  if (source.level != store.level || is_read_after(store.buffer, definition)) return;
  if (form_ == Form::row_blocks && source.level != Level::full) return;  // threads repeat steps of a row
  source.direct = static_cast<int32_t>(direct_stores_.size());
  direct_stores_.push_back(store);
  if (form_ != Form::row_blocks) return;
  // A result of an earlier phase that is read last for this one needs no memory of its own.
  for (int k = 0; k < definition; ++k) {
    Step& kept = *order[static_cast<size_t>(k)];
    const bool is_result =
        kept.kind == Step::Kind::map || kept.kind == Step::Kind::choose || kept.kind == Step::Kind::gather;
    if (!is_result || kept.direct >= 0 || kept.level != Level::full || kept.phase >= source.phase) continue;
    if (uses.defined[kept.dst] != k) continue;  // a chain repeats it
    if (kept.size != source.size || uses.last[kept.dst] > definition || is_read_after(store.buffer, k)) continue;
    kept.direct = source.direct;
    break;
  }
}

/// Finds what each phase of long rows runs, and which results are kept for later ones. Loads are repeated instead.
void TileProgram::divide_into_phases() {
  std::vector<Step*> definition(registers_, nullptr);
  std::vector<uint32_t> index(registers_, 0);
  std::vector<std::set<uint32_t>> steps(1), kept(1);  // by phase
  const auto is_load = [](const Step& s) {
    return s.kind == Step::Kind::load || (s.kind == Step::Kind::choose && s.arity == 0);
  };
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const auto define = [&](Step& result) { definition[result.dst] = &result, index[result.dst] = i; };
    if (step.kind == Step::Kind::chain) {
      for (Step& result : chains_[step.chain].results) define(result);
    } else if (step.kind != Step::Kind::store) {
      define(step);
    }
    const bool is_store = step.kind == Step::Kind::store,
               reduces_rows = step.kind == Step::Kind::reduce && step.level == Level::row;
    has_row_results_ |= step.level == Level::total || (is_store && step.level == Level::row);
    if ((step.level != Level::full && !reduces_rows) || step.kind == Step::Kind::scalar) continue;
    if (is_store) {
      const Step* source = definition[step.src[0]];
      const bool is_there = source && is_in_place(*source) && direct_stores_[source->direct].buffer == step.buffer;
      step.phase = is_there ? source->phase : static_cast<uint32_t>(steps.size() - 1);  // when all loads are read
    }
    steps.resize(std::max<size_t>(steps.size(), step.phase + 1));
    kept.resize(steps.size());
    if (!is_load(step)) steps[step.phase].insert(i);
    for_each_source(step, chains_, [&](uint32_t reg) {
      const Step* source = definition[reg];
      if (!source || source->level != Level::full || source->kind == Step::Kind::scalar) return;
      if (is_load(*source)) steps[step.phase].insert(index[reg]);
      else if (source->phase < step.phase) kept[step.phase].insert(reg);
    });
  }
  for (const std::set<uint32_t>& of_phase : kept) {
    for (uint32_t reg : of_phase) {
      Step& step = *definition[reg];
      step.is_kept = true;
      if (step.kept_at >= 0 || is_in_place(step)) continue;
      step.kept_at = kept_element_bytes_;
      kept_element_bytes_ += step.size;
    }
  }
  for (size_t p = 0; p < steps.size(); ++p) {
    phases_.push_back({{steps[p].begin(), steps[p].end()}, {}});
    for (uint32_t reg : kept[p]) phases_.back().kept.push_back(*definition[reg]);
  }
}

/// Allocates registers by linear scan: memory is free again after the last use. Scalars are filled once and kept.
void TileProgram::place_registers() {
  std::vector<size_t> last_use(registers_, 0);
  std::vector<bool> on_tile(registers_, false);  // read by steps that need it for a whole tile
  for (size_t i = 0; i < steps_.size(); ++i) {
    for_each_source(steps_[i], chains_, [&](uint32_t reg) {
      last_use[reg] = i;
      on_tile[reg] = on_tile[reg] || steps_[i].kind != Step::Kind::chain;
    });
  }
  for (size_t i = steps_.size(); i-- > 0;) extend_uses(steps_[i], last_use);
  Slots slots(registers_ * sizeof(void*));
  std::vector<std::pair<size_t, int32_t>> held(registers_, {0, -1});
  auto define = [&](Step& step) {
    const bool is_scalar = step.kind == Step::Kind::scalar;
    step.repeat = step.level == Level::full ? tile_elements_ : row_elements_;
    if (is_scalar && step.level == Level::full && !on_tile[step.dst]) step.repeat = kMaxInHand;
    const size_t bytes = static_cast<size_t>(step.repeat) * step.size;
    if (step.kept_at >= 0) return;
    const bool stays = is_scalar || step.is_same_for_tiles ||
                       (form_ == Form::row_blocks && step.level != Level::full);  // for all blocks
    step.slot = stays ? slots.add(bytes) : slots.take(bytes);
    if (!stays) held[step.dst] = {bytes, step.slot};
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.kind == Step::Kind::chain) {
      for (Step& result : chains_[step.chain].results) define(result);
      place_chain(chains_[step.chain], slots, form_ == Form::rows ? tile_ : 1);
    } else if (step.kind != Step::Kind::store) {
      define(step);
    }
    for_each_source(step, chains_, [&](uint32_t reg) {
      auto& [bytes, slot] = held[reg];
      if (slot >= 0 && last_use[reg] == i) {
        slots.give_back(bytes, slot);
        slot = -1;
      }
    });
  }
  slot_bytes_ = slots.size();
}

}  // namespace tsl::cpu
