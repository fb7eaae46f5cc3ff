// Gives the results of steps their memory: slots of a worker, or what a long row keeps.
#include <algorithm>
#include <map>
#include <set>

#include "backend/cpu/tiles/builder.h"

namespace tsl::cpu {

using graph::Level;
using Form = TileShape::Form;

namespace {

/// Allocates and reuses pieces of a worker's memory.
class Slots {
 public:
  explicit Slots(size_t reserved) : end_(aligned(reserved)) {}

  Slot take(size_t bytes) {
    const auto reusable = free_.find(aligned(bytes));
    if (reusable == free_.end()) return add(bytes);
    const int32_t at = reusable->second;
    free_.erase(reusable);
    return {at, static_cast<uint32_t>(bytes)};
  }
  Slot add(size_t bytes) {
    end_ += aligned(bytes);
    return {static_cast<int32_t>(end_ - aligned(bytes)), static_cast<uint32_t>(bytes)};
  }
  void give_back(Slot slot) { free_.emplace(aligned(slot.bytes), slot.at); }
  uint32_t size() const { return end_; }

 private:
  static uint32_t aligned(size_t bytes) { return static_cast<uint32_t>((bytes + 63) / 64 * 64); }
  uint32_t end_;
  std::multimap<uint32_t, int32_t> free_;  // bytes -> slot
};

/// Allocates memory that a chain needs only while it runs.
void place_chain(Chain& chain, Slots& slots, int64_t rows) {
  // The lanes of all rows of a joined chain are strips; numbers are converted for all rows at once.
  const auto bytes_of = [&](const Chain::Operand& operand) {
    int64_t bytes = kMaxInHand * operand.size;
    if (operand.kind == Chain::Operand::Kind::lanes)
      bytes = operand.row_bytes * (chain.is_joined ? rows : std::min(rows, Chain::kFoldedRows));
    else if (operand.kind == Chain::Operand::Kind::one) bytes = std::max(bytes, rows * operand.row_bytes);
    return static_cast<size_t>(bytes);
  };
  chain.slot = slots.take(2 * chain.operands.size() * sizeof(ChainOperand));
  for (Chain::Operand& operand : chain.operands) operand.slot = slots.take(bytes_of(operand));
  for (const Chain::Operand& operand : chain.operands) slots.give_back(operand.slot);
  slots.give_back(chain.slot);
}

/// Allocates the slots of registers, in the order of the steps.
class SlotPlacer {
 public:
  explicit SlotPlacer(TilePlan& tiles)
      : tiles_(tiles),
        slots_(tiles.memory.registers * sizeof(void*)),
        last_use_(tiles.memory.registers, 0),
        on_tile_(tiles.memory.registers, false),
        held_(tiles.memory.registers) {}

  void run() {
    find_uses();
    for (size_t i = 0; i < tiles_.steps.size(); ++i) {
      Step& step = tiles_.steps[i];
      if (step.has_result()) allocate(step);
      if (auto* chain = step.as<Chain>()) {
        for (Step& result : chain->steps) allocate(result);
        place_chain(*chain, slots_, tiles_.shape.form == Form::rows ? tiles_.shape.count : 1);
      }
      visit_loads(step, [&](const Loaded& loaded) {
        if (loaded.elements || held_[loaded.reg].at < 0 || last_use_[loaded.reg] != i) return;
        slots_.give_back(held_[loaded.reg]);
        held_[loaded.reg] = {};
      });
    }
    tiles_.memory.worker = slots_.size();
  }

 private:
  void find_uses() {
    for (size_t i = 0; i < tiles_.steps.size(); ++i) {
      const Step& step = tiles_.steps[i];
      visit_loads(step, [&](const Loaded& loaded) {
        if (loaded.elements) return;
        last_use_[loaded.reg] = i;
        on_tile_[loaded.reg] = on_tile_[loaded.reg] || !step.is<Chain>();
      });
    }
    // The result of a choice may be the memory of what it reads.
    for (size_t i = tiles_.steps.size(); i-- > 0;) {
      const Step& step = tiles_.steps[i];
      if (!step.is<Choose>()) continue;
      for (const uint32_t reg : sources(step)) last_use_[reg] = std::max(last_use_[reg], last_use_[step.dst]);
    }
  }

