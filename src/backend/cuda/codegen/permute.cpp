// Pointwise kernels that read an operand across many short loops, as in a permutation of a narrow tensor. A block of
// threads takes a tile: the innermost loops of the operand's memory and those of the result, so that both are read and
// written in long runs. The tile passes through shared memory. All loads of a thread come before its barrier.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

constexpr int kPermuteThreads = 256, kPermuteMoreThreads = 512;
constexpr int64_t kLargeTile = 4096;  // elements from which a block has more threads
constexpr int64_t kRunBytes = 256, kShortestRun = 32, kLongestRun = 128;  // a run in bytes, and its limits in elements
constexpr int64_t kPermuteFewElements = 2048;                             // of a tile: fewer leave threads idle
constexpr int64_t kPermuteMaxSharedBytes = 40 * 1024;
constexpr int64_t kSectorBytes = 32;  // that memory delivers at least
/// Neighbours of the operand that are nearer in the result are read by one block of threads: its cache serves them.
constexpr int64_t kFar = 256;
constexpr int64_t kPermuteManyElements = 1 << 16;
constexpr int kBanks = 32, kBankBytes = 4, kPermuteWarp = 32;

/// Returns the loops of more than one element, outermost first as an access goes through memory.
std::vector<int> memory_order(const Instr& instr, const std::vector<int64_t>& extents) {
  std::vector<int> loops;
  for (int i = 0; i < static_cast<int>(extents.size()); ++i) {
    if (extents[static_cast<size_t>(i)] > 1 && instr.map.strides[i].hint() != 0) loops.push_back(i);
  }
  std::stable_sort(loops.begin(), loops.end(), [&](int a, int b) {
    return std::abs(instr.map.strides[a].hint()) > std::abs(instr.map.strides[b].hint());
  });
  return loops;
}

/// Returns the elements of a result between two that are neighbours along a loop.
int64_t distance_along(const std::vector<int64_t>& extents, int loop) {
  return std::accumulate(extents.begin() + loop + 1, extents.end(), int64_t{1}, std::multiplies<>());
}

/// Whether a load's neighbours in memory are far apart in the result.
bool crosses(const Kernel& kernel, const graph::Plan& plan, const std::vector<int64_t>& extents, const Instr& instr) {
  if (!is_plain_load(instr) || instr.map.strides[static_cast<int>(extents.size()) - 1].hint() == 0) return false;
  const std::vector<int> loops = memory_order(instr, extents);
  if (loops.empty()) return false;
  const int64_t step = std::abs(instr.map.strides[loops.back()].hint()) * element_bytes(kernel, plan, instr);
  return step < kSectorBytes && distance_along(extents, loops.back()) >= kFar;
}

/// Lets a tile take the last of these loops, until their product is about a run.
void take_loops(std::vector<int64_t>& tile, const std::vector<int64_t>& extents, std::vector<int> loops, int64_t run) {
  int64_t taken = 1;
  for (; !loops.empty() && taken < run; loops.pop_back()) {
    const auto loop = static_cast<size_t>(loops.back());
    const int64_t most = std::max<int64_t>(run / taken, 1);
    const int64_t parts = std::max<int64_t>((extents[loop] + most / 2) / most, 1);
    const int64_t some = parts >= 8 ? most : ceil_div(extents[loop], parts);  // few parts are of equal size
    tile[loop] = std::max(tile[loop], some);
    if (some < extents[loop]) return;
    taken *= some;
  }
}

int64_t volume_of(const std::vector<int64_t>& tile) {
  return std::accumulate(tile.begin(), tile.end(), int64_t{1}, std::multiplies<>());
}

/// Returns the elements of a tile along each loop. `source`: the loops as an operand is in memory.
std::vector<int64_t> tile_of_runs(const std::vector<int64_t>& extents, const std::vector<int>& source, int64_t run) {
  std::vector<int> result(extents.size());
  std::iota(result.begin(), result.end(), 0);
  std::vector<int64_t> tile(extents.size(), 1);
  take_loops(tile, extents, source, run);
  take_loops(tile, extents, result, run);
  // A tile of few elements takes more along the outermost loop of the result's run.
  size_t outer = extents.size() - 1;
  for (int64_t taken = tile[outer]; taken < run / 2 && outer > 0; taken *= tile[outer]) --outer;
  while (volume_of(tile) < kPermuteFewElements && tile[outer] * 2 <= extents[outer]) tile[outer] *= 2;
  return tile;
}

