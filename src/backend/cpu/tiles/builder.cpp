#include "backend/cpu/tiles/builder.h"

#include "backend/cpu/tiles/checker.h"
#include "graph/domain.h"
#include "graph/plan_steps.h"
#include "graph/spec.h"

namespace tsl::cpu {

using graph::Instr;
using graph::Kernel;

namespace {

Loops loops_of(const Kernel& kernel) {
  Loops loops;
  loops.kept_rank = kernel.kept.rank();
  loops.reduced_rank = kernel.reduced.rank();
  for (int i = 0; i < loops.kept_rank; ++i) loops.rows *= loops.extent[i] = kernel.kept[i].hint();
  for (int i = 0; i < loops.reduced_rank; ++i)
    loops.row_length *= loops.extent[loops.kept_rank + i] = kernel.reduced[i].hint();
  return loops;
}

/// Whether the steps only store a number of the host program.
bool stores_number(const TilePlan& tiles) {
  return tiles.loops.rows == 1 && tiles.loops.row_length == 1 && tiles.steps.size() == 2 && tiles.steps[0].is<Fill>() &&
         tiles.steps[1].is<Store>() && tiles.steps[1].level == graph::Level::full;
}

/// Makes the steps of a tile, their order and their memory.
void build_steps(TilePlan& tiles, const TileSource& source) {
  const auto& form = tiles.shape.form;
  if (!source.is_plain()) tiles.move = graph::move_of(source.kernel);
  add_steps(tiles, source);
  choose_form(tiles, source);
  if (!tiles.shape.by_rows || form == TileShape::Form::row_blocks) skip_conversions(tiles, source.table);
  add_spreads(tiles);
  order_steps(tiles);
  tiles.stores_number = stores_number(tiles);
  choose_tile(tiles, source.is_plain());
  if (!source.is_plain()) {
    const bool has_groups = tiles.shape.elements >= static_cast<int64_t>(kStrip) && group_steps(tiles);
    share_memory(tiles, source.plan);
    if (has_groups) {
      find_streams(tiles, source.cached_bytes);
      dissolve_groups(tiles);
      build_chains(tiles);
    }
  }
  if (form == TileShape::Form::row_blocks) divide_into_phases(tiles);
  place_registers(tiles);
}

}  // namespace

Walk Loops::full_walk() const {
  Walk walk;
  walk.rank = kept_rank + reduced_rank;
  for (int i = 0; i < walk.rank; ++i) {
    walk.loop[i] = static_cast<int8_t>(i);
    walk.extent[i] = extent[i];
  }
  return walk;
}

Walk Loops::row_walk() const {
  Walk walk = full_walk();
  walk.rank = kept_rank;
  return walk;
}

Walk Loops::walk_of(graph::Level level) const {
  return level == graph::Level::full ? full_walk() : level == graph::Level::row ? row_walk() : Walk();
}

TilePlan build_tiles(const Kernel& kernel, const graph::Plan& plan, const KernelTable& table, uint64_t cached_bytes,
                     TileForms forms) {
  TilePlan tiles;
  tiles.loops = loops_of(kernel);
  tiles.operations = static_cast<int64_t>(kernel.program.size());
  for (const Kernel& box : forms == TileForms::plain ? std::vector<Kernel>() : divide_into_boxes(kernel)) {
    // Whether results are stored past the caches is for the kernel to decide: a box has its share of them.
    const auto share = static_cast<double>(graph::count_of(box.kept)) / static_cast<double>(tiles.loops.rows);
    const auto bytes = static_cast<uint64_t>(share * static_cast<double>(cached_bytes));
    tiles.boxes.push_back(build_tiles(box, plan, table, bytes));
  }
  if (tiles.boxes.empty()) build_steps(tiles, {kernel, plan, table, cached_bytes, forms});
  if (graph::enforces_specification()) check_tiles(tiles, kernel, plan);
  return tiles;
}

}  // namespace tsl::cpu
