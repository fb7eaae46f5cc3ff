// Chooses the form of a kernel, and the extents of its tiles.
#include <algorithm>

#include "backend/cpu/tiles/builder.h"

namespace tsl::cpu {

using graph::Level;
using Form = TileShape::Form;

namespace {

// The elements of a tile: several registers of this length fit in a 32 KiB first-level cache.
constexpr int64_t kTileElements = 2048;
// Those of a tile that is only copied, where they pass through the first-level cache once.
constexpr int64_t kCopiedElements = 16 * 1024;
// Those of a tile whose chains run row by row, and keep most of their values in registers.
constexpr int64_t kLongTileElements = 4096;
// The most elements per register in a tile of a column reduction, which stays in the second-level cache.
constexpr int64_t kColumnTileElements = 16 * 1024;
// The fewest bytes of a row of such a tile, which are a cache line, and the most columns.
constexpr int64_t kColumnBytes = 64, kMaxColumns = 512;
// Rows of a tile whose elements are far apart in memory: neighbours share cache lines, which are then read once. The
// rows may leave the first-level cache, but have at most as many elements per register as the last number says.
constexpr int64_t kFewestAcross = 16, kMostAcross = 64, kMostElementsAcross = 512 * 1024;

/// Whether most operands of the reductions are contiguous along the last kept loop rather than along the reduced ones.
bool prefers_columns(const TilePlan& tiles) {
  const Loops& loops = tiles.loops;
  if (loops.kept_rank == 0 || loops.reduced_rank == 0) return false;
  bool along_kept = false, along_reduced = false;
  const auto count = [&](const Step& step, const Access& access) {
    if (step.level != Level::full) return;
    along_reduced |= access.stride[loops.kept_rank + loops.reduced_rank - 1] == 1;
    along_kept |= access.stride[loops.kept_rank - 1] == 1;
  };
  for_each_load(tiles.steps, [&](const Step& step, const Load& load) {
    if (!load.is_read_in_place) count(step, load.from.access);
  });
  for (const Step& step : tiles.steps) {
    if (const auto* gather = step.as<Gather>()) count(step, gather->from.access);
  }
  return along_kept && !along_reduced;
}

/// Whether columns are reduced directly from memory, with nothing to compute before.
bool reads_only_columns(const TilePlan& tiles) {
  const int kept = tiles.loops.kept_rank;
  return tiles.loops.reduced_rank == 1 && std::all_of(tiles.steps.begin(), tiles.steps.end(), [&](const Step& step) {
           const auto* load = step.as<Load>();
           return step.level != Level::full || (load && load->from.access.stride[kept - 1] == 1);
         });
}

/// Returns the number of rows of a tile.
int64_t rows_in_tile(const TilePlan& tiles, bool is_plain) {
  const int64_t length = std::max<int64_t>(tiles.loops.row_length, 1);
  int64_t rows = (tiles.shape.by_rows ? kLongTileElements : kTileElements) / length;
  if (prefers_columns(tiles) && !is_plain) {
    const int64_t across = std::clamp(kColumnTileElements / length, kFewestAcross, kMostAcross);
    rows = std::max(rows, std::min(across, kMostElementsAcross / length));
  }
  return std::clamp<int64_t>(rows, 1, std::max<int64_t>(tiles.loops.rows, 1));
}

/// Whether a pointwise kernel computes nothing.
bool only_copies(const TilePlan& tiles) {
  return std::all_of(tiles.steps.begin(), tiles.steps.end(),
                     [](const Step& step) { return step.is<Load>() || step.is<Gather>() || step.is<Store>(); });
}

/// Chooses the columns of a tile.
void choose_columns(TilePlan& tiles) {
  TileShape& shape = tiles.shape;
  const int64_t block = std::min(tiles.loops.row_length, static_cast<int64_t>(kReduceBlock));
  shape.in_place = reads_only_columns(tiles);
  uint32_t size = sizeof(double);
  for_each_load(tiles.steps, [&](const Step& step, const Load&) { size = std::min(size, step.size); });
  shape.count =
      shape.in_place ? kMaxColumns : std::clamp(kColumnTileElements / block, kColumnBytes / size, kMaxColumns);
  shape.count = std::min(shape.count, tiles.loops.extent[tiles.loops.kept_rank - 1]);
  shape.elements = shape.in_place ? 1 : shape.count * block;
}

}  // namespace

void choose_form(TilePlan& tiles, const TileSource& source) {
  TileShape& shape = tiles.shape;
  if (source.kernel.kind == graph::Template::pointwise) return;
  shape.form = Form::rows;
  if (source.is_plain()) return;
  const bool rows_stay =
      source.kernel.kind == graph::Template::row;  // elements are used after a reduction of their row
  const int64_t length = tiles.loops.row_length;
  const bool reads_indices = std::any_of(tiles.steps.begin(), tiles.steps.end(), [](const Step& step) {
    return step.is<Reduce>() && step.as<Reduce>()->arg != nullptr;
  });
  const bool across = prefers_columns(tiles);
  if (!rows_stay && length == 0) shape.form = Form::row_blocks;
  else if (!rows_stay && across && !reads_indices) shape.form = Form::columns;
  else shape.form = length > static_cast<int64_t>(kReduceBlock) && !across ? Form::row_blocks : Form::rows;
  shape.by_rows = (rows_stay || shape.form == Form::row_blocks) && length >= static_cast<int64_t>(kStrip);
}

void choose_tile(TilePlan& tiles, bool is_plain) {
  TileShape& shape = tiles.shape;
  const Loops& loops = tiles.loops;
  switch (shape.form) {
    case Form::pointwise:
      shape.count = shape.elements = std::min(loops.rows, only_copies(tiles) ? kCopiedElements : kTileElements);
      break;
    case Form::rows:
      shape.count = rows_in_tile(tiles, is_plain);
      shape.elements = shape.count * loops.row_length;
      shape.row_elements = shape.count;
      break;
    case Form::row_blocks:
      shape.count = static_cast<int64_t>(kReduceBlock);
      shape.elements = std::min(loops.row_length, shape.count);
      shape.row_elements = std::min(loops.rows, kTileElements);
      break;
    case Form::columns:
      choose_columns(tiles);
      shape.row_elements = std::min(loops.rows, kTileElements);
      break;
  }
  shape.elements = std::max<int64_t>(shape.elements, 1);
  shape.row_elements = std::max<int64_t>(shape.row_elements, 1);
}

}  // namespace tsl::cpu