/// Returns how many elements of the result follow one another in a tile.
int64_t run_of(const std::vector<int64_t>& extents, const std::vector<int64_t>& tile) {
  int64_t run = 1;
  for (size_t loop = extents.size(); loop-- > 0 && run < kShortestRun;) {
    run *= tile[loop];
    if (tile[loop] < extents[loop]) break;
  }
  return run;
}

/// Returns the most unused elements after each run in shared memory: more would meet the same banks again.
int64_t most_padding(int64_t bytes) { return kBanks * kBankBytes / bytes; }

class PermuteWriter {
 public:
  PermuteWriter(const Kernel& kernel, const graph::Plan& plan, const std::vector<int64_t>& tile, bool vectorized)
      : kernel_(kernel),
        plan_(plan),
        vectorized_(vectorized),
        writer_(kernel, plan),
        extents_(extents_of(kernel.kept)),
        tile_(tile),
        volume_(volume_of(tile)),
        run_(run_of(extents_, tile)),
        threads_(volume_ > kLargeTile ? kPermuteMoreThreads : kPermuteThreads),
        inner_(static_cast<int>(extents_.size()) - 1) {}

  GeneratedKernels write() {
    find_walks();
    choose_widths();
    choose_padding();
    int64_t blocks = declare_tile();
    emit_loads();
    emit_exchange();
    emit_results();
    GeneratedKernels generated;
    generated.kernels.push_back(writer_.finish(fmt::format("permuted{}", volume_), blocks, threads_));
    generated.kernels.back().vector_accesses = std::move(vector_accesses_);
    return generated;
  }

 private:
  /// The loops of a tile in the order in which neighbouring threads go through them, and the elements of a thread.
  struct Walk {
    std::vector<int> loops;  // outermost first
    int width = 1;           // neighbours along the last loop that a thread takes at a time
  };

  int64_t tile_of(int loop) const { return tile_[static_cast<size_t>(loop)]; }
  int64_t extent_of(int loop) const { return extents_[static_cast<size_t>(loop)]; }
  bool is_crossing(const Instr& instr) const { return crosses(kernel_, plan_, extents_, instr); }
  int64_t vectors_of_thread(const Walk& walk) const { return ceil_div(volume_ / walk.width, threads_); }

