// Runs prepared kernels: divides their loops into tiles and distributes those over threads.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles/tile_plan.h"
#include "base/run_watch.h"

namespace tsl::cpu {

using graph::Level;

namespace {

// Items per thread: enough for balance, few enough that their overhead is small.
constexpr int64_t kItemsPerThread = 8;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Walk TileProgram::full_walk() const {
  Walk walk;
  walk.rank = kept_rank_ + reduced_rank_;
  for (int i = 0; i < walk.rank; ++i) {
    walk.loop[i] = static_cast<int8_t>(i);
    walk.extent[i] = extent_[i];
  }
  return walk;
}

Walk TileProgram::row_walk() const {
  Walk walk = full_walk();
  walk.rank = kept_rank_;
  return walk;
}

/// Calls body(worker, tile) for every tile. `elements` decides whether threads are used.
template <class Body>
void TileProgram::for_each_tile(RunState& state, int64_t tiles, int64_t elements, Body&& body, int thread) const {
  const bool parallel = thread < 0 && elements * operations_ >= kParallelWork && tiles > 1 && state.pool->size() > 1;
  const int64_t items = parallel ? std::min<int64_t>(tiles, state.pool->size() * kItemsPerThread) : 1;
  auto run_item = [&](int64_t item, int on) {
    run_tiles(state, tiles * item / items, tiles * (item + 1) / items, body, on);
  };
  if (parallel) state.pool->parallel_for(items, run_item);
  else run_item(0, std::max(thread, 0));
}

/// Calls body(worker, tile) for tiles [first, end) on one thread.
template <class Body>
void TileProgram::run_tiles(RunState& state, int64_t first, int64_t end, Body&& body, int on) const {
  Worker worker{state, (*state.scratch)[on].reserve(slot_bytes_), {}, {}};
  worker.full.walk = full_walk();
  worker.row.walk = row_walk();
  worker.full.count = std::min(tile_elements_, rows_ * row_length_);
  worker.row.count = std::min(row_elements_, rows_);
  worker.thread = on;
  fill_scalars(worker);
  for (int64_t tile = first; tile < end; ++tile) {
    if (tile > first) poll_stop();
    body(worker, tile);
    worker.is_first_tile = false;
  }
  if (streams_) std::atomic_thread_fence(std::memory_order_seq_cst);  // other threads see what went past the caches
}

void TileProgram::run(RunState& state, int thread) const {
  if (!boxes_.empty()) return run_boxes(state, thread);
  if (stores_number_) return store_number(state);
  if (copies_ && state.buffers[from_] == state.buffers[to_]) return;  // a donor, or an alias
  if (rows_ > 0) {
    switch (form_) {
      case Form::pointwise: run_pointwise(state, thread); break;
      case Form::rows: run_rows(state); break;
      case Form::row_blocks: run_row_blocks(state); break;
      case Form::columns: run_columns(state); break;
    }
  }
  if (kept_bytes_ > 0) finish_totals(state);
}

void TileProgram::store_number(RunState& state) const {
  const Step &number = steps_[0], &store = steps_[1];
  const Worker worker{state, nullptr, {}, {}};
  const ScalarBits bits = to_bits(worker.scalar(number.scalar, number.symbol), number.dtype);
  std::memcpy(worker.address(store) + store.access.offset * store.size, bits.bytes, store.size);
}

int64_t TileProgram::tiles() const { return ceil_div(rows_, tile_); }

/// Runs a tile of a pointwise kernel.
void TileProgram::run_tile(Worker& worker, int64_t tile) const {
  worker.full.start = tile * tile_;
  worker.full.count = std::min(tile_, rows_ - worker.full.start);
  for (const Step& step : steps_) execute(worker, step);
}

void TileProgram::run_pointwise(RunState& state, int thread) const {
  for_each_tile(
      state, tiles(), rows_, [&](Worker& worker, int64_t tile) { run_tile(worker, tile); }, thread);
}

/// Runs the boxes of a kernel; threads share the tiles of all of them.
void TileProgram::run_boxes(RunState& state, int thread) const {
  int64_t all = 0;
  for (const TileProgram& box : boxes_) all += box.tiles();
  const bool parallel = thread < 0 && work() >= kParallelWork && state.pool->size() > 1;
  const int64_t items = parallel ? std::min<int64_t>(all, state.pool->size() * kItemsPerThread) : 1;
  auto run_item = [&](int64_t item, int on) {
    int64_t first = all * item / items, end = all * (item + 1) / items;
    for (const TileProgram& box : boxes_) {
      const int64_t own_end = std::min(end, box.tiles());
      const bool moves = !box.copies_ || state.buffers[box.from_] != state.buffers[box.to_];  // else in place
      if (first < own_end && moves)
        box.run_tiles(
            state, first, own_end, [&](Worker& worker, int64_t tile) { box.run_tile(worker, tile); }, on);
      first = std::max<int64_t>(first - box.tiles(), 0), end -= box.tiles();
    }
  };
  if (parallel) state.pool->parallel_for(items, run_item);
  else run_item(0, std::max(thread, 0));
}

void TileProgram::run_rows(RunState& state) const {
  reserve_shared(state, 0);
  for_each_tile(state, ceil_div(rows_, tile_), rows_ * row_length_, [&](Worker& worker, int64_t tile) {
    worker.row.start = tile * tile_;
    worker.row.count = std::min(tile_, rows_ - worker.row.start);
    worker.full.start = worker.row.start * row_length_;
    worker.full.count = worker.row.count * row_length_;
    for (const Step& step : steps_) {
      if (step.is_same_for_tiles && !worker.is_first_tile) continue;
      if (step.level == Level::full) execute(worker, step);
      else execute_row_step(worker, step);
    }
  });
}

/// Reserves the shared memory of a run: first the rows' results that are reduced to totals, [reduction][row], then the
/// results of `kept_elements` elements that later phases read, and the partial results of `blocks` blocks per row.
std::byte* TileProgram::reserve_shared(RunState& state, int64_t blocks, int64_t kept_elements) const {
  const size_t kept = (static_cast<size_t>(kept_bytes_) * rows_ + 63) / 64 * 64;
  const size_t elements = static_cast<size_t>(kept_elements * kept_element_bytes_);
  state.shared_memory = state.shared->reserve(kept + elements + static_cast<size_t>(partial_bytes_) * rows_ * blocks);
  return state.shared_memory + kept;
}

/// Runs a step of level row or total for one row: operands of totals are kept.
void TileProgram::execute_row_step(Worker& worker, const Step& step) const {
  if (step.level == Level::row) {
    execute(worker, step);
  } else if (step.kind == Step::Kind::reduce) {
    std::byte* kept = worker.state.shared_memory + step.offset_in_row * rows_;
    std::memcpy(kept + worker.row.start * step.operand_size, worker.value(step.src[0]),
                static_cast<size_t>(worker.row.count) * step.operand_size);
  }
}

/// Reduces the rows' results, in the order of any other row, and runs the steps that depend on totals.
void TileProgram::finish_totals(RunState& state) const {
  for_each_tile(state, 1, 0, [&](Worker& worker, int64_t) {
    for (const Step& step : steps_) {
      if (step.level != Level::total) continue;
      if (step.kind != Step::Kind::reduce) {
        execute(worker, step);
        continue;
      }
      std::byte* out = result(worker, step);
      if (rows_ == 0) fill_identity(out, step.op, step.dtype, 1);
      else step.reduce.rows(out, state.shared_memory + step.offset_in_row * rows_, 1, static_cast<size_t>(rows_));
    }
  });
}

/// Runs long rows block by block, each phase for all blocks of a row. Threads share the blocks of few rows in each
/// phase, and otherwise the rows.
void TileProgram::run_row_blocks(RunState& state) const {
  const int64_t blocks = ceil_div(row_length_, static_cast<int64_t>(kReduceBlock));
  const int64_t threads = state.pool->size();
  const bool shares_rows = threads > 1 && rows_ < threads * kItemsPerThread;
  const int64_t kept_elements = ceil_div((shares_rows ? rows_ : 1) * row_length_, 64) * 64;
  const int64_t all_kept = kept_elements * (shares_rows ? 1 : threads);
  std::byte* kept = reserve_shared(state, std::max<int64_t>(blocks, 1), all_kept);
  std::byte* partials = kept + all_kept * kept_element_bytes_;
  const auto start = [&](Worker& worker) {
    worker.partials = partials;
    worker.blocks = blocks;
    worker.kept = kept + (shares_rows ? 0 : worker.thread * kept_elements * kept_element_bytes_);
    worker.kept_elements = kept_elements;
  };
  for (uint32_t phase = 0; shares_rows && blocks > 0 && phase < phases_.size(); ++phase) {
    if (phases_[phase].steps.empty()) continue;
    for_each_tile(state, rows_ * blocks, rows_ * row_length_, [&](Worker& worker, int64_t item) {
      start(worker);
      if (worker.begun_row != item / blocks) begin_phase(worker, item / blocks, phase);
      run_block(worker, item % blocks, phase);
    });
  }
  if (!shares_rows && blocks > 0) {
    for_each_tile(state, rows_, rows_ * row_length_, [&](Worker& worker, int64_t row) {
      start(worker);
      worker.kept_from = row * row_length_;
      for (uint32_t phase = 0; phase < phases_.size(); ++phase) {
        if (phases_[phase].steps.empty()) continue;
        begin_phase(worker, row, phase);
        for (int64_t block = 0; block < blocks; ++block) {
          poll_stop();
          run_block(worker, block, phase);
        }
      }
    });
  }
  if (has_row_results_) finish_rows(state, blocks, partials);
}

/// Computes a row's values that depend on earlier phases.
void TileProgram::begin_phase(Worker& worker, int64_t row, uint32_t phase) const {
  worker.begun_row = worker.row.start = row;
  worker.row.count = 1;
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::chain || (step.kind == Step::Kind::reduce && step.level == Level::row)) {
      if (step.phase < phase) combine_results(worker, step, worker.blocks);
    } else if (step.level == Level::row && step.kind != Step::Kind::store && step.phase <= phase) {
      execute(worker, step);
    }
  }
}

