// Pointwise kernels: each thread computes a few neighbouring elements of every output, with 16-byte accesses where the
// layouts allow. All loads of a thread precede its first store.
#include <algorithm>
#include <utility>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/writer.h"
#include "graph/specialize.h"

namespace tsl::cuda {

using graph::InPart;
using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

// With fewer elements, each thread computes one: the time is then that of a single thread's work, not of the memory.
constexpr int64_t kPointwiseFewElements = 1 << 14;
/// Where vectors are impossible (rows that begin at any address), a thread takes this many elements, one from each run
/// of neighbouring threads: its loads are in flight together. Fewer elements are better spread over more threads.
constexpr int kElementsApart = 4, kShortElementsApart = 8;
constexpr int64_t kPointwiseManyElements = 1 << 19;
/// In rows of fewer elements that parts divide, the threads of a warp are in different parts: branches would take
/// turns. Vectors of fewer bytes are then worth less than elements apart.
constexpr int64_t kShortRow = 64;
constexpr int kShortVector = 8;
/// Loads of parts are in flight together if elements are computed for all parts. That pays for so few operations.
constexpr int64_t kFewMaps = 2;

/// What is left of a program where the indices are in some parts, and not in others.
struct Case {
  std::vector<std::pair<Reg, bool>> conditions;  // in the order in which they were decided
  std::vector<Instr> program;
  bool is_rest = true;  // holds wherever the cases before do not
};

/// Divides a program into cases, until there are too many.
class CaseFinder {
 public:
  explicit CaseFinder(const std::vector<Instr>& program) : program_(program) {}

  /// Returns the cases; none if the program has no parts, or too many.
  std::vector<Case> run() {
    add({}, std::vector<InPart>(program_.size(), InPart::some));
    if (cases_.size() == 1 || cases_.size() > graph::kMostBranches) cases_.clear();
    return std::move(cases_);
  }

 private:
  void add(Case one, std::vector<InPart> in_part) {
    if (cases_.size() > graph::kMostBranches) return;
    graph::Remainder left = remainder_of(program_, in_part);
    for (Reg r = static_cast<Reg>(program_.size()); r-- > 0;) {
      if (!left.keeps(r) || program_[r].kind != Instr::Kind::choose) continue;
      const Reg part = program_[r].a;
      for (const bool holds : {true, false}) {
        Case next = one;
        next.conditions.emplace_back(part, holds);
        in_part[part] = holds ? InPart::all : InPart::none;
        add(std::move(next), in_part);
      }
      return;
    }
    // What is chosen last is read within its own part.
    for (Reg r = 0; r < program_.size(); ++r) {
      const Instr& load = program_[r];
      if (!left.keeps(r) || load.kind != Instr::Kind::load || !load.is_guarded) continue;
      if (left.guard[r] != InPart::some || in_part[load.a] != InPart::some) continue;
      one.conditions.emplace_back(load.a, true);
      one.is_rest = false;
      in_part[load.a] = InPart::all;
    }
    if (!one.is_rest) left = remainder_of(program_, in_part);
    one.program = program_of(program_, left);
    cases_.push_back(std::move(one));
  }

  const std::vector<Instr>& program_;
  std::vector<Case> cases_;
};

class PointwiseWriter {
 public:
  PointwiseWriter(const Kernel& kernel, const graph::Plan& plan, bool vectorized, const LaunchParameters& parameters)
      : kernel_(kernel),
        plan_(plan),
        parameters_(parameters),
        writer_(kernel, plan),
        extents_(extents_of(kernel.kept)),
        count_(count_of(kernel.kept)) {
    if (vectorized) choose_width();
    if (divides_short_rows()) {
      if (width_ * widest_ < kShortVector) width_ = 1;
    } else if (count_ >= kPointwiseFewElements) {
      cases_ = CaseFinder(kernel.program).run();
    }
    if (width_ == 1 && count_ >= kPointwiseManyElements && (cases_.empty() || is_cheap())) apart_ = elements_apart();
  }

  GeneratedKernels write() {
    GeneratedKernels generated;
    if (count_ == 0) return generated;
    const std::string& n = writer_.size(count_);
    const int threads = parameters_.pointwise_threads;
    if (apart_ > 1) return write_apart(threads);
    writer_.put("const Index i = ((Index)block_x * ", threads, " + threadIdx.x) * ", width_, ";");
    writer_.put("if (i >= ", n, ") return;");
    if (width_ > 1 && count_ % width_ != 0) {
      writer_.open("if (i + {} <= {})", width_, n);
      body(width_, "i");
      writer_.otherwise();
      writer_.open("for (Index j = i; j < {}; ++j)", n);
      body(1, "j");
      writer_.close();
      writer_.close();
    } else {
      body(width_, "i");
    }
    const std::string suffix = width_ > 1 ? text_of("x", width_) : std::string();
    generated.kernels.push_back(writer_.finish(suffix, ceil_div(count_, int64_t{threads} * width_), threads));
    if (width_ > 1) generated.kernels.back().vector_accesses = vector_accesses();
    return generated;
  }

