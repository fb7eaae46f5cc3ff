// Runs chains on one tile.
#include <algorithm>
#include <cstring>

#include "backend/cpu/tiles/worker.h"

namespace tsl::cpu {

using Operand = Chain::Operand;

namespace {

class ChainRunner {
 public:
  ChainRunner(TileWorker& worker, const Chain& chain) : worker_(worker), chain_(chain), loops_(worker.tiles().loops) {}
  void run() const;

 private:
  void fold_lanes(int64_t row, int64_t rows) const;
  void widen(void* out, const void* in, DType dtype, int64_t count) const;
  void repeat_number(const Operand& operand, int64_t row) const;
  ChainOperand locate_row(const Operand& operand, int64_t row) const;
  void locate(ChainOperand* operands, int64_t row) const;
  std::byte* row_of(const Operand& operand, int64_t row) const;
  void run_last_strip(const ChainOperand* operands, size_t begin, size_t end) const;

  TileWorker& worker_;
  const Chain& chain_;
  const Loops& loops_;
};

/// Returns the address of a row's first element.
std::byte* ChainRunner::row_of(const Operand& operand, int64_t row) const {
  const Elements& elements = chain_.rows[operand.rows];
  const Access& access = elements.access;
  int64_t at = access.offset;
  for (int i = loops_.kept_rank - 1; i > 0; --i) {
    at += row % loops_.extent[i] * access.stride[i];
    row /= loops_.extent[i];
  }
  if (loops_.kept_rank > 0) at += row * access.stride[0];
  return worker_.address(elements, operand.size) + at * operand.size;
}

/// Converts elements of f16 or bf16.
void ChainRunner::widen(void* out, const void* in, DType dtype, int64_t count) const {
  const void* operands[1] = {in};
  worker_.table().cast[static_cast<int>(dtype)][static_cast<int>(DType::f32)](out, operands,
                                                                              static_cast<size_t>(count));
}

/// Copies a number that calls read for each element, as f32 if it is widened.
void ChainRunner::repeat_number(const Operand& operand, int64_t row) const {
  const size_t size = operand.is_widened ? size_of(operand.dtype) : operand.size;
  const void* number = static_cast<const std::byte*>(worker_.value(operand.reg)) +
                       (operand.row_bytes > 0 ? row * static_cast<int64_t>(size) : 0);
  float wide = 0;
  if (operand.is_widened) {
    widen(&wide, number, operand.dtype, 1);
    number = &wide;
  }
  fill(worker_.at(operand.slot), number, operand.size, static_cast<int64_t>(kMaxInHand));
}

/// Returns the address of an operand for the tile's first row, or for another one that is not a step from it.
ChainOperand ChainRunner::locate_row(const Operand& operand, int64_t row) const {
  std::byte* slot = worker_.at(operand.slot);
  std::byte* value = static_cast<std::byte*>(const_cast<void*>(worker_.value(operand.reg)));
  const size_t strip = kStrip * operand.size,
               joined_step = chain_.is_joined ? static_cast<size_t>(operand.row_bytes) : 0;
  const int64_t at = worker_.row.start + row;
  switch (operand.kind) {
    case Operand::Kind::elements: return {value, strip};
    case Operand::Kind::one:
      if (!operand.is_widened) return {value, joined_step};
      widen(slot, value, operand.dtype, operand.row_bytes > 0 ? worker_.row.count : 1);
      return {slot, joined_step};
    case Operand::Kind::repeated: return {operand.is_copied() ? slot : value, 0};
    case Operand::Kind::row: {
      // A joined chain reads a row that all rows share from copies, one for each strip that it has in hand.
      std::byte* elements = row_of(operand, at) + worker_.long_row.block_start * operand.size;
      if (!chain_.is_joined || operand.row_bytes != 0 || loops_.kept_rank == 0) return {elements, strip};
      for (size_t i = 0; i < kMaxStrips; ++i) std::memcpy(slot + i * strip, elements, strip);
      return {slot, 0};
    }
    case Operand::Kind::ahead:
      return {row_of(operand, std::min(at + worker_.tiles().shape.count, loops_.rows - 1)), strip};
    case Operand::Kind::lanes: return {slot, joined_step};
    case Operand::Kind::scratch: break;
  }
  return {slot, 0};
}

/// Sets the addresses of the operands for a row of the tile; those of the previous row are set already.
void ChainRunner::locate(ChainOperand* operands, int64_t row) const {
  for (size_t i = 0; i < chain_.operands.size(); ++i) {
    const Operand& operand = chain_.operands[i];
    const bool is_copied = operand.is_copied();
    if (is_copied && (row == 0 || operand.row_bytes > 0)) repeat_number(operand, row);
    const bool is_free = operand.kind == Operand::Kind::lanes && row % Chain::kFoldedRows == 0;  // lanes are folded
    if (row == 0 || is_free || operand.row_bytes == Chain::kUneven) operands[i] = locate_row(operand, row);
    else if (!is_copied) operands[i].at += operand.row_bytes;
  }
}

void ChainRunner::run() const {
  const int64_t rows = worker_.tiles().shape.by_rows && !chain_.is_joined ? worker_.row.count : 1;
  const size_t length = static_cast<size_t>(worker_.full.count / rows);
  const size_t whole = length / kStrip * kStrip;
  for (const Step& step : chain_.steps) worker_.result(step);
  ChainOperand* operands = reinterpret_cast<ChainOperand*>(worker_.at(chain_.slot));
  for (int64_t row = 0; row < rows; ++row) {
    locate(operands, row);
    worker_.table().chain(chain_.code.data(), chain_.code.size(), operands, 0, whole);
    if (whole < length) run_last_strip(operands, whole, length);
    const int64_t unfolded = row % Chain::kFoldedRows + 1;
    if (chain_.is_joined) fold_lanes(0, worker_.row.count);
    else if (unfolded == Chain::kFoldedRows || row + 1 == rows) fold_lanes(row + 1 - unfolded, unfolded);
  }
}

/// Folds the lanes of rows, from `row` on: each as a row of this many elements.
void ChainRunner::fold_lanes(int64_t row, int64_t rows) const {
  float folded[Chain::kFoldedRows];
  const void* in[1] = {folded};
  for (const Operand& operand : chain_.operands) {
    if (operand.kind != Operand::Kind::lanes) continue;
    const Step& step =
        *std::find_if(chain_.steps.begin(), chain_.steps.end(), [&](const Step& s) { return s.dst == operand.reg; });
    std::byte* out = static_cast<std::byte*>(const_cast<void*>(worker_.value(operand.reg))) + row * step.size;
    const std::byte* lanes = worker_.at(operand.slot);
    for (int64_t done = 0; done < rows; done += Chain::kFoldedRows) {
      const size_t count = static_cast<size_t>(std::min(Chain::kFoldedRows, rows - done));
      step.as<Reduce>()->fold(folded, lanes + done * kLaneBytes, count, kReduceLanes);
      worker_.table().cast[static_cast<int>(DType::f32)][static_cast<int>(step.dtype)](out + done * step.size, in,
                                                                                       count);
    }
  }
}

/// Runs a strip with fewer elements on padded copies, so that whole vectors can be read and written.
void ChainRunner::run_last_strip(const ChainOperand* operands, size_t begin, size_t end) const {
  const size_t count = chain_.operands.size(), strips = begin / kStrip;
  ChainOperand* padded = reinterpret_cast<ChainOperand*>(worker_.at(chain_.slot)) + count;
  auto is_long = [](const Operand& operand) {
    return operand.kind == Operand::Kind::elements || operand.kind == Operand::Kind::row;
  };
  for (size_t i = 0; i < count; ++i) {
    const Operand& operand = chain_.operands[i];
    padded[i] = {operands[i].at + strips * operands[i].step, 0};
    if (!is_long(operand)) continue;
    std::byte* copy = worker_.at(operand.slot);
    if (!operand.is_result) std::memcpy(copy, padded[i].at, (end - begin) * operand.size);
    padded[i].at = copy;
  }
  worker_.table().chain(chain_.code.data(), chain_.code.size(), padded, begin, end);
  for (size_t i = 0; i < count; ++i) {
    const Operand& operand = chain_.operands[i];
    if (!is_long(operand) || !operand.is_result) continue;
    std::memcpy(operands[i].at + strips * operands[i].step, padded[i].at, (end - begin) * operand.size);
  }
}

}  // namespace

void run_chain(TileWorker& worker, const Chain& chain) { ChainRunner(worker, chain).run(); }

}  // namespace tsl::cpu
