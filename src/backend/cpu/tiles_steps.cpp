// Runs single steps on one tile.
#include <cstring>

#include "backend/cpu/fill.h"
#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles.h"
#include "tensor/op_groups.h"

namespace tsl::cpu {

using graph::Level;

void TileProgram::execute(Worker& worker, const Step& step) const {
  switch (step.kind) {
    case Step::Kind::load:
      if (!step.is_read_in_place) read(worker, step, step);
      break;
    case Step::Kind::scalar: break;  // filled once per thread
    case Step::Kind::map: execute_map(worker, step); break;
    case Step::Kind::reduce: execute_reduce(worker, step); break;
    case Step::Kind::spread: execute_spread(worker, step); break;
    case Step::Kind::gather: execute_gather(worker, step); break;
    case Step::Kind::generate: execute_generate(worker, step); break;
    case Step::Kind::choose: execute_choose(worker, step); break;
    case Step::Kind::store: execute_store(worker, step); break;
    case Step::Kind::chain: execute_chain(worker, chains_[step.chain]); break;
  }
}

void TileProgram::fill_scalars(Worker& worker) const {
  for (const Step& step : steps_) {
    if (step.kind != Step::Kind::scalar) continue;
    std::byte* out = worker.memory + step.slot;
    worker.value(step.dst) = out;
    const ScalarBits bits = to_bits(worker.scalar(step.scalar, step.symbol), step.dtype);
    fill(out, bits.bytes, step.size, step.repeat);
  }
}

/// Makes the elements of a load the value of step `to`.
void TileProgram::read(Worker& worker, const Step& load, const Step& to) const {
  const Range& range = worker.range(load.level);
  const std::byte* base = worker.address(load) + origin_of(load.access, range.walk) * load.size;
  if (is_linear(load.access, range.walk)) {
    worker.value(to.dst) = base + range.start * load.size;
    return;
  }
  std::byte* out = result(worker, to);
  const auto copy = table_.load_2d[load.size];
  for_runs(load.access, range.walk, range.start, range.count,
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             copy(out + done * load.size, base + offset * load.size, rows, columns, row_stride, column_stride);
           });
}

/// Returns the destination of a step's result: its final memory if that is contiguous, else the register's slot.
std::byte* TileProgram::result(Worker& worker, const Step& step) const {
  std::byte* out = worker.memory + step.slot;
  if (step.direct >= 0) {
    const Step& store = direct_stores_[step.direct];
    const Range& range = worker.range(store.level);
    if (is_linear(store.access, range.walk)) {
      out = worker.address(store) + (origin_of(store.access, range.walk) + range.start) * store.size;
    }
  }
  worker.value(step.dst) = out;
  return out;
}

void TileProgram::execute_map(Worker& worker, const Step& step) const {
  const void* in[3];
  for (int i = 0; i < step.arity; ++i) in[i] = worker.value(step.src[i]);
  std::byte* out = result(worker, step);
  const Range& range = worker.range(step.level);
  if (!step.map(out, in, static_cast<size_t>(range.count))) worker.state.report(step.order, step.node, range.start, 0);
}

void TileProgram::execute_reduce(Worker& worker, const Step& step) const {
  std::byte* out = result(worker, step);
  const void* in = worker.value(step.src[0]);
  const size_t rows = static_cast<size_t>(worker.row.count), length = static_cast<size_t>(row_length_);
  if (length == 0) fill_identity(out, step.op, step.dtype, worker.row.count);
  else if (step.arg) step.arg(out, in, rows, length);
  else step.reduce.rows(out, in, rows, length);
}

void TileProgram::execute_spread(Worker& worker, const Step& step) const {
  std::byte* out = result(worker, step);
  const std::byte* in = static_cast<const std::byte*>(worker.value(step.src[0]));
  for (int64_t row = 0; row < worker.row.count; ++row) {
    fill(out + row * row_length_ * step.size, in + row * step.size, step.size, row_length_);
  }
}