 private:
  int inner_loop() const { return static_cast<int>(extents_.size()) - 1; }
  int64_t inner_stride(const Instr& instr) const {
    return extents_.empty() ? 0 : instr.map.strides[static_cast<int>(extents_.size()) - 1].hint();
  }
  int element_bytes(const Instr& instr) const { return cuda::element_bytes(kernel_, plan_, instr); }

  std::vector<VectorAccess> vector_accesses() const {
    if (span_ > 1) return dense_accesses();
    std::vector<VectorAccess> all = find_vector_accesses(kernel_, plan_, inner_loop(), width_);
    for (const Case& one : cases_) {
      add_missing(all, find_vector_accesses(kernel_, plan_, inner_loop(), width_, &one.program));
    }
    return all;
  }

  /// Chooses the most elements per thread such that no access exceeds the parameter and all are aligned if their
  /// buffers are.
  void choose_width() {
    for (const Instr& instr : kernel_.program) {
      if (is_contiguous_along(kernel_, instr, inner_loop())) widest_ = std::max(widest_, element_bytes(instr));
    }
    if (widest_ == 0 || count_ < kPointwiseFewElements) return;
    width_ = std::max(parameters_.pointwise_bytes / widest_, 1);
    const bool is_whole = extents_.size() == 1;  // otherwise a vector must not cross the end of a row
    for (int wider = width_; wider > extents_.back() && !is_whole; wider /= 2) {
      if (choose_span(wider)) return;
    }
    while (width_ > 1 &&
           !(allows_vectors(kernel_, inner_loop(), width_) && (is_whole || extents_.back() % width_ == 0)))
      width_ /= 2;
  }

  bool divides_short_rows() const {
    return !extents_.empty() && extents_.back() < kShortRow &&
           std::any_of(kernel_.program.begin(), kernel_.program.end(),
                       [&](const Instr& instr) { return instr.kind == Instr::Kind::part && inner_stride(instr) != 0; });
  }

  // ---- Vectors of several rows: those of few elements that follow one another ---------------------------------

  /// Whether an access goes through memory as the two innermost loops do.
  bool is_dense(const Instr& instr) const {
    return is_contiguous_along(kernel_, instr, inner_loop()) &&
           instr.map.strides[inner_loop() - 1].hint() == extents_.back();
  }
  bool is_dense_aligned(const Instr& instr, int width) const {
    if (!instr.map.offset.symbol() && instr.map.offset.hint() % width != 0) return false;
    for (int k = 0; k + 1 < inner_loop(); ++k) {
      if (instr.map.strides[k].hint() % width != 0) return false;
    }
    return true;
  }
  /// Lets a thread take whole rows, if their vectors do not cross the end of the next loop.
  bool choose_span(int width) {
    const int64_t row = extents_.back(), rows = extents_[extents_.size() - 2];
    if (row < 2 || width % row != 0 || (extents_.size() > 2 && rows % (width / row) != 0)) return false;
    bool has_dense = false;
    for (const Instr& instr : kernel_.program) {
      if (instr.kind == Instr::Kind::part || (instr.kind == Instr::Kind::load && instr.is_guarded)) return false;
      if (!is_dense(instr)) continue;
      if (!is_dense_aligned(instr, width)) return false;
      has_dense = true;
    }
    if (!has_dense) return false;
    width_ = width;
    span_ = width / row;
    return true;
  }
  std::vector<VectorAccess> dense_accesses() const {
    std::vector<VectorAccess> all;
    for (const Instr& instr : kernel_.program) {
      if (!is_dense(instr)) continue;
      add_missing(all, {{kernel_.buffers[instr.buffer], element_bytes(instr) * width_, element_bytes(instr),
                         instr.map.offset.symbol()}});
    }
    return all;
  }
  /// Whether an access reads or writes a whole vector.
  bool takes_vector(const Instr& instr, int width) const {
    if (span_ > 1) return is_dense(instr);
    return inner_stride(instr) == 1 && is_aligned_along(instr, inner_loop(), width);
  }

  /// Whether elements may be computed for all parts, where only one is needed.
  bool is_cheap() const {
    const auto is_map = [](const Instr& instr) { return instr.kind == Instr::Kind::map; };
    return std::count_if(kernel_.program.begin(), kernel_.program.end(), is_map) <= kFewMaps;
  }

