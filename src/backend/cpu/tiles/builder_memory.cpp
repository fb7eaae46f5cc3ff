// Decides which memory of the plan steps use in place, and what is stored past the caches.
#include <algorithm>
#include <set>

#include "backend/cpu/tiles/builder.h"
#include "graph/plan_steps.h"

namespace tsl::cpu {

using graph::Level;
using graph::Plan;

namespace {

/// When a tile uses registers: positions in the order of its steps, in which no chain is left.
struct Uses {
  Uses(const std::vector<Step*>& order, uint32_t registers) : defined(registers, -1), last(registers, -1) {
    for (size_t i = 0; i < order.size(); ++i) {
      const Step& step = *order[i];
      for (const uint32_t reg : sources(step)) last[reg] = static_cast<int>(i);
      // A chain that repeats an op has its result for itself.
      if (step.has_result() && defined[step.dst] < 0) defined[step.dst] = static_cast<int>(i);
    }
    // The result of a choice may be the memory of what it reads.
    for (size_t i = order.size(); i-- > 0;) {
      if (!order[i]->is<Choose>()) continue;
      for (const uint32_t reg : sources(*order[i])) last[reg] = std::max(last[reg], last[order[i]->dst]);
    }
  }
  std::vector<int> defined, last;
};

/// Decides which results are computed in outputs.
class OutputChooser {
 public:
  OutputChooser(TilePlan& tiles, const Plan& plan, const std::vector<Step*>& order, const Uses& uses)
      : tiles_(tiles), plan_(plan), order_(order), uses_(uses) {
    for (size_t i = 0; i < order.size(); ++i) {
      visit_loads(*order[i], [&](const Loaded& loaded) {
        if (!loaded.elements) return;
        const bool is_result = order[i]->is<Load>() || order[i]->is<Choose>();
        const int last = static_cast<int>(i) + (loaded.order != Loaded::Order::in_turn);
        reads_.push_back({loaded.elements->buffer, is_result ? uses.last[order[i]->dst] : last});
      });
    }
  }

  void run() {
    for (const Step* step : order_) {
      if (step->is<Store>()) choose(*step);
    }
  }

 private:
  /// The last position that may read a buffer which a step loads.
  struct Read {
    uint32_t buffer;
    int last;
  };

  bool is_read_after(uint32_t output, int position) const {
    return std::any_of(reads_.begin(), reads_.end(), [&](const Read& read) {
      return read.last > position && graph::may_share_memory(plan_, read.buffer, output);
    });
  }

  /// Lets the result that a step stores be computed in its output, if nothing is read there afterwards.
  void choose(const Step& step) {
    const Store& store = *step.as<Store>();
    const int definition = uses_.defined[store.src];
    Step& source = *order_[static_cast<size_t>(definition)];
    if (source.is<Fill>() || source.memory.output) return;
    if (source.level != step.level || is_read_after(store.to.buffer, definition)) return;
    const bool has_phases = tiles_.shape.form == TileShape::Form::row_blocks;
    if (has_phases && source.level != Level::full) return;  // threads repeat steps of a row
    source.memory.output = store.to;
    if (has_phases) choose_earlier(source, definition);
  }

  /// Lets a result of an earlier phase that is read last for this one be computed in the same output: it needs no
  /// memory of its own.
  void choose_earlier(const Step& source, int definition) {
    const Elements& output = *source.memory.output;
    for (int k = 0; k < definition; ++k) {
      Step& kept = *order_[static_cast<size_t>(k)];
      const bool is_result = kept.is<Map>() || kept.is<Choose>() || kept.is<Gather>();
      if (!is_result || kept.memory.output || kept.level != Level::full || kept.phase >= source.phase) continue;
      if (uses_.defined[kept.dst] != k) continue;  // a chain repeats it
      if (kept.size != source.size || uses_.last[kept.dst] > definition || is_read_after(output.buffer, k)) continue;
      kept.memory.output = output;
      break;
    }
  }

  const TilePlan& tiles_;
  const Plan& plan_;
  const std::vector<Step*>& order_;
  const Uses& uses_;
  std::vector<Read> reads_;
};

/// Returns the bytes that the kernel reads and writes: each element of a tensor once.
uint64_t moved_bytes(const TilePlan& tiles) {
  uint64_t bytes = 0;
  const auto add = [&](const Step& step, const Access& access) {
    uint64_t elements = 1;
    for (int i = 0; i < tiles.loops.kept_rank + tiles.loops.reduced_rank; ++i)
      elements *= access.stride[i] == 0 ? 1 : static_cast<uint64_t>(tiles.loops.extent[i]);
    bytes += elements * step.size;
  };
  for_each_load(tiles.steps, [&](const Step& step, const Load& load) { add(step, load.from.access); });
  for (const Step& step : tiles.steps) {
    if (const auto* store = step.as<Store>()) add(step, store->to.access);
  }
  return bytes;
}

}  // namespace

void share_memory(TilePlan& tiles, const Plan& plan) {
  const std::vector<Step*> order = in_order(tiles);
  const Uses uses(order, tiles.memory.registers);
  OutputChooser(tiles, plan, order, uses).run();
  for_each_load(tiles.steps, [&](Step& step, Load& load) {
    for (int i = uses.defined[step.dst] + 1; i < uses.last[step.dst] && !load.is_copied; ++i) {
      visit_stores(*order[static_cast<size_t>(i)], [&](const Stored& stored) {
        const auto* written = stored.elements;
        load.is_copied |= written && graph::may_share_memory(plan, load.from.buffer, written->buffer);
      });
    }
    const auto stride = load.from.access.stride.begin();
    load.is_same_for_tiles = tiles.shape.form == TileShape::Form::rows && step.level == Level::full &&
                             !step.memory.output &&
                             std::all_of(stride, stride + tiles.loops.kept_rank, [](int64_t s) { return s == 0; });
  });
}

bool is_in_output(const TilePlan& tiles, const Step& step) {
  return step.memory.output && is_linear(step.memory.output->access, tiles.loops.full_walk());
}

void find_streams(TilePlan& tiles, uint64_t cached_bytes) {
  if (moved_bytes(tiles) <= cached_bytes || tiles.shape.form == TileShape::Form::columns) return;
  std::set<uint32_t> read;
  const std::vector<Step*> steps = in_order(tiles);
  for (const Step* step : steps) {
    if (!step->is<Store>()) read.insert(sources(*step).begin(), sources(*step).end());
  }
  for (Step* step : steps) {
    ResultMemory& memory = step->memory;
    memory.is_streamed = memory.output && step->level == Level::full && fits_accumulator(step->dtype) &&
                         may_join(tiles, *step) && !read.count(step->dst) && is_in_output(tiles, *step);
    tiles.has_streams |= memory.is_streamed;
  }
}

}  // namespace tsl::cpu
