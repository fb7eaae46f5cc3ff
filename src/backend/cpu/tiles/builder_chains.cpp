// Groups the steps that chains run, and turns the groups into chains.
#include <algorithm>
#include <set>

#include "backend/cpu/tiles/builder.h"

namespace tsl::cpu {

using graph::Level;
using Operand = Chain::Operand;

// ---- Groups ---------------------------------------------------------------------------------------------------------

namespace {

/// Finds steps that cost less to repeat in each chain that needs their results than to store: arithmetic ops whose
/// operands every chain can read, and conversions of loads in rows of one strip, whose lanes are stored.
class Repeater {
 public:
  Repeater(const Loops& loops, std::vector<const Step*> definition)
      : loops_(loops), definition_(std::move(definition)) {}

  /// Repeats such steps in each group.
  void repeat(std::vector<Step>& steps) {
    for (Step& step : steps) {
      auto* chain = step.as<Chain>();
      if (!chain) continue;
      std::vector<Step>& group = chain->steps;
      std::set<uint32_t> own, again;
      for (const Step& member : group) own.insert(member.dst);
      for (const Step& member : group) add_sources(member, own, again);
      for (uint32_t reg : std::set<uint32_t>(again)) add_sources(*definition_[reg], own, again);
      earlier_.insert(own.begin(), own.end());
      for (auto reg = again.rbegin(); reg != again.rend(); ++reg) group.insert(group.begin(), *definition_[*reg]);
    }
  }

 private:
  void add_sources(const Step& step, const std::set<uint32_t>& own, std::set<uint32_t>& again) const {
    for (const uint32_t reg : sources(step)) {
      if (earlier_.count(reg) && !own.count(reg) && is_cheap(*definition_[reg])) again.insert(reg);
    }
  }

  /// Whether a step converts a load. In longer rows this costs more.
  bool converts_load(const Step& step) const {
    return loops_.row_length == static_cast<int64_t>(kStrip) && is_conversion(step) &&
           definition_[step.as<Map>()->src[0]]->is<Load>();
  }

  bool is_at_hand(uint32_t reg) const {
    const Step& step = *definition_[reg];
    return step.level == Level::row || step.is<Load>() || step.is<Fill>() || converts_load(step);
  }

  bool is_cheap(const Step& step) const {
    const auto read = sources(step);
    return converts_load(step) || (is_arithmetic(step) && std::all_of(read.begin(), read.end(), [this](uint32_t reg) {
                                     return is_at_hand(reg);
                                   }));
  }

