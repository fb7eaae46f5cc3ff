// Runs single steps and chains on one tile.
#include <algorithm>
#include <cstring>

#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles/tile_plan.h"
#include "tensor/op_groups.h"

namespace tsl::cpu {

using graph::Level;
using Operand = Chain::Operand;

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
  if (is_linear(load.access, range.walk) && !load.is_copied) {
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

/// Whether the elements of a step's result are computed in the memory of a store.
bool TileProgram::is_in_place(const Step& step) const {
  return step.direct >= 0 && is_linear(direct_stores_[step.direct].access, full_walk());
}

/// Returns the destination of a step's result: its final memory if that is contiguous, that of kept results or partial
/// ones, or the register's slot.
std::byte* TileProgram::result(Worker& worker, const Step& step) const {
  std::byte* out = worker.memory + step.slot;
  if (step.kept_at >= 0) {
    out = worker.kept + step.kept_at * worker.kept_elements + (worker.full.start - worker.kept_from) * step.size;
  } else if (step.kind == Step::Kind::reduce && step.level == Level::row && form_ == Form::row_blocks) {
    const int64_t block = worker.row.start * worker.blocks + worker.block_start / static_cast<int64_t>(kReduceBlock);
    out = partials_of(worker, step, worker.blocks) + block * step.size;
  } else if (step.direct >= 0) {
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
  const size_t rows = static_cast<size_t>(worker.row.count);
  const size_t length = row_length_ == 0 ? 0 : static_cast<size_t>(worker.full.count) / rows;
  if (length == 0) fill_identity(out, step.op, step.dtype, worker.row.count);
  else if (step.arg) find_best(worker, step, out, rows, length);
  else step.reduce.rows(out, in, rows, length);
}

/// Finds the places of the best elements. Of a block of a long row, stores the best element, too.
void TileProgram::find_best(Worker& worker, const Step& step, std::byte* out, size_t rows, size_t length) const {
  const auto* in = static_cast<const std::byte*>(worker.value(step.src[0]));
  step.arg(out, in, rows, length);
  if (form_ != Form::row_blocks) return;
  int64_t place = 0;
  std::memcpy(&place, out, sizeof place);
  const int64_t block = (out - partials_of(worker, step, worker.blocks)) / static_cast<int64_t>(sizeof place);
  std::memcpy(best_of(worker, step, worker.blocks) + block * step.operand_size, in + place * step.operand_size,
              step.operand_size);
}

void TileProgram::execute_spread(Worker& worker, const Step& step) const {
  table_.load_2d[step.size](result(worker, step), worker.value(step.src[0]), worker.row.count,
                            worker.full.count / worker.row.count, 1, 0);
}

void TileProgram::execute_gather(Worker& worker, const Step& step) const {
  const Range& range = worker.range(step.level);
  const std::byte* base = worker.address(step) + origin_of(step.access, range.walk) * step.size;
  std::byte* out = result(worker, step);
  GatherIndex rows{nullptr, 1, 0, step.index_extent, step.index_stride, !step.from_start};
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
      worker.state.report(step.order, step.node, range.start + done + at,
                          index[at / columns * rows.index_row + at % columns * rows.step]);
      ++at;
    }
  };
  if (step.index_buffer < 0) {
    const int64_t* index = static_cast<const int64_t*>(worker.value(step.src[0]));
    for_runs_of<1>({&step.access}, range.walk, range.start, range.count,
                   [&](const std::array<Run, 1>& runs, int64_t height, int64_t columns, int64_t done) {
                     rows.index_row = columns;
                     copy_rectangle(runs[0], index + done, height, columns, done);
                   });
    return;
  }
  const int64_t* index = worker.indices(step) + origin_of(step.index_access, range.walk);
  for_runs_of<2>({&step.access, &step.index_access}, range.walk, range.start, range.count,
                 [&](const std::array<Run, 2>& runs, int64_t height, int64_t columns, int64_t done) {
                   rows.step = runs[1].column_stride;
                   rows.index_row = runs[1].row_stride;
                   copy_rectangle(runs[0], index + runs[1].offset, height, columns, done);
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

// ---- Chains ---------------------------------------------------------------------------------------------------------

std::byte* TileProgram::row_of(Worker& worker, const Step& load, int64_t row) const {
  int64_t at = load.access.offset;
  for (int i = kept_rank_ - 1; i > 0; --i) {
    at += row % extent_[i] * load.access.stride[i];
    row /= extent_[i];
  }
  if (kept_rank_ > 0) at += row * load.access.stride[0];
  return worker.address(load) + at * load.size;
}

/// Converts elements of f16 or bf16.
void TileProgram::widen(void* out, const void* in, DType dtype, int64_t count) const {
  const void* operands[1] = {in};
  table_.cast[static_cast<int>(dtype)][static_cast<int>(DType::f32)](out, operands, static_cast<size_t>(count));
}

/// Copies a number that calls read for each element, as f32 if it is widened.
void TileProgram::repeat_number(Worker& worker, const Operand& operand, int64_t row) const {
  const size_t size = operand.is_widened ? size_of(operand.dtype) : operand.size;
  const void* number = static_cast<const std::byte*>(worker.value(operand.reg)) +
                       (operand.row_bytes > 0 ? row * static_cast<int64_t>(size) : 0);
  float wide = 0;
  if (operand.is_widened) {
    widen(&wide, number, operand.dtype, 1);
    number = &wide;
  }
  fill(worker.memory + operand.slot, number, operand.size, static_cast<int64_t>(kMaxInHand));
}

/// Returns the address of an operand for the tile's first row, or for another one that is not a step from it.
ChainOperand TileProgram::locate_row(Worker& worker, const Chain& chain, const Operand& operand, int64_t row) const {
  std::byte* slot = worker.memory + operand.slot;
  std::byte* value = static_cast<std::byte*>(const_cast<void*>(worker.value(operand.reg)));
  const size_t strip = kStrip * operand.size,
               joined_step = chain.is_joined ? static_cast<size_t>(operand.row_bytes) : 0;
  const int64_t at = worker.row.start + row;
  switch (operand.kind) {
    case Operand::Kind::elements: return {value, strip};
    case Operand::Kind::one:
      if (!operand.is_widened) return {value, joined_step};
      widen(slot, value, operand.dtype, operand.row_bytes > 0 ? worker.row.count : 1);
      return {slot, joined_step};
    case Operand::Kind::repeated: return {operand.is_copied() ? slot : value, 0};
    case Operand::Kind::row: {
      // A joined chain reads a row that all rows share from copies, one for each strip that it has in hand.
      std::byte* elements = row_of(worker, rows_in_place_.at(operand.reg), at) + worker.block_start * operand.size;
      if (!chain.is_joined || operand.row_bytes != 0 || kept_rank_ == 0) return {elements, strip};
      for (size_t i = 0; i < kMaxStrips; ++i) std::memcpy(slot + i * strip, elements, strip);
      return {slot, 0};
    }
    case Operand::Kind::ahead:
      return {row_of(worker, rows_in_place_.at(operand.reg), std::min(at + tile_, rows_ - 1)), strip};
    case Operand::Kind::lanes: return {slot, joined_step};
    case Operand::Kind::scratch: break;
  }
  return {slot, 0};
}

/// Sets the addresses of the operands for a row of the tile; those of the previous row are set already.
void TileProgram::locate(Worker& worker, const Chain& chain, ChainOperand* operands, int64_t row) const {
  for (size_t i = 0; i < chain.operands.size(); ++i) {
    const Operand& operand = chain.operands[i];
    const bool is_copied = operand.is_copied();
    if (is_copied && (row == 0 || operand.row_bytes > 0)) repeat_number(worker, operand, row);
    const bool is_free = operand.kind == Operand::Kind::lanes && row % Chain::kFoldedRows == 0;  // lanes are folded
    if (row == 0 || is_free || operand.row_bytes == Chain::kUneven)
      operands[i] = locate_row(worker, chain, operand, row);
    else if (!is_copied) operands[i].at += operand.row_bytes;
  }
}

void TileProgram::execute_chain(Worker& worker, const Chain& chain) const {
  const int64_t rows = by_rows_ && !chain.is_joined ? worker.row.count : 1;
  const size_t length = static_cast<size_t>(worker.full.count / rows);
  const size_t whole = length / kStrip * kStrip;
  for (const Step& step : chain.results) result(worker, step);
  ChainOperand* operands = reinterpret_cast<ChainOperand*>(worker.memory + chain.slot);
  for (int64_t row = 0; row < rows; ++row) {
    locate(worker, chain, operands, row);
    table_.chain(chain.code.data(), chain.code.size(), operands, 0, whole);
    if (whole < length) run_last_strip(worker, chain, operands, whole, length);
    const int64_t unfolded = row % Chain::kFoldedRows + 1;
    if (chain.is_joined) fold_lanes(worker, chain, 0, worker.row.count);
    else if (unfolded == Chain::kFoldedRows || row + 1 == rows) fold_lanes(worker, chain, row + 1 - unfolded, unfolded);
  }
}

/// Folds the lanes of rows, from `row` on: each as a row of this many elements.
void TileProgram::fold_lanes(Worker& worker, const Chain& chain, int64_t row, int64_t rows) const {
  float folded[Chain::kFoldedRows];
  const void* in[1] = {folded};
  for (const Operand& operand : chain.operands) {
    if (operand.kind != Operand::Kind::lanes) continue;
    const Step& step =
        *std::find_if(chain.results.begin(), chain.results.end(), [&](const Step& s) { return s.dst == operand.reg; });
    std::byte* out = static_cast<std::byte*>(const_cast<void*>(worker.value(operand.reg))) + row * step.size;
    const std::byte* lanes = worker.memory + operand.slot;
    for (int64_t done = 0; done < rows; done += Chain::kFoldedRows) {
      const size_t count = static_cast<size_t>(std::min(Chain::kFoldedRows, rows - done));
      step.fold(folded, lanes + done * kLaneBytes, count, kReduceLanes);
      table_.cast[static_cast<int>(DType::f32)][static_cast<int>(step.dtype)](out + done * step.size, in, count);
    }
  }
}

/// Runs a strip with fewer elements on padded copies, so that whole vectors can be read and written.
void TileProgram::run_last_strip(Worker& worker, const Chain& chain, const ChainOperand* operands, size_t begin,
                                 size_t end) const {
  const size_t count = chain.operands.size(), strips = begin / kStrip;
  ChainOperand* padded = reinterpret_cast<ChainOperand*>(worker.memory + chain.slot) + count;
  auto is_long = [](const Operand& operand) {
    return operand.kind == Operand::Kind::elements || operand.kind == Operand::Kind::row;
  };
  for (size_t i = 0; i < count; ++i) {
    const Operand& operand = chain.operands[i];
    padded[i] = {operands[i].at + strips * operands[i].step, 0};
    if (!is_long(operand)) continue;
    std::byte* copy = worker.memory + operand.slot;
    if (!operand.is_result) std::memcpy(copy, padded[i].at, (end - begin) * operand.size);
    padded[i].at = copy;
  }
  table_.chain(chain.code.data(), chain.code.size(), padded, begin, end);
  for (size_t i = 0; i < count; ++i) {
    const Operand& operand = chain.operands[i];
    if (!is_long(operand) || !operand.is_result) continue;
    std::memcpy(operands[i].at + strips * operands[i].step, padded[i].at, (end - begin) * operand.size);
  }
}

}  // namespace tsl::cpu
