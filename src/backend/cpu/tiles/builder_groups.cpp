// Groups the steps that chains run.
#include <algorithm>
#include <set>

#include "backend/cpu/tiles/builder.h"

namespace tsl::cpu {

using graph::Level;

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

}  // namespace tsl::cpu