void TileProgram::execute_gather(Worker& worker, const Step& step) const {
  const Range& range = worker.range(step.level);
  const std::byte* base = worker.address(step) + origin_of(step.access, range.walk) * step.size;
  std::byte* out = result(worker, step);
  GatherIndex rows{nullptr, 1, step.index_extent, step.index_stride, !step.from_start};
  auto copy_run = [&](const Run& from, int64_t columns, int64_t done) {
    for (int64_t c = 0; c < columns; ++c, rows.index += rows.step) {
      std::byte* to = out + (done + c) * step.size;
      const std::byte* in = base + (from.offset + c * from.column_stride) * step.size;
      const auto copied = static_cast<int64_t>(table_.gather[step.size](to, in, rows, columns - c, from.column_stride));
      if (copied == columns - c) return;
      c += copied;
      rows.index += copied * rows.step;
      std::memset(out + (done + c) * step.size, 0, step.size);
      worker.state.report(step.order, step.node, range.start + done + c, *rows.index);
    }
  };
  if (step.index_buffer < 0) {
    const int64_t* index = static_cast<const int64_t*>(worker.value(step.src[0]));
    for_runs_of<1>({&step.access}, range.walk, range.start, range.count,
                   [&](std::array<Run, 1> runs, int64_t height, int64_t columns, int64_t done) {
                     for (int64_t r = 0; r < height; ++r, done += columns, runs[0].offset += runs[0].row_stride) {
                       rows.index = index + done;
                       copy_run(runs[0], columns, done);
                     }
                   });
    return;
  }
  const int64_t* index = worker.indices(step) + origin_of(step.index_access, range.walk);
  for_runs_of<2>({&step.access, &step.index_access}, range.walk, range.start, range.count,
                 [&](std::array<Run, 2> runs, int64_t height, int64_t columns, int64_t done) {
                   rows.step = runs[1].column_stride;
                   for (int64_t r = 0; r < height; ++r, done += columns, runs[0].offset += runs[0].row_stride) {
                     rows.index = index + runs[1].offset + r * runs[1].row_stride;
                     copy_run(runs[0], columns, done);
                   }
                 });
}

void TileProgram::execute_generate(Worker& worker, const Step& step) const {
  const Range& range = worker.range(step.level);
  std::byte* out = result(worker, step);
  const Scalar a = worker.scalar(step.scalar, step.symbol), b = worker.scalar(step.scalar2, step.symbol2);
  const int dtype = static_cast<int>(step.dtype);
  auto generate = [&](std::byte* to, int64_t first, int64_t count) {
    const uint64_t from = static_cast<uint64_t>(first);
    const size_t n = static_cast<size_t>(count);
    const uint64_t key = static_cast<uint64_t>(a.as_integer()), counter = static_cast<uint64_t>(b.as_integer());
    switch (source_op(step.op)) {
      case SourceOp::fill: break;  // is Kind::scalar
      case SourceOp::iota: table_.iota[dtype](to, a, b, from, n); break;
      case SourceOp::random_bits: table_.random_bits(to, key, counter, from, n); break;
      case SourceOp::random_uniform: table_.random_uniform[dtype](to, key, counter, from, n); break;
      case SourceOp::random_normal: table_.random_normal[dtype](to, key, counter, from, n); break;
    }
  };
  // The map gives the linear index of each position.
  const int64_t origin = origin_of(step.access, range.walk);
  if (is_linear(step.access, range.walk)) {
    generate(out, origin + range.start, range.count);
    return;
  }
  for_runs(step.access, range.walk, range.start, range.count,
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             for (int64_t i = 0; i < rows * columns; ++i) {
               const int64_t at = offset + i / columns * row_stride + i % columns * column_stride;
               generate(out + (done + i) * step.size, origin + at, 1);
             }
           });
}

void TileProgram::execute_store(Worker& worker, const Step& step) const {
  const Range& range = worker.range(step.level);
  std::byte* base = worker.address(step) + origin_of(step.access, range.walk) * step.size;
  const std::byte* in = static_cast<const std::byte*>(worker.value(step.src[0]));
  if (is_linear(step.access, range.walk)) {
    std::byte* out = base + range.start * step.size;
    if (out != in) std::memcpy(out, in, static_cast<size_t>(range.count) * step.size);
    return;
  }
  const auto store = table_.store_2d[step.size];
  for_runs(step.access, range.walk, range.start, range.count,
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             store(base + offset * step.size, in + done * step.size, rows, columns, row_stride, column_stride);
           });
}

}  // namespace tsl::cpu