  /// Returns how many elements a thread takes that are apart: more of 16 bits, so that as many bytes are in flight.
  int elements_apart() const {
    const bool all_short = std::all_of(kernel_.program.begin(), kernel_.program.end(), [&](const Instr& instr) {
      const bool accesses = instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store;
      return !accesses || element_bytes(instr) <= 2;
    });
    return all_short ? kShortElementsApart : kElementsApart;
  }

  /// Writes a kernel in which neighbouring threads access neighbouring elements, and a thread several of these apart.
  GeneratedKernels write_apart(int threads) {
    GeneratedKernels generated;
    const std::string& n = writer_.size(count_);
    writer_.put("const Index i = (Index)block_x * ", threads * apart_, " + threadIdx.x;");
    writer_.open("if (i + {} < {})", threads * (apart_ - 1), n);
    statements_apart(threads);
    writer_.otherwise();
    writer_.open("for (Index j = i; j < {}; j += {})", n, threads);
    body(1, "j");
    writer_.close();
    writer_.close();
    generated.kernels.push_back(
        writer_.finish(text_of("a", apart_), ceil_div(count_, int64_t{threads} * apart_), threads));
    return generated;
  }

  void statements_apart(int threads) {
    const std::vector<Instr>& program = kernel_.program;
    writer_.use(program);
    std::vector<std::string> array_index(program.size());
    for (Reg r = 0; r < program.size(); ++r) {
      if (!defines(program[r])) continue;
      if (program[r].kind == Instr::Kind::scalar) {
        writer_.emit(r, {}, true);
        continue;
      }
      array_index[r] = "v";
      writer_.line("{} r{}[{}];", type_of(program[r].dtype), r, apart_);
    }
    writer_.set_arrays(array_index);
    for (const Stage stage : {Stage::load, Stage::compute, Stage::store}) {
      writer_.line("#pragma unroll");
      writer_.open("for (int v = 0; v < {}; ++v)", apart_);
      writer_.line("const Index j = i + v * {};", threads);
      Position at;
      at.index = writer_.coordinates("j", extents_, "k");
      at.linear = "j";
      for (Reg r = 0; r < program.size(); ++r) {
        if (program[r].kind == Instr::Kind::scalar || stage_of(program[r]) != stage) continue;
        if (stage == Stage::store) writer_.emit_store(program[r], at);
        else writer_.emit(r, at, false);
      }
      writer_.close();
    }
  }

  /// When an instruction runs. All loads of a thread come first: none moves across the branch that a division has.
  enum class Stage : uint8_t { load, compute, store };
  static Stage stage_of(const Instr& instr) {
    if (!defines(instr)) return Stage::store;
    const bool is_early = instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::part;
    return is_early ? Stage::load : Stage::compute;
  }

  /// Whether all elements of a thread have the same value: host numbers, and operands broadcast along the rows.
  bool is_uniform(const Instr& instr) const {
    const bool is_same = span_ == 1 || (inner_loop() > 0 && instr.map.strides.rank() > 0 &&
                                        instr.map.strides[inner_loop() - 1].hint() == 0);
    return instr.kind == Instr::Kind::scalar || (is_plain_load(instr) && inner_stride(instr) == 0 && is_same);
  }

  /// Writes the statements for `width` elements from `first` on. Where all of them are in the same parts, a branch
  /// computes nothing for others.
  void body(int width, const std::string& first) {
    Position at;
    at.index = writer_.coordinates(first, extents_, "k");
    at.linear = first;
    Position last = at;
    if (width > 1 && !last.index.empty()) last.index.back() = fmt::format("({} + {})", last.index.back(), width - 1);
    if (cases_.empty() || width < width_) return statements(kernel_.program, width, at);
    bool is_complete = cases_.back().is_rest;  // there are no other cases
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (kernel_.program[r].kind != Instr::Kind::part) continue;
      write_condition(r, at, last);
      is_complete &= width == 1 || inner_stride(kernel_.program[r]) == 0;
    }
    const size_t conditional = cases_.size() - is_complete;
    for (size_t i = 0; i < conditional; ++i) {
      writer_.open("if ({})", condition_of(cases_[i]));
      statements(cases_[i].program, width, at);
      writer_.otherwise();
    }
    statements(is_complete ? cases_.back().program : kernel_.program, width, at);
    for (size_t i = 0; i < conditional; ++i) writer_.close();
  }

