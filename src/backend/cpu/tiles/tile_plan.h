// The plan of a kernel of the kernel IR on the CPU: steps over tiles that stay in cache.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cpu/tiles/step.h"
#include "base/integers.h"
#include "graph/plan_steps.h"

namespace tsl::cpu {

/// Which forms of tile plans may be made. `plain`: without boxes, chains, phases, and results computed in outputs, as a
/// reference for the others.
enum class TileForms : uint8_t { any, plain };

/// The loops of a kernel: the kept ones, over rows, and the reduced ones, over a row's elements.
struct Loops {
  int kept_rank = 0, reduced_rank = 0;
  std::array<int64_t, 2 * kMaxRank> extent{};  // kept, then reduced
  int64_t rows = 1, row_length = 1;

  Walk full_walk() const;
  Walk row_walk() const;
  /// Returns the walk over what a step of the level computes.
  Walk walk_of(graph::Level level) const;
};

/// How the positions of a kernel are divided into tiles.
struct TileShape {
  enum class Form : uint8_t { pointwise, rows, row_blocks, columns };
  Form form = Form::pointwise;
  bool by_rows = false;      // chains run one row at a time
  bool in_place = false;     // columns are reduced in place, without a tile
  int64_t count = 0;         // per tile: elements (pointwise), rows (rows), columns (columns)
  int64_t elements = 0;      // the most elements of a full-level register
  int64_t row_elements = 1;  // … and of a row-level one
};

/// The memory of a run besides the plan's buffers, in bytes.
struct TileMemory {
  uint32_t registers = 0;     // their number: each has an address in a worker's memory
  uint32_t worker = 0;        // of a worker: addresses and slots
  uint32_t partials = 0;      // of one partial result, for all reductions of rows together
  uint32_t totals = 0;        // per row: results that are reduced to totals
  int64_t kept_elements = 0;  // of long rows: per element, results that later phases read
};

/// Of long rows: the steps that run for each block, and earlier ones whose results these read.
struct Phase {
  std::vector<uint32_t> steps;
  std::vector<Step> kept;
};

/// One prepared kernel. build_tiles() makes it, and nothing changes it afterwards.
struct TilePlan {
  Loops loops;
  TileShape shape;
  TileMemory memory;
  std::vector<Step> steps;          // in the order in which a tile runs them
  std::vector<Phase> phases;        // of long rows
  std::vector<TilePlan> boxes;      // run instead of the steps, if there are any
  std::optional<graph::Move> move;  // all that the kernel does
  int64_t operations = 0;           // steps per element, before chains are formed
  bool stores_number = false;       // writes one host number: its two steps need no tile
  bool has_streams = false;         // stores past the caches
  bool has_row_results = false;     // of long rows: values of a row are stored or reduced, or may fail

  /// Returns the size of the kernel in element-operations.
  int64_t work() const { return loops.rows * loops.row_length * operations; }
  /// Returns the number of tiles of a pointwise kernel.
  int64_t tiles() const { return ceil_div(loops.rows, shape.count); }
};

/// Plans a kernel. `cached_bytes`: what fits in the caches.
TilePlan build_tiles(const graph::Kernel& kernel, const graph::Plan& plan, const KernelTable& table,
                     uint64_t cached_bytes, TileForms forms = TileForms::any);

}  // namespace tsl::cpu