  const Loops& loops_;
  const std::vector<const Step*> definition_;  // by register
  std::set<uint32_t> earlier_;                 // registers of the groups before
};

}  // namespace

bool may_join(const TilePlan& tiles, const Step& step) {
  if (const auto* map = step.as<Map>()) return step.level == Level::full && !map->fallible;
  return step.reduces_rows() && tiles.shape.by_rows && reduces_accumulator(step) &&
         (tiles.loops.row_length <= static_cast<int64_t>(kReduceBlock) ||
          tiles.shape.form == TileShape::Form::row_blocks);
}

bool group_steps(TilePlan& tiles) {
  std::vector<Step> steps = std::move(tiles.steps);
  tiles.steps.clear();
  std::vector<Step> members;
  const auto end_group = [&] {
    if (members.empty()) return;
    Step chain;
    chain.phase = members.front().phase;
    chain.does.emplace<Chain>().steps = std::move(members);
    tiles.steps.push_back(std::move(chain));
    members.clear();
  };
  for (const Step& step : steps) {
    if (may_join(tiles, step)) {
      if (!members.empty() && members.back().phase != step.phase) end_group();  // rows must be reduced before
      members.push_back(step);
    } else {
      // Loads and numbers do not separate members, since they depend on nothing.
      if (!only_loads(step) && !step.is<Fill>()) end_group();
      tiles.steps.push_back(step);
    }
  }
  end_group();
  if (tiles.shape.by_rows) Repeater(tiles.loops, definitions_of(steps, tiles.memory.registers)).repeat(tiles.steps);
  return std::any_of(tiles.steps.begin(), tiles.steps.end(), [](const Step& step) { return step.is<Chain>(); });
}

void dissolve_groups(TilePlan& tiles) {
  std::set<uint32_t> repeated;  // registers that a step reads from copies for a whole tile
  for (const Step* step : in_order(tiles)) {
    if (step->has_result() && (step->level != Level::full || step->is<Fill>())) repeated.insert(step->dst);
  }
  const auto is_worth_it = [&](const Step& step) {
    const auto read = sources(step);
    return step.memory.is_streamed ||
           std::any_of(read.begin(), read.end(), [&](uint32_t reg) { return repeated.count(reg) > 0; });
  };
  for (Step& step : tiles.steps) {
    auto* chain = step.as<Chain>();
    if (!chain || chain->steps.size() > 1 || is_worth_it(chain->steps[0])) continue;
    Step alone = std::move(chain->steps[0]);
    step = std::move(alone);
  }
}

std::vector<Step*> in_order(TilePlan& tiles) {
  std::vector<Step*> order;
  for (Step& step : tiles.steps) {
    auto* chain = step.as<Chain>();
    if (!chain) order.push_back(&step);
    for (Step& member : chain ? std::span<Step>(chain->steps) : std::span<Step>()) order.push_back(&member);
  }
  return order;
}

std::vector<const Step*> definitions_of(std::span<const Step> steps, uint32_t registers) {
  std::vector<const Step*> definition(registers, nullptr);
  for (const Step& step : steps) {
    if (step.has_result() && !definition[step.dst]) definition[step.dst] = &step;
  }
  return definition;
}

// ---- Chains ---------------------------------------------------------------------------------------------------------

namespace {

/// Kernels with fewer elements in all read from a cache, where prefetching costs more than it gains.
constexpr int64_t kCachedElements = int64_t{2} << 20;

/// Whether rows of a load are consecutive elements, wherever each row starts.
bool lies_in_rows(const Loops& loops, const Access& access) {
  Walk walk;
  walk.rank = loops.reduced_rank;
  for (int i = 0; i < loops.reduced_rank; ++i) {
    walk.loop[i] = static_cast<int8_t>(loops.kept_rank + i);
    walk.extent[i] = loops.extent[loops.kept_rank + i];
  }
  return is_linear(access, walk);
}

/// Who reads a register.
struct Readers {
  int home = -1;          // the chain that computes it for all others: its place among the steps
  bool by_step = false;   // a step that is no chain reads it
  bool by_chain = false;  // … or a chain that does not compute it before
};

std::vector<Readers> readers_of(const TilePlan& tiles) {
  std::vector<Readers> readers(tiles.memory.registers);
  for (size_t i = 0; i < tiles.steps.size(); ++i) {
    for (const uint32_t reg : sources(tiles.steps[i])) readers[reg].by_step = true;
    const auto* chain = tiles.steps[i].as<Chain>();
    if (!chain) continue;
    std::set<uint32_t> own;
    for (const Step& member : chain->steps) {
      if (readers[member.dst].home < 0) readers[member.dst].home = static_cast<int>(i);
      for (const uint32_t reg : sources(member)) {
        if (!own.count(reg)) readers[reg].by_chain = true;
      }
      own.insert(member.dst);
    }
  }
  return readers;
}

/// Finds loads whose rows chains read in place.
std::map<uint32_t, Elements> find_rows(const TilePlan& tiles) {
  std::map<uint32_t, Elements> rows;
  if (!tiles.shape.by_rows) return rows;
  for (const Step& step : tiles.steps) {
    const auto* load = step.as<Load>();
    if (load && step.level == Level::full && !load->is_copied && lies_in_rows(tiles.loops, load->from.access))
      rows.emplace(step.dst, load->from);
  }
  return rows;
}

/// Lets a chain over rows of one strip take all rows of a tile as the strips of one row, if its operands follow each
/// other in memory or repeat: the lanes of a row are then its elements.
void join_rows(Chain& chain, const TilePlan& tiles) {
  const auto allows_it = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::repeated) return operand.row_bytes == 0;
    return operand.kind != Operand::Kind::row || operand.row_bytes == 0 ||
           is_linear(chain.rows[operand.rows].access, tiles.loops.full_walk());
  };
  chain.is_joined = tiles.shape.by_rows && tiles.loops.row_length == static_cast<int64_t>(kStrip) &&
                    std::all_of(chain.operands.begin(), chain.operands.end(), allows_it);
  if (!chain.is_joined) return;
  for (ChainInstr& instr : chain.code) {
    if (combines_lanes(instr.code)) instr.code = ChainCode::store;
  }
}