  /// Finds the orders of the result and of each crossing load.
  void find_walks() {
    for (int loop = 0; loop <= inner_; ++loop) {
      if (tile_of(loop) > 1) result_.loops.push_back(loop);
    }
    sources_.resize(kernel_.program.size());
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (!is_crossing(kernel_.program[r])) continue;
      std::vector<int> loops = memory_order(kernel_.program[r], extents_);
      for (int loop : result_.loops) {  // those along which the load is broadcast
        if (std::find(loops.begin(), loops.end(), loop) == loops.end()) loops.insert(loops.begin(), loop);
      }
      for (int loop : loops) {
        if (tile_of(loop) > 1) sources_[r].loops.push_back(loop);
      }
    }
  }

  /// Whether vectors along a loop begin at multiples of their width in the tile, and none crosses the tensor's end.
  bool divides(int loop, int width) const { return tile_of(loop) % width == 0 && extent_of(loop) % width == 0; }

  void choose_widths() {
    if (!vectorized_) return;
    int widest = 1;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (is_crossing(instr)) choose_source_width(instr, sources_[r]);
      else if (is_contiguous_along(kernel_, instr, inner_)) widest = std::max(widest, bytes_of(instr));
    }
    int& width = result_.width;
    for (width = 16 / widest; width > 1; width /= 2) {
      if (divides(inner_, width) && volume_ / width >= threads_ && allows_vectors(kernel_, inner_, width)) break;
    }
    if (width > 1) add_missing(vector_accesses_, find_vector_accesses(kernel_, plan_, inner_, width));
  }
  void choose_source_width(const Instr& instr, Walk& walk) {
    const int loop = walk.loops.back(), bytes = bytes_of(instr);
    if (instr.map.strides[loop].hint() != 1) return;
    for (walk.width = 16 / bytes; walk.width > 1; walk.width /= 2) {
      if (divides(loop, walk.width) && volume_ / walk.width >= threads_ && is_aligned_along(instr, loop, walk.width))
        break;
    }
    if (walk.width == 1) return;
    add_missing(vector_accesses_,
                {{kernel_.buffers[instr.buffer], bytes * walk.width, bytes, instr.map.offset.symbol()}});
  }
  int bytes_of(const Instr& instr) const { return element_bytes(kernel_, plan_, instr); }

  // ---- Shared memory: the tile in the result's order, with unused elements after each run ----------------------

  /// Returns the places of what a warp's threads take first, without padding.
  std::vector<int64_t> places_of(const Walk& walk, int64_t first) const {
    std::vector<int64_t> places;
    std::vector<int64_t> index(extents_.size(), 0);
    for (int64_t lane = first; lane < first + kPermuteWarp && lane * walk.width < volume_; ++lane) {
      int64_t left = lane * walk.width, place = 0;
      for (size_t i = walk.loops.size(); i-- > 0; left /= tile_of(walk.loops[i]))
        index[static_cast<size_t>(walk.loops[i])] = left % tile_of(walk.loops[i]);
      for (size_t i = 0; i < index.size(); ++i) place = place * tile_[i] + index[i];
      places.push_back(place);
    }
    return places;
  }
  /// Returns how many words the busiest bank of shared memory gives for an access to these places.
  int64_t busiest_bank(const std::vector<int64_t>& places, int64_t bytes, int64_t padding) const {
    std::vector<int64_t> words;
    for (int64_t place : places) words.push_back((place + place / run_ * padding) * bytes / kBankBytes);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::array<int64_t, kBanks> counts{};
    for (int64_t word : words) ++counts[static_cast<size_t>(word % kBanks)];
    return *std::max_element(counts.begin(), counts.end());
  }
  /// Chooses the least padding with the fewest conflicts.
  void choose_padding() {
    int64_t most = kBanks * kBankBytes;
    std::vector<std::pair<std::vector<int64_t>, int64_t>> accesses;  // places, and bytes of an element
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (sources_[r].loops.empty()) continue;
      most = std::min(most, most_padding(bytes_of(kernel_.program[r])));
      for (const Walk* walk : {&sources_[r], &result_}) {
        for (const int64_t first : {0, kPermuteWarp})
          accesses.emplace_back(places_of(*walk, first), bytes_of(kernel_.program[r]));
      }
    }
    int64_t least = INT64_MAX;
    for (int64_t padding = 0; padding <= most; padding += result_.width) {
      int64_t sum = 0;
      for (const auto& [places, bytes] : accesses) sum += busiest_bank(places, bytes, padding);
      if (sum >= least) continue;
      least = sum;
      padding_ = padding;
      if (sum == static_cast<int64_t>(accesses.size())) return;
    }
  }

  // ---- Text ------------------------------------------------------------------------------------------------------

  /// Declares the first coordinate of the tile along each loop; returns the number of tiles.
  int64_t declare_tile() {
    std::vector<int64_t> counts;
    std::vector<int> loops;
    first_.assign(extents_.size(), "0");
    for (int loop = 0; loop <= inner_; ++loop) {
      const int64_t count = ceil_div(extent_of(loop), tile_of(loop));
      if (count == 1) continue;
      counts.push_back(count);
      loops.push_back(loop);
    }
    writer_.line("const Index tile = block_x;");
    const std::vector<std::string> names = writer_.coordinates("tile", counts, "k");
    for (size_t i = 0; i < loops.size(); ++i) {
      const int64_t elements = tile_of(loops[i]);
      first_[static_cast<size_t>(loops[i])] = elements == 1 ? names[i] : fmt::format("{} * {}", names[i], elements);
    }
    return std::accumulate(counts.begin(), counts.end(), int64_t{1}, std::multiplies<>());
  }

  /// Opens a loop over a thread's vectors, and a block for those within the tile and the tensor. u0, u1, …: coordinates
  /// of the first element within the tile; c0, c1, …: within the tensor.
  Position open_vectors(const Walk& walk) {
    writer_.line("#pragma unroll");
    writer_.open("for (int i = 0; i < {}; ++i)", vectors_of_thread(walk));
    writer_.line("const unsigned t = (threadIdx.x + {} * i) * {};", threads_, walk.width);
    Position at;
    at.index = first_;
    std::string inside = volume_ / walk.width % threads_ != 0 ? fmt::format("t < {}", volume_) : "";
    int64_t below = 1;
    for (size_t i = walk.loops.size(); i-- > 0;) {
      const int loop = walk.loops[i];
      const auto place = static_cast<size_t>(loop);
      writer_.line("const unsigned u{} = t / {} % {};", loop, below, tile_[place]);
      if (first_[place] == "0") writer_.line("const Index c{0} = u{0};", loop);
      else writer_.line("const Index c{0} = {1} + u{0};", loop, first_[place]);
      at.index[place] = fmt::format("c{}", loop);
      below *= tile_[place];
      if (extents_[place] % tile_[place] == 0) continue;
      inside += fmt::format("{}c{} < {}", inside.empty() ? "" : " && ", loop, writer_.size(extents_[place]));
    }
    writer_.open("if ({})", inside.empty() ? "true" : inside);
    return at;
  }
  void close_vectors() {
    writer_.close();
    writer_.close();
  }

  /// Returns the position of element v of a vector that begins at a position.
  Position element_of(const Walk& walk, Position at) {
    if (walk.width > 1) {
      std::string& along = at.index[static_cast<size_t>(walk.loops.back())];
      along = fmt::format("({} + v)", along);
    }
    at.linear = "0";
    for (size_t i = 0; i < extents_.size(); ++i)
      at.linear = fmt::format("({} * (long long){} + {})", at.linear, writer_.size(extents_[i]), at.index[i]);
    return at;
  }
  /// Returns how far apart two neighbours along a loop are in shared memory.
  int64_t shared_stride(int loop) const {
    int64_t inside = 1;
    for (int i = loop + 1; i <= inner_; ++i) inside *= tile_of(i);
    return inside >= run_ ? inside / run_ * (run_ + padding_) : inside;
  }
  /// Returns the place in shared memory of element v of a vector.
  std::string shared_place(const Walk& walk) const {
    std::string place;
    for (int loop : result_.loops) {
      const bool is_vector = walk.width > 1 && loop == walk.loops.back();
      place += fmt::format("{}{} * {}", place.empty() ? "" : " + ",
                           is_vector ? fmt::format("(u{} + v)", loop) : fmt::format("u{}", loop), shared_stride(loop));
    }
    return place;
  }

  void open_elements(int width) {
    writer_.line("#pragma unroll");
    writer_.open("for (int v = 0; v < {}; ++v)", width);
  }

  /// Emits all loads: crossing ones as they are in memory, others in the result's order.
  void emit_loads() {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!is_plain_load(instr)) continue;
      const bool is_source = !sources_[r].loops.empty();
      const Walk& walk = is_source ? sources_[r] : result_;
      const std::string array = fmt::format("{}{}", is_source ? "across" : "r", r);
      writer_.line("{} {}[{}][{}];", type_of(instr.dtype), array, vectors_of_thread(walk), walk.width);
      const Position at = open_vectors(walk);
      if (walk.width > 1 && (is_source || is_contiguous_along(kernel_, instr, inner_))) {
        writer_.line("load_vector({}[i], {} + {});", array, writer_.buffer(instr.buffer),
                     writer_.index_expr(instr.map, at));
      } else {
        open_elements(walk.width);
        writer_.line("{}[i][v] = {}[{}];", array, writer_.buffer(instr.buffer),
                     writer_.index_expr(instr.map, element_of(walk, at)));
        writer_.close();
      }
      close_vectors();
    }
  }

  void emit_exchange() {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Walk& walk = sources_[r];
      if (walk.loops.empty()) continue;
      const DType dtype = kernel_.program[r].dtype;
      writer_.line("__shared__ tsl::device::Pack<1, {}> tile{}[{}];", type_of(dtype), r,
                   volume_ + volume_ / run_ * padding_);
      open_vectors(walk);
      open_elements(walk.width);
      writer_.line("tile{0}[{1}] = {{{{across{0}[i][v]}}}};", r, shared_place(walk));
      writer_.close();
      close_vectors();
    }
    writer_.line("__syncthreads();");
  }

  void emit_results() {
    const std::vector<Instr>& program = kernel_.program;
    std::vector<std::string> index(program.size());
    for (Reg r = 0; r < program.size(); ++r) {
      if (program[r].kind == Instr::Kind::scalar) writer_.emit(r, {}, true);
      else if (defines(program[r])) index[r] = is_plain_load(program[r]) && sources_[r].loops.empty() ? "i][v" : "v";
    }
    const Position first = open_vectors(result_), at = element_of(result_, first);
    for (Reg r = 0; r < program.size(); ++r) {
      if (index[r] == "v") writer_.line("{} r{}[{}];", type_of(program[r].dtype), r, result_.width);
    }
    writer_.set_arrays(index);
    open_elements(result_.width);
    for (Reg r = 0; r < program.size(); ++r) {
      if (!sources_[r].loops.empty()) writer_.line("r{0}[v] = tile{0}[{1}][0];", r, shared_place(result_));
      else if (!index[r].empty() && !is_plain_load(program[r])) writer_.emit(r, at, false);
    }
    writer_.close();
    for (const Instr& instr : program) {
      if (!defines(instr)) emit_store(instr, first, at, index[instr.a]);
    }
    close_vectors();
  }
  /// `index`: the subscript of the value's array; none if it is one number.
  void emit_store(const Instr& store, const Position& first, const Position& at, const std::string& index) {
    if (result_.width > 1 && is_contiguous_along(kernel_, store, inner_) && !index.empty()) {
      writer_.line("store_vector({} + {}, r{}{});", writer_.buffer(store.buffer), writer_.index_expr(store.map, first),
                   store.a, index == "v" ? "" : "[i]");
      return;
    }
    open_elements(result_.width);
    writer_.emit_store(store, at);
    writer_.close();
  }

  const Kernel& kernel_;
  const graph::Plan& plan_;
  bool vectorized_;
  KernelWriter writer_;
  std::vector<int64_t> extents_;
  std::vector<int64_t> tile_;  // elements along each loop
  int64_t volume_, run_;       // elements of the tile, and how many of the result follow one another
  int threads_;
  int inner_;
  int64_t padding_ = 0;  // unused elements after each run in shared memory
  Walk result_;
  std::vector<Walk> sources_;       // of crossing loads, by register
  std::vector<std::string> first_;  // coordinates of the tile's first element
  std::vector<VectorAccess> vector_accesses_;
};

}  // namespace

