#include "backend/cpu/tiles/runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/cpu/ranges.h"
#include "base/integers.h"
#include "base/run_watch.h"

namespace tsl::cpu {

using graph::Level;
using Form = TileShape::Form;

namespace {

// Items per thread: enough for balance, few enough that their overhead is small.
constexpr int64_t kItemsPerThread = 8;

/// Whether a step loads what it has loaded for the first tile.
bool is_same_for_tiles(const Step& step) {
  const auto* load = step.as<Load>();
  return load && load->is_same_for_tiles;
}

}  // namespace

/// Calls body(worker, tile) for every tile. `elements` decides whether threads are used.
template <class Body> void TileRunner::for_each_tile(int64_t tiles, int64_t elements, Body&& body, int thread) const {
  const bool parallel =
      thread < 0 && elements * plan_.operations >= kParallelWork && tiles > 1 && state_.pool->size() > 1;
  const int64_t items = parallel ? std::min<int64_t>(tiles, state_.pool->size() * kItemsPerThread) : 1;
  auto run_item = [&](int64_t item, int on) { run_tiles(tiles * item / items, tiles * (item + 1) / items, body, on); };
  if (parallel) state_.pool->parallel_for(items, run_item);
  else run_item(0, std::max(thread, 0));
}

/// Calls body(worker, tile) for tiles [first, end) on one thread.
template <class Body> void TileRunner::run_tiles(int64_t first, int64_t end, Body&& body, int on) const {
  TileWorker worker(plan_, table_, state_, on);
  for (int64_t tile = first; tile < end; ++tile) {
    if (tile > first) poll_stop();
    body(worker, tile);
    worker.is_first_tile = false;
  }
  if (plan_.has_streams)
    std::atomic_thread_fence(std::memory_order_seq_cst);  // other threads see what went past the caches
}

void TileRunner::run(int thread) const {
  if (!plan_.boxes.empty()) return run_boxes(thread);
  if (plan_.stores_number) return store_number();
  if (is_in_place()) return;
  if (loops_.rows > 0) {
    switch (plan_.shape.form) {
      case Form::pointwise: run_pointwise(thread); break;
      case Form::rows: run_rows(); break;
      case Form::row_blocks: run_row_blocks(); break;
      case Form::columns: run_columns(); break;
    }
  }
  if (plan_.memory.totals > 0) finish_totals();
}

void TileRunner::store_number() const {
  const Step &number = plan_.steps[0], &store = plan_.steps[1];
  const Fill& fill = *number.as<Fill>();
  const Elements& to = store.as<Store>()->to;
  const ScalarBits bits = to_bits(fill.symbol ? state_.symbols[fill.symbol->id] : fill.value, number.dtype);
  std::byte* base = state_.buffers[to.buffer];
  if (const Symbol* offset = to.access.symbolic_offset) base += state_.symbols[offset->id].integer * store.size;
  std::memcpy(base + to.access.offset * store.size, bits.bytes, store.size);
}

/// Runs a tile of a pointwise kernel.
void TileRunner::run_tile(TileWorker& worker, int64_t tile) const {
  worker.full.start = tile * plan_.shape.count;
  worker.full.count = std::min(plan_.shape.count, loops_.rows - worker.full.start);
  for (const Step& step : plan_.steps) worker.execute(step);
}

void TileRunner::run_pointwise(int thread) const {
  for_each_tile(
      plan_.tiles(), loops_.rows, [&](TileWorker& worker, int64_t tile) { run_tile(worker, tile); }, thread);
}

/// Runs the boxes of a kernel; threads share the tiles of all of them.
void TileRunner::run_boxes(int thread) const {
  int64_t all = 0;
  for (const TilePlan& box : plan_.boxes) all += box.tiles();
  const bool parallel = thread < 0 && plan_.work() >= kParallelWork && state_.pool->size() > 1;
  const int64_t items = parallel ? std::min<int64_t>(all, state_.pool->size() * kItemsPerThread) : 1;
  auto run_item = [&](int64_t item, int on) {
    int64_t first = all * item / items, end = all * (item + 1) / items;
    for (const TilePlan& box : plan_.boxes) {
      const TileRunner runner(box, table_, state_);
      const int64_t own_end = std::min(end, box.tiles());
      if (first < own_end && !runner.is_in_place())
        runner.run_tiles(
            first, own_end, [&](TileWorker& worker, int64_t tile) { runner.run_tile(worker, tile); }, on);
      first = std::max<int64_t>(first - box.tiles(), 0), end -= box.tiles();
    }
  };
  if (parallel) state_.pool->parallel_for(items, run_item);
  else run_item(0, std::max(thread, 0));
}

void TileRunner::run_rows() const {
  reserve_shared(0);
  for_each_tile(ceil_div(loops_.rows, plan_.shape.count), loops_.rows * loops_.row_length,
                [&](TileWorker& worker, int64_t tile) {
                  worker.row.start = tile * plan_.shape.count;
                  worker.row.count = std::min(plan_.shape.count, loops_.rows - worker.row.start);
                  worker.full.start = worker.row.start * loops_.row_length;
                  worker.full.count = worker.row.count * loops_.row_length;
                  for (const Step& step : plan_.steps) {
                    if (!worker.is_first_tile && is_same_for_tiles(step)) continue;
                    if (step.level == Level::full) worker.execute(step);
                    else execute_row_step(worker, step);
                  }
                });
}

/// Reserves the shared memory of a run: first the rows' results that are reduced to totals, [reduction][row], then the
/// results of `kept_elements` elements that later phases read, and the partial results of `blocks` blocks per row.
std::byte* TileRunner::reserve_shared(int64_t blocks, int64_t kept_elements) const {
  const size_t kept = (static_cast<size_t>(plan_.memory.totals) * loops_.rows + 63) / 64 * 64;
  const size_t elements = static_cast<size_t>(kept_elements * plan_.memory.kept_elements);
  state_.shared_memory =
      state_.shared->reserve(kept + elements + static_cast<size_t>(plan_.memory.partials) * loops_.rows * blocks);
  return state_.shared_memory + kept;
}

/// Runs a step of level row or total for one row: operands of totals are kept.
void TileRunner::execute_row_step(TileWorker& worker, const Step& step) const {
  if (step.level == Level::row) {
    worker.execute(step);
  } else if (const auto* reduce = step.as<Reduce>()) {
    std::byte* kept = state_.shared_memory + reduce->offset_in_row * loops_.rows;
    std::memcpy(kept + worker.row.start * reduce->operand_size, worker.value(reduce->src),
                static_cast<size_t>(worker.row.count) * reduce->operand_size);
  }
}

/// Reduces the rows' results, in the order of any other row, and runs the steps that depend on totals.
void TileRunner::finish_totals() const {
  for_each_tile(1, 0, [&](TileWorker& worker, int64_t) {
    for (const Step& step : plan_.steps) {
      if (step.level != Level::total) continue;
      const auto* reduce = step.as<Reduce>();
      if (!reduce) {
        worker.execute(step);
        continue;
      }
      std::byte* out = worker.result(step);
      const std::byte* kept = state_.shared_memory + reduce->offset_in_row * loops_.rows;
      if (loops_.rows == 0) fill_identity(out, reduce->op, step.dtype, 1);
      else reduce->kernels.rows(out, kept, 1, static_cast<size_t>(loops_.rows));
    }
  });
}

/// Runs long rows block by block, each phase for all blocks of a row. Threads share the blocks of few rows in each
/// phase, and otherwise the rows.
void TileRunner::run_row_blocks() const {
  const int64_t blocks = ceil_div(loops_.row_length, static_cast<int64_t>(kReduceBlock));
  const int64_t threads = state_.pool->size();
  const bool shares_rows = threads > 1 && loops_.rows < threads * kItemsPerThread;
  const int64_t kept_elements = ceil_div((shares_rows ? loops_.rows : 1) * loops_.row_length, 64) * 64;
  const int64_t all_kept = kept_elements * (shares_rows ? 1 : threads);
  std::byte* kept = reserve_shared(std::max<int64_t>(blocks, 1), all_kept);
  std::byte* partials = kept + all_kept * plan_.memory.kept_elements;
  const auto start = [&](TileWorker& worker) {
    worker.partials = partials;
    worker.long_row.blocks = blocks;
    worker.long_row.kept = kept + (shares_rows ? 0 : worker.thread() * kept_elements * plan_.memory.kept_elements);
    worker.long_row.kept_elements = kept_elements;
  };
  for (uint32_t phase = 0; shares_rows && blocks > 0 && phase < plan_.phases.size(); ++phase) {
    if (plan_.phases[phase].steps.empty()) continue;
    for_each_tile(loops_.rows * blocks, loops_.rows * loops_.row_length, [&](TileWorker& worker, int64_t item) {
      start(worker);
      if (worker.long_row.begun_row != item / blocks) begin_phase(worker, item / blocks, phase);
      run_block(worker, item % blocks, phase);
    });
  }
  if (!shares_rows && blocks > 0) {
    for_each_tile(loops_.rows, loops_.rows * loops_.row_length, [&](TileWorker& worker, int64_t row) {
      start(worker);
      worker.long_row.kept_from = row * loops_.row_length;
      for (uint32_t phase = 0; phase < plan_.phases.size(); ++phase) {
        if (plan_.phases[phase].steps.empty()) continue;
        begin_phase(worker, row, phase);
        for (int64_t block = 0; block < blocks; ++block) {
          poll_stop();
          run_block(worker, block, phase);
        }
      }
    });
  }
  if (plan_.has_row_results) finish_rows(blocks, partials);
}

/// Computes a row's values that depend on earlier phases.
void TileRunner::begin_phase(TileWorker& worker, int64_t row, uint32_t phase) const {
  worker.long_row.begun_row = worker.row.start = row;
  worker.row.count = 1;
  for (const Step& step : plan_.steps) {
    if (step.is<Chain>() || step.reduces_rows()) {
      if (step.phase < phase) combine_results(worker, step, worker.long_row.blocks);
    } else if (step.level == Level::row && !step.is<Store>() && step.phase <= phase) {
      worker.execute(step);
    }
  }
}

/// Runs the steps of a phase for a block of the row that has begun.
void TileRunner::run_block(TileWorker& worker, int64_t block, uint32_t phase) const {
  worker.long_row.block_start = block * plan_.shape.count;
  worker.full.start = worker.row.start * loops_.row_length + worker.long_row.block_start;
  worker.full.count = std::min(plan_.shape.count, loops_.row_length - worker.long_row.block_start);
  for (const Step& kept : plan_.phases[phase].kept) worker.result(kept);
  for (uint32_t step : plan_.phases[phase].steps) worker.execute(plan_.steps[step]);
}

void TileRunner::run_columns() const {
  const int64_t blocks = ceil_div(loops_.row_length, static_cast<int64_t>(kReduceBlock));
  std::byte* partials = reserve_shared(blocks);
  const int64_t columns = loops_.extent[loops_.kept_rank - 1],
                chunks = loops_.rows / columns * ceil_div(columns, plan_.shape.count);
  for_each_tile(chunks * blocks, loops_.rows * loops_.row_length, [&](TileWorker& worker, int64_t item) {
    worker.partials = partials;
    reduce_column_block(worker, item, blocks);
  });
  finish_rows(blocks, partials);
}

/// Combines the results of blocks, and runs the steps that need those of whole rows.
void TileRunner::finish_rows(int64_t blocks, std::byte* partials) const {
  for_each_tile(ceil_div(loops_.rows, plan_.shape.row_elements), loops_.rows * blocks,
                [&](TileWorker& worker, int64_t tile) {
                  worker.partials = partials;
                  worker.row.start = tile * plan_.shape.row_elements;
                  worker.row.count = std::min(plan_.shape.row_elements, loops_.rows - worker.row.start);
                  for (const Step& step : plan_.steps) {
                    if (step.is<Chain>() || step.reduces_rows()) combine_results(worker, step, blocks);
                    else if (step.level != Level::full) execute_row_step(worker, step);
                  }
                });
}

/// Combines the results of blocks of a reduction, or of those that a chain ends with.
void TileRunner::combine_results(TileWorker& worker, const Step& step, int64_t blocks) const {
  const auto* chain = step.as<Chain>();
  if (!chain) return combine(worker, step, blocks);
  for (const Step& result : chain->steps) {
    if (result.is<Reduce>()) combine(worker, result, blocks);
  }
}

/// Reduces one block of columns. Partial results are [reduction][block][row]; the tile is [positions of the
/// block][columns of the chunk].
void TileRunner::reduce_column_block(TileWorker& worker, int64_t item, int64_t blocks) const {
  const int last_kept = loops_.kept_rank - 1;
  const int64_t columns = loops_.extent[last_kept];
  const int64_t chunks = ceil_div(columns, plan_.shape.count);
  const int64_t block = item % blocks;
  const int64_t chunk = item / blocks % chunks;
  int64_t outer = item / blocks / chunks;
  const int64_t first_row = outer * columns + chunk * plan_.shape.count;
  const int64_t width = std::min(plan_.shape.count, columns - chunk * plan_.shape.count);
  const int64_t length =
      std::min(static_cast<int64_t>(kReduceBlock), loops_.row_length - block * static_cast<int64_t>(kReduceBlock));

  Walk walk;
  walk.origin[last_kept] = chunk * plan_.shape.count;
  for (int i = last_kept - 1; i >= 0; --i) {
    walk.origin[i] = outer % loops_.extent[i];
    outer /= loops_.extent[i];
  }
  for (int i = 0; i < loops_.reduced_rank; ++i) {
    walk.loop[walk.rank] = static_cast<int8_t>(loops_.kept_rank + i);
    walk.extent[walk.rank++] = loops_.extent[loops_.kept_rank + i];
  }
  walk.loop[walk.rank] = static_cast<int8_t>(last_kept);
  walk.extent[walk.rank++] = width;
  worker.full.walk = walk;
  worker.full.start = block * static_cast<int64_t>(kReduceBlock) * width;
  worker.full.count = length * width;

  for (const Step& step : plan_.steps) {
    if (step.reduces_rows()) reduce_columns(worker, step, block, blocks, first_row);
    else if (step.level == Level::full && !plan_.shape.in_place) worker.execute(step);
  }
}

/// Reduces the columns of a block's tile, or of memory if they are reduced in place.
void TileRunner::reduce_columns(TileWorker& worker, const Step& step, int64_t block, int64_t blocks,
                                int64_t first_row) const {
  const Reduce& reduce = *step.as<Reduce>();
  const Walk& walk = worker.full.walk;
  const int64_t width = walk.extent[walk.rank - 1], length = worker.full.count / width;
  const void* in = worker.value(reduce.src);
  int64_t stride = width;
  if (plan_.shape.in_place) {
    const Step& load =
        *std::find_if(plan_.steps.begin(), plan_.steps.end(), [&](const Step& s) { return s.dst == reduce.src; });
    const Elements& from = load.as<Load>()->from;
    stride = from.access.stride[loops_.kept_rank];
    const int64_t first = origin_of(from.access, walk) + block * static_cast<int64_t>(kReduceBlock) * stride;
    in = worker.address(from, load.size) + first * load.size;
  }
  std::byte* out = worker.partials_of(reduce, blocks) + (block * loops_.rows + first_row) * step.size;
  reduce.kernels.columns(out, in, static_cast<size_t>(length), static_cast<size_t>(width), stride);
}

/// Reduces the partial results of the worker's rows: the same function over the blocks' results, in the same order.
void TileRunner::combine(TileWorker& worker, const Step& step, int64_t blocks) const {
  const Reduce& reduce = *step.as<Reduce>();
  const std::byte* partials = worker.partials_of(reduce, blocks);
  std::byte* out = worker.at(step.memory.slot);
  worker.value(step.dst) = out;
  const int64_t rows = worker.row.count;
  if (blocks == 0) {
    fill_identity(out, reduce.op, step.dtype, rows);
  } else if (reduce.arg) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = (worker.row.start + row) * blocks;
      int64_t best = 0, place = 0;
      reduce.arg(&best, worker.best_of(reduce, blocks) + first * reduce.operand_size, 1, static_cast<size_t>(blocks));
      std::memcpy(&place, partials + (first + best) * step.size, sizeof place);
      place += best * static_cast<int64_t>(kReduceBlock);
      std::memcpy(out + row * step.size, &place, sizeof place);
    }
  } else if (plan_.shape.form == Form::row_blocks) {
    reduce.combine.rows(out, partials + worker.row.start * blocks * step.size, rows, blocks);
  } else if (blocks <= static_cast<int64_t>(kReduceBlock)) {
    reduce.combine.columns(out, partials + worker.row.start * step.size, blocks, rows, loops_.rows);
  } else {
    std::vector<std::byte> column(static_cast<size_t>(blocks) * step.size);
    for (int64_t row = 0; row < rows; ++row) {
      table_.load_2d[step.size](column.data(), partials + (worker.row.start + row) * step.size, 1, blocks, 0,
                                loops_.rows);
      reduce.combine.rows(out + row * step.size, column.data(), 1, blocks);
    }
  }
}

}  // namespace tsl::cpu