/// Lets a chain prefetch a row of the next tile, unless it is the same for all of them.
void prefetch(Chain& chain, uint32_t reg, const Elements& elements, uint32_t size, int kept_rank) {
  const auto& stride = elements.access.stride;
  if (std::all_of(stride.begin(), stride.begin() + kept_rank, [](int64_t s) { return s == 0; })) return;
  Operand ahead{Operand::Kind::ahead, reg, size, kept_rank == 1 ? stride[0] * size : Chain::kUneven};
  ahead.rows = static_cast<uint32_t>(chain.rows.size());
  ChainInstr instr{ChainCode::prefetch, ChainRead::f32, static_cast<uint16_t>(chain.operands.size())};
  instr.in[0] = static_cast<uint16_t>(kStrip * size);
  chain.rows.push_back(elements);
  chain.operands.push_back(ahead);
  chain.code.insert(chain.code.begin() + 1, instr);
}

/// Prefetches the rows of the next tile, those to read and those to write in caches, while this tile is computed.
/// The last chain waits for its stores, so the one before it prefetches; if there is only one chain, it prefetches if
/// it has calls (such as exp), which take long enough.
void read_ahead(const TilePlan& tiles, const ChainInputs& inputs, const std::vector<Chain*>& chains) {
  const Loops& loops = tiles.loops;
  const bool may_gain = tiles.shape.by_rows && tiles.shape.form == TileShape::Form::rows;
  if (!may_gain || chains.empty() || loops.rows * loops.row_length < kCachedElements) return;
  Chain& chain = *chains[std::max<size_t>(chains.size(), 2) - 2];
  const bool has_calls =
      std::any_of(chain.code.begin(), chain.code.end(), [](const ChainInstr& i) { return i.code == ChainCode::call; });
  if (chains.size() == 1 && !has_calls) return;
  std::map<uint32_t, Elements> rows = inputs.rows;
  for (const Step& result : chains.back()->steps) {
    if (result.memory.output && result.level == Level::full && !result.memory.is_streamed)
      rows.emplace(result.dst, *result.memory.output);
  }
  for (const auto& [reg, elements] : rows)
    prefetch(chain, reg, elements, inputs.definition[reg]->size, loops.kept_rank);
}

}  // namespace

void build_chains(TilePlan& tiles) {
  std::vector<Step> all;
  for (const Step* step : in_order(tiles)) all.push_back(*step);
  const std::vector<Readers> readers = readers_of(tiles);
  const ChainInputs inputs{tiles.loops, definitions_of(all, tiles.memory.registers), find_rows(tiles)};
  std::vector<Chain*> chains;
  for (size_t i = 0; i < tiles.steps.size(); ++i) {
    auto* chain = tiles.steps[i].as<Chain>();
    if (!chain) continue;
    std::set<uint32_t> kept;
    for (const Step& step : chain->steps) {
      const Readers& of = readers[step.dst];
      if (of.home == static_cast<int>(i) && (of.by_step || of.by_chain)) kept.insert(step.dst);
    }
    *chain = write_chain(chain->steps, inputs, kept);
    join_rows(*chain, tiles);
    chains.push_back(chain);
  }
  read_ahead(tiles, inputs, chains);
  std::erase_if(tiles.steps, [&](const Step& step) {
    return step.is<Load>() && inputs.rows.count(step.dst) && !readers[step.dst].by_step;
  });
}

}  // namespace tsl::cpu
