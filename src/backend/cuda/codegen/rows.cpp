// Row kernels: a warp or a block of threads per row. Values that a later pass needs are kept in registers if they fit;
// otherwise each pass computes them again from memory, which the caches hold.
#include <algorithm>
#include <optional>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/row_passes.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

constexpr int64_t kMaxSharedPartials = 256;
// A block of threads has 48 KB of shared memory. These are the parts for the results of a row's blocks, and for
// folding.
constexpr int64_t kSharedPartialBytes = 8 << 10, kSharedFoldBytes = 32 << 10;
// The elements that a thread loads before it stores any, and the 32-bit registers for values that wait to be stored.
constexpr int64_t kTurnsAtOnce = 8, kLateWords = 16;
/// The shared memory, but for gaps, in which a block of threads turns columns that it stores as rows.
constexpr int64_t kTurnedBytes = 16 << 10;
// How far ahead rows are prefetched. Half and twice as much are equally fast on an H200; with four times as much, the
// cache begins to evict rows before they are read.
constexpr int64_t kBytesAhead = int64_t{1} << 20;

class RowsWriter {
 public:
  RowsWriter(const Kernel& kernel, const graph::Plan& plan, bool vectorized, const LaunchParameters& parameters)
      : kernel_(kernel),
        plan_(plan),
        parameters_(parameters),
        writer_(kernel, plan),
        shape_(shape_of(kernel)),
        rows_(shape_.rows),
        length_(shape_.length),
        passes_(plan_passes(kernel)),
        blocks_(are_arg_reductions(kernel, passes_) ? 1 : shape_.blocks()),
        vectorized_(vectorized),
        form_(row_form(shape_, demand(access_width(kernel, plan, passes_, parameters.row_threads, vectorized)),
                       parameters.row_threads)) {}

  GeneratedKernels write() {
    GeneratedKernels generated;
    const TotalOperands totals = reserve_totals(kernel_, generated);
    if (rows_ > 0) {
      reserve_partials(generated);
      const int threads = form_.threads() * form_.rows_per_block();
      emit_row_place();
      declare_fold_memory();
      declare_turned();
      emit_prefetch();
      const RowDemand words_per_element = demand(form_.lanes.width);
      const int64_t elements = form_.turns * form_.lanes.width;
      const int64_t words =
          (form_.keeps ? words_per_element.kept(elements * form_.rounds) : 0) + words_per_element.held_words * elements;
      if (words > 0 && words <= kGoodKeptWords)
        writer_.set_residents(parameters_.resident_threads / std::max(threads, kRowThreads));
      declare_values();
      std::vector<bool> done(kernel_.program.size(), false);
      for (const Pass& pass : form_.keeps ? passes_.once : passes_.again) {
        emit_row_values(done);
        emit_pass(pass);
        for (Reg r : pass.reduces) done[r] = true;
      }
      emit_row_values(done);
      emit_row_ends(writer_, totals, row_, "row",
                    is_column()      ? "lane == 0 && inside"
                    : is_clustered() ? "lane == 0 && rank == 0"
                                     : "lane == 0");
      const std::string columns = is_column() ? fmt::format("columns{}_", form_.lanes.across) : "";
      const std::string kept = form_.keeps ? fmt::format("r{}", form_.turns * form_.rounds) : "";
      const std::string blocks = is_clustered() ? fmt::format("c{}", form_.cluster) : "";
      writer_.set_cluster(form_.cluster);
      generated.kernels.push_back(writer_.finish(fmt::format("{}{}t{}{}", columns, blocks, form_.threads(), kept),
                                                 ceil_div(rows_, form_.rows_per_block()) * form_.cluster, threads));
      if (form_.lanes.width > 1 && vectorized_)
        generated.kernels.back().vector_accesses =
            find_vector_accesses(kernel_, plan_, inner_loop(), form_.lanes.width);
    }
    append_totals(kernel_, plan_, totals, generated);
    return generated;
  }

 private:
  int inner_loop() const { return kernel_.kept.rank() + kernel_.reduced.rank() - 1; }
  bool is_column() const { return form_.lanes.across > 1; }
  bool is_clustered() const { return form_.cluster > 1; }
  bool is_vectorized(const Instr& instr) const {
    return vectorized_ && form_.lanes.width > 1 && is_contiguous_along(kernel_, instr, inner_loop()) &&
           is_aligned_along(instr, inner_loop(), form_.lanes.width);
  }