/// Runs the steps of a phase for a block of the row that has begun.
void TileProgram::run_block(Worker& worker, int64_t block, uint32_t phase) const {
  worker.block_start = block * tile_;
  worker.full.start = worker.row.start * row_length_ + worker.block_start;
  worker.full.count = std::min(tile_, row_length_ - worker.block_start);
  for (const Step& kept : phases_[phase].kept) result(worker, kept);
  for (uint32_t step : phases_[phase].steps) execute(worker, steps_[step]);
}

void TileProgram::run_columns(RunState& state) const {
  const int64_t blocks = ceil_div(row_length_, static_cast<int64_t>(kReduceBlock));
  std::byte* partials = reserve_shared(state, blocks);
  const int64_t columns = extent_[kept_rank_ - 1], chunks = rows_ / columns * ceil_div(columns, tile_);
  for_each_tile(state, chunks * blocks, rows_ * row_length_, [&](Worker& worker, int64_t item) {
    worker.partials = partials;
    reduce_column_block(worker, item, blocks);
  });
  finish_rows(state, blocks, partials);
}

/// Combines the results of blocks, and runs the steps that need those of whole rows.
void TileProgram::finish_rows(RunState& state, int64_t blocks, std::byte* partials) const {
  for_each_tile(state, ceil_div(rows_, row_elements_), rows_ * blocks, [&](Worker& worker, int64_t tile) {
    worker.partials = partials;
    worker.row.start = tile * row_elements_;
    worker.row.count = std::min(row_elements_, rows_ - worker.row.start);
    for (const Step& step : steps_) {
      if (step.kind == Step::Kind::chain || (step.kind == Step::Kind::reduce && step.level == Level::row))
        combine_results(worker, step, blocks);
      else if (step.level != Level::full) execute_row_step(worker, step);
    }
  });
}