  /// Declares whether all elements of a thread are in a part, and whether none is.
  void write_condition(Reg r, const Position& first, const Position& last) {
    const Instr& part = kernel_.program[r];
    const bool is_descending = inner_stride(part) < 0;
    const std::string least = writer_.index_expr(part.map, is_descending ? last : first);
    const std::string most = writer_.index_expr(part.map, is_descending ? first : last);
    const std::string &low = writer_.size(part.low), &high = writer_.size(part.high);
    writer_.line("const bool in{} = {}{} <= {} && {} < {};", r, part.is_guarded ? fmt::format("in{} && ", part.a) : "",
                 low, least, most, high);
    writer_.line("const bool out{} = {}{} < {} || {} >= {};", r,
                 part.is_guarded ? fmt::format("out{} || ", part.a) : "", most, low, least, high);
  }

  static std::string condition_of(const Case& one) {
    std::string text;
    for (const auto& [condition, holds] : one.conditions)
      text += fmt::format("{}{}{}", text.empty() ? "" : " && ", holds ? "in" : "out", condition);
    return text;
  }

  /// Writes the statements of a program: the kernel's, or what is left of it.
  void statements(const std::vector<Instr>& program, int width, const Position& at) {
    writer_.use(program);
    if (width > 1) return vector_statements(program, width, at);
    writer_.set_arrays({});
    for (Reg r = 0; r < program.size(); ++r) {
      if (defines(program[r])) writer_.emit(r, at, true);
    }
    for (const Instr& instr : program) {
      if (!defines(instr)) writer_.emit_store(instr, at);
    }
  }

  void vector_statements(const std::vector<Instr>& program, int width, const Position& first) {
    std::vector<std::string> array_index(program.size());
    Position at = first;
    if (span_ > 1) {
      std::string& row = at.index[at.index.size() - 2];
      row = fmt::format("({} + v / {})", row, extents_.back());
      at.index.back() = fmt::format("(v % {})", extents_.back());
    } else if (!at.index.empty()) {
      at.index.back() = fmt::format("({} + v)", at.index.back());
    }
    at.linear = fmt::format("({} + v)", first.linear);
    for (Reg r = 0; r < program.size(); ++r) {
      const Instr& instr = program[r];
      if (!defines(instr) || is_uniform(instr)) continue;
      array_index[r] = "v";
      writer_.line("{} r{}[{}];", type_of(instr.dtype), r, width);
    }
    writer_.set_arrays(array_index);
    std::vector<Reg> computed;
    for (Reg r = 0; r < program.size(); ++r) {
      const Instr& instr = program[r];
      if (!defines(instr)) continue;
      if (is_uniform(instr)) writer_.emit(r, first, true);
      else if (is_plain_load(instr) && takes_vector(instr, width)) {
        writer_.line("load_vector(r{}, {} + {});", r, writer_.buffer(instr.buffer),
                     writer_.index_expr(instr.map, first));
      } else computed.push_back(r);
    }
    for (const Stage stage : {Stage::load, Stage::compute}) {
      const auto runs_now = [&](Reg r) { return stage_of(program[r]) == stage; };
      if (std::none_of(computed.begin(), computed.end(), runs_now)) continue;
      writer_.line("#pragma unroll");
      writer_.open("for (int v = 0; v < {}; ++v)", width);
      for (Reg r : computed) {
        if (runs_now(r)) writer_.emit(r, at, false);
      }
      writer_.close();
    }
    for (const Instr& instr : program) {
      if (!defines(instr)) store(instr, first, at, width, !array_index[instr.a].empty());
    }
  }

  void store(const Instr& instr, const Position& first, const Position& at, int width, bool is_array) {
    if (inner_stride(instr) == 1 && (span_ == 1 || is_dense(instr))) {
      const std::string to = fmt::format("{} + {}", writer_.buffer(instr.buffer), writer_.index_expr(instr.map, first));
      if (is_array) writer_.line("store_vector({}, r{});", to, instr.a);
      else writer_.line("store_repeated<{}>({}, r{});", width, to, instr.a);
      return;
    }
    writer_.line("#pragma unroll");
    writer_.open("for (int v = 0; v < {}; ++v)", width);
    writer_.emit_store(instr, at);
    writer_.close();
  }

  const Kernel& kernel_;
  const graph::Plan& plan_;
  const LaunchParameters& parameters_;
  KernelWriter writer_;
  std::vector<int64_t> extents_;
  int64_t count_;
  int width_ = 1, apart_ = 1;
  int widest_ = 0;    // the bytes of an element of what is contiguous
  int64_t span_ = 1;  // the rows of a vector
  std::vector<Case> cases_;
};

}  // namespace

GeneratedKernels generate_pointwise(const Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                    const LaunchParameters& parameters) {
  return PointwiseWriter(kernel, plan, vectorized, parameters).write();
}

}  // namespace tsl::cuda
