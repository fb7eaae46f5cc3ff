#include "backend/cpu/tiles/worker.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/ranges.h"
#include "tensor/op_groups.h"

namespace tsl::cpu {

using graph::Level;
using Form = TileShape::Form;

TileWorker::TileWorker(const TilePlan& tiles, const KernelTable& table, RunState& state, int thread)
    : tiles_(tiles),
      table_(table),
      state_(state),
      thread_(thread),
      memory_((*state.scratch)[static_cast<size_t>(thread)].reserve(tiles.memory.worker)) {
  full.walk = tiles.loops.full_walk();
  row.walk = tiles.loops.row_walk();
  full.count = std::min(tiles.shape.elements, tiles.loops.rows * tiles.loops.row_length);
  row.count = std::min(tiles.shape.row_elements, tiles.loops.rows);
  fill_numbers();
}

void TileWorker::fill_numbers() {
  for (const Step& step : tiles_.steps) {
    const auto* filled = step.as<Fill>();
    if (!filled) continue;
    std::byte* out = at(step.memory.slot);
    value(step.dst) = out;
    const ScalarBits bits = to_bits(number(filled->value, filled->symbol), step.dtype);
    fill(out, bits.bytes, step.size, filled->repeat);
  }
}

const Range& TileWorker::range(Level level) const {
  static constexpr Range total{{}, 0, 1};
  return level == Level::full ? full : level == Level::row ? row : total;
}

void TileWorker::execute(const Step& step) {
  std::visit(
      [&](const auto& kind) {
        using Kind = std::remove_cvref_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, Choose>) run_choice(*this, step, kind);
        else if constexpr (std::is_same_v<Kind, Chain>) run_chain(*this, kind);
        else if constexpr (!std::is_same_v<Kind, Fill>) run(step, kind);  // numbers are filled once per thread
      },
      step.does);
}

void TileWorker::run(const Step& step, const Load& load) {
  if (!load.is_read_in_place) read(load, step);
}

void TileWorker::read(const Load& load, const Step& to) {
  const Range& range = this->range(to.level);
  const Access& access = load.from.access;
  const std::byte* base = address(load.from, to.size) + origin_of(access, range.walk) * to.size;
  if (is_linear(access, range.walk) && !load.is_copied) {
    value(to.dst) = base + range.start * to.size;
    return;
  }
  std::byte* out = result(to);
  const auto copy = table_.load_2d[to.size];
  for_runs(access, range.walk, range.start, range.count,
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             copy(out + done * to.size, base + offset * to.size, rows, columns, row_stride, column_stride);
           });
}

std::byte* TileWorker::result(const Step& step) {
  const ResultMemory& memory = step.memory;
  std::byte* out = at(memory.slot);
  if (memory.kept_at >= 0) {
    out = long_row.kept + memory.kept_at * long_row.kept_elements + (full.start - long_row.kept_from) * step.size;
  } else if (tiles_.shape.form == Form::row_blocks && step.reduces_rows()) {
    const int64_t block = row.start * long_row.blocks + long_row.block_start / static_cast<int64_t>(kReduceBlock);
    out = partials_of(*step.as<Reduce>(), long_row.blocks) + block * step.size;
  } else if (memory.output) {
    const Range& range = this->range(step.level);
    const Access& access = memory.output->access;
    if (is_linear(access, range.walk))
      out = address(*memory.output, step.size) + (origin_of(access, range.walk) + range.start) * step.size;
  }
  value(step.dst) = out;
  return out;
}

void TileWorker::run(const Step& step, const Map& map) {
  const void* in[3];
  for (int i = 0; i < map.arity; ++i) in[i] = value(map.src[i]);
  std::byte* out = result(step);
  const Range& range = this->range(step.level);
  if (!map.kernel(out, in, static_cast<size_t>(range.count)))
    state_.report(map.origin.order, map.origin.node, range.start, 0);
}

void TileWorker::run(const Step& step, const Reduce& reduce) {
  std::byte* out = result(step);
  const size_t rows = static_cast<size_t>(row.count);
  const size_t length = tiles_.loops.row_length == 0 ? 0 : static_cast<size_t>(full.count) / rows;
  if (length == 0) fill_identity(out, reduce.op, step.dtype, row.count);
  else if (reduce.arg) find_best(reduce, out, rows, length);
  else reduce.kernels.rows(out, value(reduce.src), rows, length);
}

/// Finds the places of the best elements. Of a block of a long row, stores the best element, too.
void TileWorker::find_best(const Reduce& reduce, std::byte* out, size_t rows, size_t length) {
  const auto* in = static_cast<const std::byte*>(value(reduce.src));
  reduce.arg(out, in, rows, length);
  if (tiles_.shape.form != Form::row_blocks) return;
  int64_t place = 0;
  std::memcpy(&place, out, sizeof place);
  const int64_t block = (out - partials_of(reduce, long_row.blocks)) / static_cast<int64_t>(sizeof place);
  std::memcpy(best_of(reduce, long_row.blocks) + block * reduce.operand_size, in + place * reduce.operand_size,
              reduce.operand_size);
}

void TileWorker::run(const Step& step, const Spread& spread) {
  table_.load_2d[step.size](result(step), value(spread.src), row.count, full.count / row.count, 1, 0);
}