/// Combines the results of blocks of a reduction, or of those that a chain ends with.
void TileProgram::combine_results(Worker& worker, const Step& step, int64_t blocks) const {
  if (step.kind != Step::Kind::chain) return combine(worker, step, blocks);
  for (const Step& result : chains_[step.chain].results) {
    if (result.kind == Step::Kind::reduce) combine(worker, result, blocks);
  }
}

/// Returns the start of a reduction's partial results, which is aligned for any type. Those of long rows are
/// [reduction][row][block].
std::byte* TileProgram::partials_of(const Worker& worker, const Step& step, int64_t blocks) const {
  return worker.partials + step.offset_in_row * rows_ * blocks;
}

/// Returns the start of the best elements of blocks, which follow their places.
std::byte* TileProgram::best_of(const Worker& worker, const Step& step, int64_t blocks) const {
  return partials_of(worker, step, blocks) + rows_ * blocks * static_cast<int64_t>(sizeof(int64_t));
}

/// Reduces one block of columns. Partial results are [reduction][block][row]; the tile is [positions of the
/// block][columns of the chunk].
void TileProgram::reduce_column_block(Worker& worker, int64_t item, int64_t blocks) const {
  const int last_kept = kept_rank_ - 1;
  const int64_t columns = extent_[last_kept];
  const int64_t chunks = ceil_div(columns, tile_);
  const int64_t block = item % blocks;
  const int64_t chunk = item / blocks % chunks;
  int64_t outer = item / blocks / chunks;
  const int64_t first_row = outer * columns + chunk * tile_;
  const int64_t width = std::min(tile_, columns - chunk * tile_);
  const int64_t length =
      std::min(static_cast<int64_t>(kReduceBlock), row_length_ - block * static_cast<int64_t>(kReduceBlock));

  Walk walk;
  walk.origin[last_kept] = chunk * tile_;
  for (int i = last_kept - 1; i >= 0; --i) {
    walk.origin[i] = outer % extent_[i];
    outer /= extent_[i];
  }
  for (int i = 0; i < reduced_rank_; ++i) {
    walk.loop[walk.rank] = static_cast<int8_t>(kept_rank_ + i);
    walk.extent[walk.rank++] = extent_[kept_rank_ + i];
  }
  walk.loop[walk.rank] = static_cast<int8_t>(last_kept);
  walk.extent[walk.rank++] = width;
  worker.full.walk = walk;
  worker.full.start = block * static_cast<int64_t>(kReduceBlock) * width;
  worker.full.count = length * width;

  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::reduce && step.level == Level::row) {
      const void* in = worker.value(step.src[0]);
      int64_t stride = width;
      if (in_place_) {
        const Step& load =
            *std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return s.dst == step.src[0]; });
        stride = load.access.stride[kept_rank_];
        const int64_t first = origin_of(load.access, walk) + block * static_cast<int64_t>(kReduceBlock) * stride;
        in = worker.address(load) + first * load.size;
      }
      std::byte* out = partials_of(worker, step, blocks) + (block * rows_ + first_row) * step.size;
      step.reduce.columns(out, in, static_cast<size_t>(length), static_cast<size_t>(width), stride);
    } else if (step.level == Level::full && !in_place_) {
      execute(worker, step);
    }
  }
}

