// Pointwise kernels some of whose operands lie across the others: tiles of 32 by 32 elements go through shared memory, so
// that both sides are read and written along the memory.
#include <algorithm>

#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

constexpr int kTile = 32, kTileRows = 8;

class TransposeWriter {
 public:
  TransposeWriter(const Kernel& kernel, const graph::Plan& plan, int across)
      : kernel_(kernel), writer_(kernel, plan), extents_(extents_of(kernel.kept)), across_(across),
        inner_(static_cast<int>(extents_.size()) - 1) {}

  KernelProgram write() {
    const int64_t rows = extents_[static_cast<size_t>(across_)], columns = extents_[static_cast<size_t>(inner_)];
    const int64_t tiles_down = ceil_div(rows, kTile), tiles_along = ceil_div(columns, kTile);
    int64_t others = 1;
    for (int i = 0; i < inner_; ++i) others *= i == across_ ? 1 : extents_[static_cast<size_t>(i)];
    writer_.line("const Index tile = block_x, along = tile % {0} * 32, down = tile / {0} % {1} * 32;",
                 writer_.size(tiles_along), writer_.size(tiles_down));
    writer_.line("const Index other = tile / {} / {};", writer_.size(tiles_along), writer_.size(tiles_down));
    declare_others();
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (is_across(kernel_.program[r])) emit_tile_load(r, rows, columns);
    }
    writer_.line("__syncthreads();");
    writer_.line("const Index c = along + threadIdx.x;");
    writer_.line("#pragma unroll");
    writer_.open("for (int q = 0; q < {}; ++q)", kTile / kTileRows);
    writer_.line("const Index d = down + threadIdx.y + {} * q;", kTileRows);
    writer_.open("if (c < {} && d < {})", writer_.size(columns), writer_.size(rows));
    const Position at = position("d", "c");
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (is_across(instr)) writer_.line("{} r{} = tile{}[threadIdx.x][threadIdx.y + {} * q];", type_of(instr.dtype), r, r, kTileRows);
      else if (defines(instr)) writer_.emit(r, at, true);
    }
    for (const Instr& instr : kernel_.program) {
      if (!defines(instr)) writer_.emit_store(instr, at);
    }
    writer_.close();
    writer_.close();
    KernelProgram program;
    program.stages.push_back(writer_.finish("tiles", tiles_along * tiles_down * others, 1, kTile, kTileRows));
    return program;
  }

 private:
  bool is_across(const Instr& instr) const {
    return instr.kind == Instr::Kind::load && instr.map.strides[across_].hint() == 1 && instr.map.strides[inner_].hint() != 1;
  }

  /// Coordinates of the loops that no tile spans.
  void declare_others() {
    std::vector<int64_t> extents;
    std::vector<int> loops;
    for (int i = 0; i < inner_; ++i) {
      if (i == across_) continue;
      extents.push_back(extents_[static_cast<size_t>(i)]);
      loops.push_back(i);
    }
    others_.assign(extents_.size(), "0");
    const std::vector<std::string> names = writer_.coordinates("other", extents, "k");
    for (size_t i = 0; i < loops.size(); ++i) others_[static_cast<size_t>(loops[i])] = names[i];
  }

  Position position(const std::string& down, const std::string& along) {
    Position at;
    at.index = others_;
    at.index[static_cast<size_t>(across_)] = down;
    at.index[static_cast<size_t>(inner_)] = along;
    at.linear = "0";
    for (size_t i = 0; i < extents_.size(); ++i) at.linear = fmt::format("({} * (long long){} + {})", at.linear, writer_.size(extents_[i]), at.index[i]);
    return at;
  }

  /// Threads side by side read what lies side by side: along the other side of the tile.
  void emit_tile_load(Reg r, int64_t rows, int64_t columns) {
    const Instr& instr = kernel_.program[r];
    writer_.line("__shared__ {} tile{}[32][33];", type_of(instr.dtype), r);
    writer_.line("#pragma unroll");
    writer_.open("for (int q = 0; q < {}; ++q)", kTile / kTileRows);
    writer_.line("const Index d = down + threadIdx.x, c = along + threadIdx.y + {} * q;", kTileRows);
    writer_.line("if (c < {} && d < {}) tile{}[threadIdx.y + {} * q][threadIdx.x] = {}[{}];", writer_.size(columns),
                 writer_.size(rows), r, kTileRows, writer_.buffer(instr.buffer), writer_.place(instr.map, position("d", "c")));
    writer_.close();
  }

  const Kernel& kernel_;
  StageWriter writer_;
  std::vector<int64_t> extents_;
  int across_, inner_;
  std::vector<std::string> others_;
};

}  // namespace

int crossing_loop(const Kernel& kernel) {
  const int inner = kernel.kept.rank() - 1;
  if (inner < 1 || kernel.kept[inner].hint() < kTile / 2) return -1;
  for (const Instr& instr : kernel.program) {
    if (instr.kind != Instr::Kind::load) continue;
    const int64_t along = instr.map.strides[inner].hint();
    if (along == 0 || along == 1) continue;
    for (int i = 0; i < inner; ++i) {
      if (instr.map.strides[i].hint() == 1 && kernel.kept[i].hint() >= kTile / 2) return i;
    }
  }
  return -1;
}

KernelProgram generate_transpose(const Kernel& kernel, const graph::Plan& plan, int across) {
  return TransposeWriter(kernel, plan, across).write();
}

}  // namespace tsl::cuda