void TileWorker::run(const Step& step, const Gather& gather) {
  const Range& range = this->range(step.level);
  const Access& access = gather.from.access;
  const std::byte* base = address(gather.from, step.size) + origin_of(access, range.walk) * step.size;
  std::byte* out = result(step);
  GatherIndex rows{nullptr, 1, 0, gather.index_extent, gather.index_stride, !gather.from_start};
  // Copies a rectangle; after an index out of range, which gives 0, goes on with the rest of its row.
  auto copy_rectangle = [&](const Run& from, const int64_t* index, int64_t height, int64_t columns, int64_t done) {
    for (int64_t at = 0; at < height * columns;) {
      const int64_t r = at / columns, c = at % columns;
      const int64_t rest = c > 0 ? 1 : height - r, width = columns - c;
      rows.index = index + r * rows.index_row + c * rows.step;
      const std::byte* in = base + (from.offset + r * from.row_stride + c * from.column_stride) * step.size;
      const size_t copied = table_.gather[step.size](out + (done + at) * step.size, in, rows, static_cast<size_t>(rest),
                                                     static_cast<size_t>(width), from.row_stride, from.column_stride);
      at += static_cast<int64_t>(copied);
      if (static_cast<int64_t>(copied) == rest * width) continue;
      std::memset(out + (done + at) * step.size, 0, step.size);
      state_.report(gather.origin.order, gather.origin.node, range.start + done + at,
                    index[at / columns * rows.index_row + at % columns * rows.step]);
      ++at;
    }
  };
  if (!gather.indices) {
    const int64_t* index = static_cast<const int64_t*>(value(gather.src));
    for_runs_of<1>({&access}, range.walk, range.start, range.count,
                   [&](const std::array<Run, 1>& runs, int64_t height, int64_t columns, int64_t done) {
                     rows.index_row = columns;
                     copy_rectangle(runs[0], index + done, height, columns, done);
                   });
    return;
  }
  const Access& places = gather.indices->access;
  const auto* index = reinterpret_cast<const int64_t*>(address(*gather.indices, sizeof(int64_t)));
  index += origin_of(places, range.walk);
  for_runs_of<2>({&access, &places}, range.walk, range.start, range.count,
                 [&](const std::array<Run, 2>& runs, int64_t height, int64_t columns, int64_t done) {
                   rows.step = runs[1].column_stride;
                   rows.index_row = runs[1].row_stride;
                   copy_rectangle(runs[0], index + runs[1].offset, height, columns, done);
                 });
}

void TileWorker::run(const Step& step, const Generate& generate) {
  const Range& range = this->range(step.level);
  std::byte* out = result(step);
  const Scalar a = number(generate.a, generate.symbol_a), b = number(generate.b, generate.symbol_b);
  const int dtype = static_cast<int>(step.dtype);
  const auto make = [&](std::byte* to, int64_t first, int64_t count) {
    const uint64_t from = static_cast<uint64_t>(first);
    const size_t n = static_cast<size_t>(count);
    const uint64_t key = static_cast<uint64_t>(a.as_integer()), counter = static_cast<uint64_t>(b.as_integer());
    switch (source_op(generate.op)) {
      case SourceOp::fill: break;  // is a Fill
      case SourceOp::iota: table_.iota[dtype](to, a, b, from, n); break;
      case SourceOp::random_bits: table_.random.bits(to, key, counter, from, n); break;
      case SourceOp::random_uniform: table_.random.uniform[dtype](to, key, counter, from, n); break;
      case SourceOp::random_normal: table_.random.normal[dtype](to, key, counter, from, n); break;
    }
  };
  // The map gives the linear index of each position.
  int64_t origin = origin_of(generate.access, range.walk);
  if (const Symbol* offset = generate.access.symbolic_offset) origin += state_.symbols[offset->id].integer;
  if (is_linear(generate.access, range.walk)) {
    make(out, origin + range.start, range.count);
    return;
  }
  for_runs(generate.access, range.walk, range.start, range.count,
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             for (int64_t row = 0; row < rows; ++row, done += columns) {
               std::byte* const to = out + done * step.size;
               const int64_t first = origin + offset + row * row_stride;
               if (column_stride == 1) {
                 make(to, first, columns);
               } else if (column_stride == 0) {
                 std::byte number[sizeof(int64_t)];
                 make(number, first, 1);
                 fill(to, number, step.size, columns);
               } else {
                 for (int64_t i = 0; i < columns; ++i) make(to + i * step.size, first + i * column_stride, 1);
               }
             }
           });
}

void TileWorker::run(const Step& step, const Store& store) {
  const Range& range = this->range(step.level);
  const Access& access = store.to.access;
  std::byte* base = address(store.to, step.size) + origin_of(access, range.walk) * step.size;
  const std::byte* in = static_cast<const std::byte*>(value(store.src));
  if (is_linear(access, range.walk)) {
    std::byte* out = base + range.start * step.size;
    if (out != in) std::memcpy(out, in, static_cast<size_t>(range.count) * step.size);
    return;
  }
  const auto copy = table_.store_2d[step.size];
  for_runs(access, range.walk, range.start, range.count,
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             copy(base + offset * step.size, in + done * step.size, rows, columns, row_stride, column_stride);
           });
}

}  // namespace tsl::cpu