/// Reduces the partial results of the worker's rows: the same function over the blocks' results, in the same order.
void TileProgram::combine(Worker& worker, const Step& step, int64_t blocks) const {
  const std::byte* partials = partials_of(worker, step, blocks);
  std::byte* out = worker.memory + step.slot;
  worker.value(step.dst) = out;
  const int64_t rows = worker.row.count;
  if (blocks == 0) {
    fill_identity(out, step.op, step.dtype, rows);
  } else if (step.arg) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = (worker.row.start + row) * blocks;
      int64_t best = 0, place = 0;
      step.arg(&best, best_of(worker, step, blocks) + first * step.operand_size, 1, static_cast<size_t>(blocks));
      std::memcpy(&place, partials + (first + best) * step.size, sizeof place);
      place += best * static_cast<int64_t>(kReduceBlock);
      std::memcpy(out + row * step.size, &place, sizeof place);
    }
  } else if (form_ == Form::row_blocks) {
    step.combine.rows(out, partials + worker.row.start * blocks * step.size, rows, blocks);
  } else if (blocks <= static_cast<int64_t>(kReduceBlock)) {
    step.combine.columns(out, partials + worker.row.start * step.size, blocks, rows, rows_);
  } else {
    std::vector<std::byte> column(static_cast<size_t>(blocks) * step.size);
    for (int64_t row = 0; row < rows; ++row) {
      table_.load_2d[step.size](column.data(), partials + (worker.row.start + row) * step.size, 1, blocks, 0, rows_);
      step.combine.rows(out + row * step.size, column.data(), 1, blocks);
    }
  }
}

}  // namespace tsl::cpu
