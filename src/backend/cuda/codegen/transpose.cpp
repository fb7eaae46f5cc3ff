// Pointwise kernels with some transposed operands: square tiles pass through shared memory, so that all operands are
// read and written contiguously, in vectors where alignment allows. A thread loads squares of as many elements down as
// along, and turns them on their way to shared memory. All loads of a thread come before its first barrier.
#include <algorithm>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

constexpr int kTransposeThreads = 256;
constexpr int kTransposeMoreThreads =
    512;  // pay for single elements of four bytes: 155 instead of 184 us for 67 million (H200)
constexpr int kSmallTile = 32;
constexpr int64_t kTransposeMaxSharedBytes = 40 * 1024;  // of the 48 KiB that a kernel has without a special attribute

class TransposeWriter {
 public:
  TransposeWriter(const Kernel& kernel, const graph::Plan& plan, int across, bool vectorized, int largest_tile)
      : kernel_(kernel),
        plan_(plan),
        vectorized_(vectorized),
        largest_tile_(largest_tile),
        writer_(kernel, plan),
        extents_(extents_of(kernel.kept)),
        across_(across),
        inner_(static_cast<int>(extents_.size()) - 1) {}

  GeneratedKernels write() {
    choose_tile();
    choose_width();
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
        writer_.finish(fmt::format("tiles{}x{}", tile_, width_), tiles_along * tiles_down * others, threads_));
    if (width_ > 1) generated.kernels.back().vector_accesses = vector_accesses();
    return generated;
  }

 private:
  bool is_across(const Instr& instr) const {
    return is_plain_load(instr) && instr.map.strides[across_].hint() == 1 && instr.map.strides[inner_].hint() != 1;
  }

  void choose_tile() {
    int64_t bytes = 0;
    for (const Instr& instr : kernel_.program) {
      if (is_across(instr)) bytes += static_cast<int64_t>(size_of(instr.dtype)) * largest_tile_ * (largest_tile_ + 2);
    }
    tile_ = bytes <= kTransposeMaxSharedBytes ? largest_tile_ : kSmallTile;
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

  /// Whether all accesses are aligned for so many elements at a time, if their buffers are, and no vector crosses the
  /// end of a row. There must be a square for each thread. Elements of eight bytes gain nothing.
  bool allows_width(int width) const {
    const auto size = [&](int loop) { return extents_[static_cast<size_t>(loop)]; };
    if (size(inner_) % width != 0 || size(across_) % width != 0 || tile_ / width * (tile_ / width) < kTransposeThreads)
      return false;
    return std::all_of(kernel_.program.begin(), kernel_.program.end(), [&](const Instr& instr) {
      if (!is_across(instr) && !is_contiguous_along(kernel_, instr, inner_)) return true;
      return element_bytes(kernel_, plan_, instr) <= 4 &&
             is_aligned_along(instr, is_across(instr) ? across_ : inner_, width);
    });
  }
  void choose_width() {
    width_ = vectorized_ ? 4 : 1;
    while (!allows_width(width_) && width_ > 1) width_ /= 2;
    int widest = 1;
    for (const Instr& instr : kernel_.program) {
      if (is_plain_load(instr) || !defines(instr)) widest = std::max(widest, element_bytes(kernel_, plan_, instr));
    }
    threads_ = width_ == 1 && widest == 4 && tile_ > kSmallTile ? kTransposeMoreThreads : kTransposeThreads;
  }
  int vectors_of_thread() const { return tile_ * tile_ / threads_ / width_; }

  std::vector<VectorAccess> vector_accesses() const {
    std::vector<Instr> along, across;
    for (const Instr& instr : kernel_.program) (is_across(instr) ? across : along).push_back(instr);
    std::vector<VectorAccess> all = find_vector_accesses(kernel_, plan_, inner_, width_, &along);
    add_missing(all, find_vector_accesses(kernel_, plan_, across_, width_, &across));
    return all;
  }

  /// Opens a loop over a thread's vectors along the rows of the result, which begin at (y, x) of the tile.
  void open_rows() {
    const int side = tile_ / width_;
    writer_.line("#pragma unroll");
    writer_.open("for (int i = 0; i < {}; ++i)", vectors_of_thread());
    writer_.line("const unsigned x = threadIdx.x % {0} * {1}, y = threadIdx.x / {0} + {2} * i;", side, width_,
                 threads_ / side);
  }
  /// Opens a loop over a thread's vectors along the rows of a transposed operand: those of a square follow each other.
  void open_squares() {
    const int side = tile_ / width_;
    writer_.line("#pragma unroll");
    writer_.open("for (int i = 0; i < {}; ++i)", vectors_of_thread());
    writer_.line("const unsigned x = threadIdx.x % {0} * {1}, y = (threadIdx.x / {0} + i / {1} * {2}) * {1} + i % {1};",
                 side, width_, threads_ / side);
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
      const bool across = is_across(instr), is_vector = across || is_contiguous_along(kernel_, instr, inner_);
      const std::string array = fmt::format("{}{}", across ? "across" : "r", r);
      writer_.line("{} {}[{}][{}];", type_of(instr.dtype), array, vectors_of_thread(), width_);
      if (across) open_squares();
      else open_rows();
      open_inside(across ? "x" : "y", across ? "y" : "x");
      if (width_ > 1 && is_vector) {
        writer_.line("load_vector({}[i], {} + {});", array, writer_.buffer(instr.buffer),
                     writer_.index_expr(instr.map, position("d", "c")));
      } else {
        open_elements();
        writer_.line("{}[i][v] = {}[{}];", array, writer_.buffer(instr.buffer),
                     writer_.index_expr(instr.map, position("d", element())));
        writer_.close();
      }
      writer_.close();
      writer_.close();
    }
  }

  /// Opens a loop over the elements of a vector along the rows of the result, element() of them.
  void open_elements() {
    writer_.line("#pragma unroll");
    writer_.open("for (int v = 0; v < {}; ++v)", width_);
  }
  const char* element() const { return width_ == 1 ? "c" : "(c + v)"; }

  /// Writes the columns of each square to shared memory, which has the tile as vectors along the rows of the result.
  /// The rows of these have an odd number of words, so that a column lies in different banks.
  void emit_exchange() {
    const int side = tile_ / width_;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!is_across(instr)) continue;
      const int padding = std::max(1, 4 / (width_ * static_cast<int>(size_of(instr.dtype))));
      writer_.line("__shared__ tsl::device::Pack<{}, {}> tile{}[{}][{}][{}];", width_, type_of(instr.dtype), r, width_,
                   side, side + padding);
      std::string column;
      for (int e = 0; e < width_; ++e) {
        column += fmt::format("{0}across{1}[i / {2} * {2} + {3}][i % {2}]", e > 0 ? ", " : "", r, width_, e);
      }
      open_squares();
      writer_.line("tile{0}[i % {1}][x / {1}][y / {1}] = {{{{{2}}}}};", r, width_, column);
      writer_.close();
    }
    writer_.line("__syncthreads();");
  }

  void emit_results() {
    std::vector<std::string> index(kernel_.program.size());
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.kind == Instr::Kind::scalar) writer_.emit(r, {}, true);
      else if (defines(instr)) index[r] = is_plain_load(instr) && !is_across(instr) ? "i][v" : "v";
    }
    open_rows();
    open_inside("y", "x");
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (index[r] != "v") continue;
      writer_.line("{} r{}[{}];", type_of(instr.dtype), r, width_);
      if (is_across(instr)) writer_.line("load_pack(r{0}, tile{0}[y % {1}][y / {1}][x / {1}]);", r, width_);
    }
    writer_.set_arrays(index);
    open_elements();
    const Position at = position("d", element());
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (!index[r].empty() && !is_plain_load(kernel_.program[r])) writer_.emit(r, at, false);
    }
    const auto stores_vectors = [&](const Instr& store) {
      return width_ > 1 && is_contiguous_along(kernel_, store, inner_) && !index[store.a].empty();
    };
    for (const Instr& instr : kernel_.program) {
      if (!defines(instr) && !stores_vectors(instr)) writer_.emit_store(instr, at);
    }
    writer_.close();
    for (const Instr& instr : kernel_.program) {
      if (defines(instr) || !stores_vectors(instr)) continue;
      writer_.line("store_vector({} + {}, r{}{});", writer_.buffer(instr.buffer),
                   writer_.index_expr(instr.map, position("d", "c")), instr.a, index[instr.a] == "v" ? "" : "[i]");
    }
    writer_.close();
    writer_.close();
  }

  const Kernel& kernel_;
  const graph::Plan& plan_;
  bool vectorized_;
  int largest_tile_;
  KernelWriter writer_;
  std::vector<int64_t> extents_;
  int across_, inner_, tile_ = kSmallTile;
  int width_ = 1;  // elements of a vector, and the side of a square
  int threads_ = kTransposeThreads;
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

GeneratedKernels generate_transpose(const Kernel& kernel, const graph::Plan& plan, int across, bool vectorized,
                                    const LaunchParameters& parameters) {
  return TransposeWriter(kernel, plan, across, vectorized, parameters.transpose_tile).write();
}

}  // namespace tsl::cuda
