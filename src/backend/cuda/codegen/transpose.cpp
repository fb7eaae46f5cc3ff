// Pointwise kernels with some transposed operands: square tiles pass through shared memory, so that all operands are
// read and written contiguously. All loads of a thread come before its first barrier.
#include <algorithm>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

constexpr int kThreadsAlong = 32, kThreadsDown = 8;
constexpr int kSmallTile = 32;
constexpr int64_t kMaxSharedBytes = 40 * 1024;  // of the 48 KiB that a kernel has without a special attribute

class TransposeWriter {
 public:
  TransposeWriter(const Kernel& kernel, const graph::Plan& plan, int across, int largest_tile)
      : kernel_(kernel),
        largest_tile_(largest_tile),
        writer_(kernel, plan),
        extents_(extents_of(kernel.kept)),
        across_(across),
        inner_(static_cast<int>(extents_.size()) - 1) {}

  GeneratedKernels write() {
    choose_tile();
    const int64_t rows = extents_[static_cast<size_t>(across_)], columns = extents_[static_cast<size_t>(inner_)];
    const int64_t tiles_down = ceil_div(rows, tile_), tiles_along = ceil_div(columns, tile_);
    int64_t others = 1;
    for (int i = 0; i < inner_; ++i) others *= i == across_ ? 1 : extents_[static_cast<size_t>(i)];
    writer_.line("const Index tile = block_x, along = tile % {0} * {2}, down = tile / {0} % {1} * {2};",
                 writer_.size(tiles_along), writer_.size(tiles_down), tile_);
    writer_.line("const Index other = tile / {} / {};", writer_.size(tiles_along), writer_.size(tiles_down));
    declare_others();
    emit_loads();
    emit_exchange();
    emit_results();
    GeneratedKernels generated;
    generated.kernels.push_back(
        writer_.finish(fmt::format("tiles{}", tile_), tiles_along * tiles_down * others, kThreadsAlong, kThreadsDown));
    return generated;
  }

 private:
  bool is_across(const Instr& instr) const {
    return is_plain_load(instr) && instr.map.strides[across_].hint() == 1 && instr.map.strides[inner_].hint() != 1;
  }

  void choose_tile() {
    int64_t bytes = 0;
    for (const Instr& instr : kernel_.program) {
      if (is_across(instr)) bytes += static_cast<int64_t>(size_of(instr.dtype)) * largest_tile_ * (largest_tile_ + 1);
    }
    tile_ = bytes <= kMaxSharedBytes ? largest_tile_ : kSmallTile;
  }

  /// Declares coordinates of the loops that no tile spans.
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
    for (size_t i = 0; i < extents_.size(); ++i) {
      at.linear = fmt::format("({} * (long long){} + {})", at.linear, writer_.size(extents_[i]), at.index[i]);
    }
    return at;
  }

  /// Opens a loop over the elements of a thread: element `i` is at (y + 8 * q, x + 32 * h) of the tile.
  void open_elements() {
    writer_.line("#pragma unroll");
    writer_.open("for (int i = 0; i < {}; ++i)", tile_ / kThreadsAlong * (tile_ / kThreadsDown));
    writer_.line("const int x = threadIdx.x + {0} * (i % {1}), y = threadIdx.y + {2} * (i / {1});", kThreadsAlong,
                 tile_ / kThreadsAlong, kThreadsDown);
  }
  /// Opens a bounds check. `down` and `along`: x or y, the offset in each direction.
  void open_inside(const char* down, const char* along) {
    writer_.line("const Index d = down + {}, c = along + {};", down, along);
    writer_.open("if (c < {} && d < {})", writer_.size(extents_[static_cast<size_t>(inner_)]),
                 writer_.size(extents_[static_cast<size_t>(across_)]));
  }

  /// Emits all loads. Neighbouring threads read neighbouring elements, which run down the tile for transposed operands.
  void emit_loads() {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!is_plain_load(instr)) continue;
      writer_.line("{} r{}[{}];", type_of(instr.dtype), r, tile_ / kThreadsAlong * (tile_ / kThreadsDown));
      open_elements();
      if (is_across(instr)) open_inside("x", "y");
      else open_inside("y", "x");
      writer_.line("r{}[i] = {}[{}];", r, writer_.buffer(instr.buffer),
                   writer_.index_expr(instr.map, position("d", "c")));
      writer_.close();
      writer_.close();
    }
  }

  void emit_exchange() {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (!is_across(kernel_.program[r])) continue;
      writer_.line("__shared__ {} tile{}[{}][{}];", type_of(kernel_.program[r].dtype), r, tile_, tile_ + 1);
      open_elements();
      writer_.line("tile{0}[y][x] = r{0}[i];", r);
      writer_.close();
    }
    writer_.line("__syncthreads();");
  }

  void emit_results() {
    open_elements();
    open_inside("y", "x");
    const Position at = position("d", "c");
    std::vector<std::string> index(kernel_.program.size());
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (is_across(instr)) writer_.line("r{0}[i] = tile{0}[x][y];", r);
      if (is_plain_load(instr)) index[r] = "i";
    }
    writer_.set_arrays(index);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (defines(instr) && !is_plain_load(instr)) writer_.emit(r, at, true);
    }
    for (const Instr& instr : kernel_.program) {
      if (!defines(instr)) writer_.emit_store(instr, at);
    }
    writer_.close();
    writer_.close();
  }

  const Kernel& kernel_;
  int largest_tile_;
  KernelWriter writer_;
  std::vector<int64_t> extents_;
  int across_, inner_, tile_ = kSmallTile;
  std::vector<std::string> others_;
};

}  // namespace

int crossing_loop(const Kernel& kernel) {
  const int inner = kernel.kept.rank() - 1;
  if (inner < 1 || kernel.kept[inner].hint() < kSmallTile / 2) return -1;
  for (const Instr& instr : kernel.program) {
    if (!is_plain_load(instr)) continue;
    const int64_t along = instr.map.strides[inner].hint();
    if (along == 0 || along == 1) continue;
    for (int i = 0; i < inner; ++i) {
      if (instr.map.strides[i].hint() == 1 && kernel.kept[i].hint() >= kSmallTile / 2) return i;
    }
  }
  return -1;
}

GeneratedKernels generate_transpose(const Kernel& kernel, const graph::Plan& plan, int across,
                                    const LaunchParameters& parameters) {
  return TransposeWriter(kernel, plan, across, parameters.transpose_tile).write();
}

}  // namespace tsl::cuda