std::vector<int64_t> permuted_tile(const Kernel& kernel, const graph::Plan& plan) {
  const std::vector<int64_t> extents = extents_of(kernel.kept);
  if (extents.size() < 2 || count_of(kernel.kept) < kPermuteManyElements) return {};
  const int across = crossing_loop(kernel);
  if (across >= 0 && std::min(extents[static_cast<size_t>(across)], extents.back()) >= kShortestRun) return {};
  int64_t bytes = 0, longest = 0;  // of the elements that are in shared memory, and of one
  const Instr* crossing = nullptr;
  for (const Instr& instr : kernel.program) {
    if (!crosses(kernel, plan, extents, instr)) continue;
    if (!crossing) crossing = &instr;
    bytes += element_bytes(kernel, plan, instr);
    longest = std::max<int64_t>(longest, element_bytes(kernel, plan, instr));
  }
  if (!crossing) return {};
  for (int64_t run = std::clamp(kRunBytes / longest, kShortestRun, kLongestRun); run >= kShortestRun / 2; run /= 2) {
    const std::vector<int64_t> tile = tile_of_runs(extents, memory_order(*crossing, extents), run);
    const int64_t volume = volume_of(tile);
    if ((volume + volume / run_of(extents, tile) * most_padding(longest)) * bytes <= kPermuteMaxSharedBytes)
      return tile;
  }
  return {};
}

GeneratedKernels generate_permute(const Kernel& kernel, const graph::Plan& plan, const std::vector<int64_t>& tile,
                                  bool vectorized) {
  return PermuteWriter(kernel, plan, tile, vectorized).write();
}

}  // namespace tsl::cuda