  void allocate(Step& step) {
    const auto* load = step.as<Load>();
    auto* fill = step.as<Fill>();
    int64_t elements = step.level == Level::full ? tiles_.shape.elements : tiles_.shape.row_elements;
    if (fill && step.level == Level::full && !on_tile_[step.dst]) elements = kMaxInHand;
    if (fill) fill->repeat = elements;
    if (step.memory.kept_at >= 0 || (load && load->is_read_in_place)) return;
    const size_t bytes = static_cast<size_t>(elements) * step.size;
    // For all tiles, or all blocks of a row.
    const bool stays = fill || (load && load->is_same_for_tiles) ||
                       (tiles_.shape.form == Form::row_blocks && step.level != Level::full);
    step.memory.slot = stays ? slots_.add(bytes) : slots_.take(bytes);
    if (!stays) held_[step.dst] = step.memory.slot;
  }

  TilePlan& tiles_;
  Slots slots_;
  std::vector<size_t> last_use_;  // by register: the step that reads it last
  std::vector<bool> on_tile_;     // by register: a step needs it for a whole tile
  std::vector<Slot> held_;        // by register: to be given back
};

}  // namespace

void divide_into_phases(TilePlan& tiles) {
  std::vector<Step>& all = tiles.steps;
  std::vector<Step*> definition(tiles.memory.registers, nullptr);
  std::vector<uint32_t> index(tiles.memory.registers, 0);
  std::vector<std::set<uint32_t>> steps(1), kept(1);  // by phase
  for (uint32_t i = 0; i < all.size(); ++i) {
    Step& step = all[i];
    const auto define = [&](Step& result) { definition[result.dst] = &result, index[result.dst] = i; };
    if (auto* chain = step.as<Chain>()) {
      for (Step& result : chain->steps) define(result);
    } else if (step.has_result()) {
      define(step);
    }
    const auto* store = step.as<Store>();
    const auto* map = step.as<Map>();
    const bool may_fail = step.is<Gather>() || (map && map->fallible);  // also if nothing reads the result
    tiles.has_row_results |= step.level == Level::total || (step.level == Level::row && (store || may_fail));
    if ((step.level != Level::full && !step.reduces_rows()) || step.is<Fill>()) continue;
    if (store) {
      const Step* source = definition[store->src];
      const bool is_there = source && is_in_output(tiles, *source) && source->memory.output->buffer == store->to.buffer;
      step.phase = is_there ? source->phase : static_cast<uint32_t>(steps.size() - 1);  // when all loads are read
    }
    steps.resize(std::max<size_t>(steps.size(), step.phase + 1));
    kept.resize(steps.size());
    if (!only_loads(step)) steps[step.phase].insert(i);
    visit_loads(step, [&](const Loaded& loaded) {
      const Step* source = loaded.elements ? nullptr : definition[loaded.reg];
      if (!source || source->level != Level::full || source->is<Fill>()) return;
      if (only_loads(*source)) steps[step.phase].insert(index[loaded.reg]);
      else if (source->phase < step.phase) kept[step.phase].insert(loaded.reg);
    });
  }
  for (const std::set<uint32_t>& of_phase : kept) {
    for (uint32_t reg : of_phase) {
      Step& step = *definition[reg];
      step.memory.is_kept = true;
      if (step.memory.kept_at >= 0 || is_in_output(tiles, step)) continue;
      step.memory.kept_at = tiles.memory.kept_elements;
      tiles.memory.kept_elements += step.size;
    }
  }
  for (size_t p = 0; p < steps.size(); ++p) {
    tiles.phases.push_back({{steps[p].begin(), steps[p].end()}, {}});
    for (uint32_t reg : kept[p]) tiles.phases.back().kept.push_back(*definition[reg]);
  }
}

void place_registers(TilePlan& tiles) { SlotPlacer(tiles).run(); }

}  // namespace tsl::cpu