  RowDemand demand(int width) const { return demand_of(kernel_, plan_, passes_, width); }
  bool keeps(Reg r) const { return form_.keeps && passes_.kept[r]; }
  /// Whether the value's array is kept two to a register; r<r> then holds a turn's.
  bool is_packed(Reg r) const { return keeps(r) && form_.lanes.width > 1 && has_16_bits(kernel_.program[r].dtype); }

  // ---- Rows --------------------------------------------------------------------------------------------

  void emit_row_place() {
    const int rows = form_.rows_per_block();
    if (is_column()) {  // threads beyond the last column take no elements, but meet the others at barriers
      writer_.line("const int lane = threadIdx.x / {};", rows);
      writer_.line("const Index own_row = (Index)block_x * {0} + threadIdx.x % {0};", rows);
      writer_.line("const bool inside = own_row < {};", writer_.size(rows_));
      writer_.line("const Index row = inside ? own_row : 0, end = inside ? {} : 0;", writer_.size(length_));
    } else if (rows == 1) {
      writer_.line("const int lane = threadIdx.x;");
      if (is_clustered()) writer_.line("const int rank = block_x % {};", form_.cluster);
      writer_.line("const Index row = block_x{};", is_clustered() ? fmt::format(" / {}", form_.cluster) : "");
      if (is_clustered()) writer_.line("meet_cluster();");  // before one writes to the memory of another
    } else {
      writer_.line("const int lane = threadIdx.x % {};", form_.threads());
      writer_.line("const Index row = (Index)block_x * {} + threadIdx.x / {};", rows, form_.threads());
      writer_.line("if (row >= {}) return;", writer_.size(rows_));
    }
    row_.index = writer_.coordinates("row", extents_of(kernel_.kept), "k");
    row_.index.resize(static_cast<size_t>(kernel_.kept.rank() + kernel_.reduced.rank()), "0");
    row_.linear = "row";
  }

  /// Emits a prefetch of a row that starts a little later. Rows are loaded, then folded, then stored; without it the
  /// memory would be idle between. (With several operands per row, enough loads are in flight already.)
  void emit_prefetch() {
    const bool has_phases =
        form_.keeps && blocks_ == 1 && form_.threads() > kWarp && !is_column() && passes_.once.size() > 1;
    if (!has_phases || rows_ < kFewRows || kernel_.kept.rank() != 1 || kernel_.reduced.rank() != 1) return;
    std::vector<const Instr*> rows;
    for (const Instr& instr : kernel_.program) {
      const bool is_row = instr.kind == Instr::Kind::load && is_contiguous_along(kernel_, instr, inner_loop());
      if (is_row && instr.map.strides[0].hint() >= length_) rows.push_back(&instr);
    }
    if (rows.size() != 1) return;
    const int64_t element = static_cast<int64_t>(size_of(rows[0]->dtype));
    const std::string ahead = writer_.number("ahead", ceil_div(kBytesAhead, length_ * element));
    Position at = row_;
    at.index[0] = fmt::format("(row + {})", ahead);
    writer_.line("if (lane == 0 && row + {} < {}) prefetch({} + {}, {} * {});", ahead, writer_.size(rows_),
                 writer_.buffer(rows[0]->buffer), writer_.index_expr(rows[0]->map, at), writer_.size(length_), element);
  }

  /// Declares kept values and host numbers.
  void declare_values() {
    std::vector<std::string> index(kernel_.program.size());
    const int width = form_.lanes.width;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!is_full(instr) || !defines(instr) || instr.kind == Instr::Kind::scalar) continue;
      if (is_packed(r)) writer_.line("unsigned kept{}[{}];", r, form_.rounds * form_.turns * width / 2);
      if (keeps(r) && !is_packed(r)) {
        writer_.line("{} r{}[{}];", type_of(instr.dtype), r, form_.rounds * form_.turns * width);
        index[r] = form_.rounds > 1 ? fmt::format("(round * {} + turn)", form_.turns) : "turn";
        if (width > 1) index[r] += fmt::format(" * {} + v", width);
      } else if (width > 1) {
        index[r] = "v";
      }
    }
    writer_.set_arrays(index);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (is_full(kernel_.program[r]) && kernel_.program[r].kind == Instr::Kind::scalar) writer_.emit(r, row_, true);
    }
  }

  /// Emits row-level values whose operands are known by now.
  void emit_row_values(const std::vector<bool>& done) {
    const std::vector<bool> known = known_rows(kernel_, done);
    emitted_.resize(kernel_.program.size(), false);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (!known[r] || emitted_[r] || kernel_.program[r].kind == Instr::Kind::reduce) continue;
      writer_.emit(r, row_, true);
      emitted_[r] = true;
    }
  }

  // ---- Elements ----------------------------------------------------------------------------------------

  /// Emits the elements from `e` on that a turn takes.
  void emit_elements(const Pass& pass) {
    if (form_.lanes.width == 1) return emit_element(pass, "e", "0");
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      const bool is_unpacked = is_packed(r) && !pass.computes[r] && reads(pass, r);
      if (!is_unpacked && (!pass.computes[r] || instr.kind == Instr::Kind::scalar)) continue;
      if (!keeps(r) || is_packed(r)) writer_.line("{} r{}[{}];", type_of(instr.dtype), r, form_.lanes.width);
      if (is_unpacked) writer_.line("unpack(r{0}, kept{0} + {1});", r, packed_index());
    }
    const Position first = position("e");
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!pass.computes[r] || !defines(instr) || !is_vectorized(instr)) continue;
      writer_.line("{} wide{}[{}];", type_of(instr.dtype), r, form_.lanes.width);
      writer_.line("load_vector(wide{}, {} + {});", r, writer_.buffer(instr.buffer),
                   writer_.index_expr(instr.map, first));
    }
    writer_.line("#pragma unroll");
    writer_.open("for (int v = 0; v < {}; ++v)", form_.lanes.width);
    emit_element(pass, "(e + v)", "v");
    writer_.close();
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (pass.computes[r] && is_packed(r)) writer_.line("pack(kept{0} + {1}, r{0});", r, packed_index());
    }
  }

  /// Returns where a turn's elements begin in an array of packed values.
  std::string packed_index() const {
    const std::string turn = form_.rounds > 1 ? fmt::format("(round * {} + turn)", form_.turns) : "turn";
    return fmt::format("{} * {}", turn, form_.lanes.width / 2);
  }
  /// Whether a pass needs the elements of a register.
  bool reads(const Pass& pass, Reg r) const {
    const auto is_read_by = [&](const Instr& instr) {
      const graph::Operands in = operands_of(instr);
      return std::find(in.begin(), in.end(), r) != in.end();
    };
    for (Reg by = 0; by < kernel_.program.size(); ++by) {
      if (pass.computes[by] && is_read_by(kernel_.program[by])) return true;
    }
    return std::any_of(pass.targets.begin(), pass.targets.end(),
                       [&](Reg target) { return target == r || is_read_by(kernel_.program[target]); });
  }

  Position position(const std::string& element) {
    Position at = row_;
    const std::vector<std::string> inner =
        writer_.coordinates(element, extents_of(kernel_.reduced), element == "e" ? "c" : "d");
    std::copy(inner.begin(), inner.end(), at.index.begin() + kernel_.kept.rank());
    at.linear = fmt::format("((long long)row * {} + {})", writer_.size(length_), element);
    return at;
  }

  void emit_element(const Pass& pass, const std::string& element, const std::string& among) {
    const Position at = position(element);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!pass.computes[r] || instr.kind == Instr::Kind::scalar || !defines(instr)) continue;
      if (is_vectorized(instr)) writer_.line("{} = wide{}[v];", writer_.reg(r), r);
      else writer_.emit(r, at, form_.lanes.width == 1 && !keeps(r));
    }
    for (Reg r : stores(pass))
      writer_.line("late{}[turn - batch][{}] = {};", r, among, writer_.reg(kernel_.program[r].a));
    for (Reg r : pass.reduces) {
      writer_.line("{}", Reduction(kernel_.program[r])
                             .take(fmt::format("a{}", r), writer_.reg(kernel_.program[r].a), element, "turn", among));
    }
  }

  /// Emits the stores that emit_element has deferred.
  void emit_late_stores(const Pass& pass) {
    const Position first = position("e");
    std::vector<Reg> scattered;
    for (Reg r : stores(pass)) {
      const Instr& instr = kernel_.program[r];
      if (is_turned(r)) continue;
      if (!is_vectorized(instr)) scattered.push_back(r);
      else
        writer_.line("store_vector({} + {}, late{}[turn - batch]);", writer_.buffer(instr.buffer),
                     writer_.index_expr(instr.map, first), r);
    }
    if (form_.lanes.width == 1) {
      for (Reg r : scattered) writer_.emit_store(kernel_.program[r], first, fmt::format("late{}[turn - batch][0]", r));
      return;
    }
    if (scattered.empty()) return;
    writer_.line("#pragma unroll");
    writer_.open("for (int v = 0; v < {}; ++v)", form_.lanes.width);
    const Position at = position("(e + v)");
    for (Reg r : scattered) writer_.emit_store(kernel_.program[r], at, fmt::format("late{}[turn - batch][v]", r));
    writer_.close();
  }

  std::vector<Reg> stores(const Pass& pass) const {
    std::vector<Reg> out;
    std::copy_if(pass.targets.begin(), pass.targets.end(), std::back_inserter(out),
                 [&](Reg r) { return !defines(kernel_.program[r]); });
    return out;
  }

  // ---- Passes ------------------------------------------------------------------------------------------

  void emit_pass(const Pass& pass) {
    ++pass_;
    if (blocks_ > 1) return emit_rounds(pass);
    for (Reg r : pass.reduces)
      writer_.line("{}", Reduction(kernel_.program[r]).declare(fmt::format("a{}", r), form_.lanes));
    emit_turns(pass, "0", is_column() ? "end" : writer_.size(length_));
    for (Reg r : pass.reduces) finish_reduce(r, emit_fold(r, "0"));
  }

  /// Emits a thread's elements from `first` to `end`.
  void emit_turns(const Pass& pass, const std::string& first, const std::string& end) {
    if (form_.keeps || any_two_pass(kernel_, pass.reduces)) return emit_kept_turns(pass, first, end);
    const int64_t step = form_.lanes.threads * form_.lanes.width;
    const int64_t lane_turns = std::max<int64_t>(kReduceLanes / step, 1);  // after so many the lanes start again
    const int64_t turns = stores(pass).empty() ? lane_turns : kTurnsAtOnce;
    const bool meets = turns_stores(pass);  // all threads of a block at barriers, also those without a column
    const std::string bound = meets ? writer_.size(length_) : end;
    writer_.line("Index from{} = {};", pass_, first);
    if (turns == lane_turns) writer_.line("#pragma unroll {}", kTurnsAtOnce / lane_turns);
    writer_.open("for (; from{0} + {1} <= {2}; from{0} += {1})", pass_, turns * step, bound);
    emit_all_turns(pass, turns, fmt::format("from{}", pass_), meets ? "if (inside) " : "");
    writer_.close();
    writer_.open("for (; from{0} < {1}; from{0} += {2})", pass_, bound, lane_turns * step);
    emit_all_turns(pass, lane_turns, fmt::format("from{}", pass_), fmt::format("if (e < {}) ", end));
    writer_.close();
  }

  /// Emits the turns of a pass that keeps values. Only the last turn of a row, or the last block of a long row, checks
  /// bounds: without checks, all loads can come first.
  void emit_kept_turns(const Pass& pass, const std::string& first, const std::string& end) {
    const int64_t step = form_.lanes.threads * form_.lanes.width;
    if (blocks_ <= 1) {
      std::string condition = fmt::format("if (e < {}) ", end);
      if (!is_column() && length_ % step == 0) condition = "";
      else if (!is_column()) condition = fmt::format("if (turn < {} || e < {}) ", form_.turns - 1, end);
      return emit_all_turns(pass, form_.turns, first, condition);
    }
    const bool is_whole = length_ % kReduceBlock == 0 && blocks_ % (form_.groups * form_.cluster) == 0;
    if (is_whole) return emit_all_turns(pass, form_.turns, first, "");
    writer_.open("if (left >= {})", kReduceBlock);
    emit_all_turns(pass, form_.turns, first, "");
    writer_.otherwise();
    emit_all_turns(pass, form_.turns, first, fmt::format("if (e < {}) ", end));
    writer_.close();
  }

  /// Emits `turns` unrolled turns from `first` on. The compiler must assume that a store may alias a later load, so a
  /// batch of turns stores after all its loads.
  void emit_all_turns(const Pass& pass, int64_t turns, const std::string& first, const std::string& condition) {
    const std::vector<Reg> late = stores(pass);
    if (late.empty()) return emit_loop(turns, "0", turns, first, condition, [&] { emit_elements(pass); });
    int64_t words = 0;
    for (Reg r : late)
      words += std::max<int64_t>(static_cast<int64_t>(size_of(kernel_.program[r].dtype)) / 4, 1) * form_.lanes.width;
    int64_t batch = std::clamp<int64_t>(kLateWords / words, 1, std::min(turns, kTurnsAtOnce));
    if (turns_stores(pass)) batch = std::min(batch, turned_turns());
    writer_.line("#pragma unroll");
    writer_.open("for (int batch = 0; batch < {}; batch += {})", turns, batch);
    for (Reg r : late)
      writer_.line("{} late{}[{}][{}];", type_of(kernel_.program[r].dtype), r, batch, form_.lanes.width);
    emit_loop(batch, "batch", turns, first, condition, [&] { emit_elements(pass); });
    emit_loop(batch, "batch", turns, first, condition, [&] { emit_late_stores(pass); });
    for (Reg r : late) {
      if (is_turned(r)) emit_turned_store(r, batch, turns, first, condition);
    }
    writer_.close();
  }

  /// Emits a loop over `count` turns from `from` on, of `turns` in all.
  template <class Emit> void emit_loop(int64_t count, const std::string& from, int64_t turns, const std::string& first,
                                       const std::string& condition, Emit&& emit) {
    writer_.line("#pragma unroll");
    writer_.open("for (int turn = {}; turn < {}; ++turn)", from,
                 from == "0" ? std::to_string(count) : fmt::format("{} + {}", from, count));
    if (turns % count != 0) writer_.line("if (turn >= {}) continue;", turns);
    emit_element_index(first);
    writer_.open("{}", condition);
    emit();
    writer_.close();
    writer_.close();
  }

  void emit_element_index(const std::string& first) {
    const std::string thread = form_.groups > 1 ? fmt::format("lane % {}", form_.lanes.threads) : "lane";
    writer_.line("const Index e = {} + turn * {} + {} * {};", first, form_.lanes.threads * form_.lanes.width, thread,
                 form_.lanes.width);
  }

  // ---- Columns that are stored as rows ---------------------------------------------------------------------

  /// Whether a column is stored along memory.
  bool is_turned(Reg store) const {
    return is_column() && !defines(kernel_.program[store]) &&
           is_contiguous_along(kernel_, kernel_.program[store], inner_loop());
  }
  bool turns_stores(const Pass& pass) const {
    const std::vector<Reg> all = stores(pass);
    return std::any_of(all.begin(), all.end(), [this](Reg r) { return is_turned(r); });
  }
  /// Returns the bytes of the largest element that is turned, or 0.
  int64_t turned_bytes() const {
    int64_t bytes = 0;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (is_full(kernel_.program[r]) && is_turned(r))
        bytes = std::max(bytes, static_cast<int64_t>(size_of(kernel_.program[r].dtype)));
    }
    return bytes;
  }
  int64_t block_threads() const { return int64_t{form_.lanes.threads} * form_.lanes.across; }
  int64_t turned_turns() const { return std::max<int64_t>(kTurnedBytes / (block_threads() * turned_bytes()), 1); }
  /// Returns the elements between two rows in shared memory: the threads of a warp write to different banks.
  int64_t turned_pitch(int64_t turns, int64_t bytes) const {
    return form_.lanes.threads * turns + kWarp / form_.lanes.across * std::max<int64_t>(4 / bytes, 1);
  }
  void declare_turned() {
    const int64_t bytes = turned_bytes();
    if (bytes == 0) return;
    const int64_t turns = std::min(turned_turns(), kTurnsAtOnce);
    writer_.line("__shared__ alignas(8) char turned[{}];", form_.lanes.across * turned_pitch(turns, 1) * bytes);
  }

  /// Emits the store of a batch of turns, whose elements follow one another: threads write those of their columns to
  /// shared memory, and store neighbours of a row.
  void emit_turned_store(Reg r, int64_t batch, int64_t turns, const std::string& first, const std::string& condition) {
    const Instr& instr = kernel_.program[r];
    const auto bytes = static_cast<int64_t>(size_of(instr.dtype));
    const int64_t count = form_.lanes.threads * batch, pitch = turned_pitch(batch, bytes);
    writer_.open("");
    writer_.line("{0}* const turn_at = reinterpret_cast<{0}*>(turned);", type_of(instr.dtype));
    writer_.line("__syncthreads();");  // what was there is stored
    emit_loop(batch, "batch", turns, first, condition, [&] {
      writer_.line("turn_at[threadIdx.x % {} * {} + (turn - batch) * {} + lane] = late{}[turn - batch][0];",
                   form_.lanes.across, pitch, form_.lanes.threads, r);
    });
    writer_.line("__syncthreads();");
    writer_.line("#pragma unroll");
    writer_.open("for (int share = 0; share < {}; ++share)", batch);
    writer_.line("const int place = share * {} + threadIdx.x, member = place / {}, among = place % {};",
                 block_threads(), count, count);
    writer_.line("const Index other = (Index)block_x * {} + member, e = {} + batch * {} + among;", form_.lanes.across,
                 first, form_.lanes.threads);
    writer_.open("if (other < {} && e < {})", writer_.size(rows_), writer_.size(length_));
    Position at;
    at.index = writer_.coordinates("other", extents_of(kernel_.kept), "o");
    const std::vector<std::string> inner = writer_.coordinates("e", extents_of(kernel_.reduced), "c");
    at.index.insert(at.index.end(), inner.begin(), inner.end());
    writer_.emit_store(instr, at, fmt::format("turn_at[member * {} + among]", pitch));
    writer_.close();
    writer_.close();
    writer_.close();
  }

  // ---- Folding -----------------------------------------------------------------------------------------

  /// Returns the threads that fold together: an arg reduction compares indices over the whole row.
  LaneForm folded_lanes(const Reduction& reduction) const {
    return reduction.is_arg_reduction() && blocks_ > 1 ? LaneForm{form_.threads(), 1} : form_.lanes;
  }
  int64_t shared_bytes(const Reduction& reduction) const {
    const LaneForm lanes = folded_lanes(reduction);
    return reduction.shared_bytes(lanes, form_.threads() / lanes.threads);
  }
  void declare_fold_memory() {
    int64_t bytes = 0;
    for (Reg r : reduces(kernel_, graph::Level::row)) bytes += shared_bytes(Reduction(kernel_.program[r]));
    fold_memory_.emplace(writer_, std::min(bytes, kSharedFoldBytes)).declare();
  }

  /// Emits the fold of accumulators a<r>, done by group number `group`; returns the result's name.
  std::string emit_fold(Reg r, const std::string& group) {
    const Reduction reduction(kernel_.program[r]);
    const LaneForm lanes = folded_lanes(reduction);
    std::string shared = fold_memory_->take(reduction, shared_bytes(reduction));
    if (lanes.shares_memory() && group != "0")
      shared += fmt::format(" + {} * {}", group, reduction.shared_count(lanes));
    writer_.line("const auto f{0} = {1};", r, reduction.fold(fmt::format("a{}", r), lanes, shared));
    return fmt::format("f{}", r);
  }

  void finish_reduce(Reg r, const std::string& folded) {
    const Reduction reduction(kernel_.program[r]);
    writer_.line("const {} r{} = {};", type_of(kernel_.program[r].dtype), r,
                 length_ == 0 ? reduction.identity() : reduction.result(folded));
  }

  /// Emits a pass over a long row: the groups take its blocks in turn, then the blocks' results are reduced in the
  /// reduction order.
  void emit_rounds(const Pass& pass) {
    for (Reg r : pass.reduces) {
      const Reduction reduction(kernel_.program[r]);
      if (reduction.is_arg_reduction())
        writer_.line("{}", reduction.declare(fmt::format("a{}", r), folded_lanes(reduction)));
    }
    if (form_.keeps) writer_.line("#pragma unroll");
    writer_.open("for (int round = 0; round < {}; ++round)",
                 form_.keeps ? std::to_string(form_.rounds) : writer_.size(form_.rounds));
    const std::string share = is_clustered() ? fmt::format("(round * {} + rank)", form_.cluster) : "(Index)round";
    writer_.line("const Index block = {} * {} + lane / {};", share, form_.groups, form_.lanes.threads);
    writer_.line("const Index first = block * {0}, left = {1} - first, end = first + (left < {0} ? left : {0});",
                 kReduceBlock, writer_.size(length_));
    std::vector<Reg> in_lane_order;
    std::copy_if(pass.reduces.begin(), pass.reduces.end(), std::back_inserter(in_lane_order),
                 [&](Reg r) { return !Reduction(kernel_.program[r]).is_arg_reduction(); });
    for (Reg r : in_lane_order)
      writer_.line("{}", Reduction(kernel_.program[r]).declare(fmt::format("a{}", r), form_.lanes));
    emit_turns(pass, "first", "end");
    for (Reg r : in_lane_order) {
      const std::string folded = emit_fold(r, fmt::format("threadIdx.x / {}", form_.lanes.threads));
      emit_partial(r, folded);
    }
    if (!in_lane_order.empty()) writer_.line("__syncthreads();");
    writer_.close();
    if (is_clustered() && !pass.reduces.empty()) writer_.line("meet_cluster();");
    for (Reg r : pass.reduces) {
      const Reduction reduction(kernel_.program[r]);
      if (reduction.is_arg_reduction()) finish_reduce(r, emit_fold(r, "0"));
      else finish_reduce(r, reduction.over_long_array(partials(r), writer_.size(blocks_)));
    }
  }

  /// Emits the store of a block's result. Where a cluster shares the row, its other blocks of threads get it, too.
  void emit_partial(Reg r, const std::string& folded) {
    const std::string thread = fmt::format("lane % {}", form_.lanes.threads), count = writer_.size(blocks_);
    if (is_clustered() && is_shared(r)) {
      writer_.line("if ({} < {} && block < {}) *in_cluster(&{}[block], {}) = {};", thread, form_.cluster, count,
                   partials(r), thread, folded);
    } else {
      writer_.line("if ({} == 0 && block < {}) {}[block] = {};", thread, count, partials(r), folded);
    }
  }

  // ---- The results of blocks ---------------------------------------------------------------------------

  /// Reserves shared memory for the results of blocks if they are few, otherwise scratch memory.
  void reserve_partials(GeneratedKernels& generated) {
    partials_.resize(kernel_.program.size());
    int64_t bytes = 0;
    for (Reg r : reduces(kernel_, graph::Level::row)) {
      const Reduction reduction(kernel_.program[r]);
      if (blocks_ <= 1 || reduction.is_arg_reduction()) continue;
      bytes += kMaxSharedPartials * static_cast<int64_t>(size_of(reduction.partial_dtype()));
      if (blocks_ <= kMaxSharedPartials && bytes <= kSharedPartialBytes) {
        partials_[r] = shared_partials(r);
        writer_.line("__shared__ {} {}[{}];", type_of(reduction.partial_dtype()), partials_[r], kMaxSharedPartials);
      } else {
        const std::string all =
            writer_.scratch(reserve(generated, rows_ * blocks_, reduction.partial_dtype()), reduction.partial_dtype());
        partials_[r] = fmt::format("({} + (long long)row * {})", all, writer_.size(blocks_));
      }
    }
  }
  const std::string& partials(Reg r) const { return partials_[r]; }
  static std::string shared_partials(Reg r) { return fmt::format("partial{}", r); }
  bool is_shared(Reg r) const { return partials_[r] == shared_partials(r); }

  const Kernel& kernel_;
  const graph::Plan& plan_;
  const LaunchParameters& parameters_;
  KernelWriter writer_;
  ReduceShape shape_;
  int64_t rows_, length_;
  RowPasses passes_;
  int64_t blocks_;  // of the reduction order
  bool vectorized_;
  RowForm form_;
  int pass_ = 0;
  std::optional<FoldMemory> fold_memory_;
  std::vector<bool> emitted_;
  std::vector<std::string> partials_;
  Position row_;
};

}  // namespace

GeneratedKernels generate_rows(const Kernel& kernel, const graph::Plan& plan, bool vectorized,
                               const LaunchParameters& parameters) {
  return RowsWriter(kernel, plan, vectorized, parameters).write();
}

}  // namespace tsl::cuda
