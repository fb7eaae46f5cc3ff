// Pointwise kernels: each thread computes a few neighbouring elements of every output, with 16-byte accesses where the
// layouts allow. All loads of a thread precede its first store.
#include <algorithm>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

// With fewer elements, each thread computes one: the time is then that of a single thread's work, not of the memory.
constexpr int64_t kFewElements = 1 << 14;

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
  }

  GeneratedKernels write() {
    GeneratedKernels generated;
    if (count_ == 0) return generated;
    const std::string& n = writer_.size(count_);
    const int threads = parameters_.pointwise_threads;
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
    if (width_ > 1)
      generated.kernels.back().vector_accesses = find_vector_accesses(kernel_, plan_, inner_loop(), width_);
    return generated;
  }

 private:
  int inner_loop() const { return static_cast<int>(extents_.size()) - 1; }
  int64_t inner_stride(const Instr& instr) const {
    return extents_.empty() ? 0 : instr.map.strides[static_cast<int>(extents_.size()) - 1].hint();
  }
  int element_bytes(const Instr& instr) const {
    return static_cast<int>(size_of(plan_.buffers[kernel_.buffers[instr.buffer]].dtype));
  }

  /// Chooses the most elements per thread such that no access exceeds the parameter and all are aligned if their
  /// buffers are.
  void choose_width() {
    int widest = 0;
    for (const Instr& instr : kernel_.program) {
      if (is_contiguous_along(kernel_, instr, inner_loop())) widest = std::max(widest, element_bytes(instr));
    }
    if (widest == 0 || count_ < kFewElements) return;
    width_ = std::max(parameters_.pointwise_bytes / widest, 1);
    const bool is_whole = extents_.size() == 1;  // otherwise a vector must not cross the end of a row
    while (width_ > 1 &&
           !(allows_vectors(kernel_, inner_loop(), width_) && (is_whole || extents_.back() % width_ == 0)))
      width_ /= 2;
  }

  /// Whether all elements of a thread have the same value: host numbers, and operands broadcast along the rows.
  bool is_uniform(const Instr& instr) const {
    return instr.kind == Instr::Kind::scalar || (is_plain_load(instr) && inner_stride(instr) == 0);
  }

  void body(int width, const std::string& first) {
    Position at;
    at.index = writer_.coordinates(first, extents_, "k");
    at.linear = first;
    if (width == 1) {
      writer_.set_arrays({});
      for (Reg r = 0; r < kernel_.program.size(); ++r) {
        if (defines(kernel_.program[r])) writer_.emit(r, at, true);
      }
      for (const Instr& instr : kernel_.program) {
        if (!defines(instr)) writer_.emit_store(instr, at);
      }
      return;
    }
    vector_body(width, at);
  }

  void vector_body(int width, const Position& first) {
    std::vector<std::string> array_index(kernel_.program.size());
    Position at = first;
    if (!at.index.empty()) at.index.back() = fmt::format("({} + v)", at.index.back());
    at.linear = fmt::format("({} + v)", first.linear);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!defines(instr) || is_uniform(instr)) continue;
      array_index[r] = "v";
      writer_.line("{} r{}[{}];", type_of(instr.dtype), r, width);
    }
    writer_.set_arrays(array_index);
    std::vector<Reg> computed;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!defines(instr)) continue;
      if (is_uniform(instr)) writer_.emit(r, first, true);
      else if (is_plain_load(instr) && inner_stride(instr) == 1) {
        writer_.line("load_vector(r{}, {} + {});", r, writer_.buffer(instr.buffer),
                     writer_.index_expr(instr.map, first));
      } else computed.push_back(r);
    }
    if (!computed.empty()) {
      writer_.line("#pragma unroll");
      writer_.open("for (int v = 0; v < {}; ++v)", width);
      for (Reg r : computed) writer_.emit(r, at, false);
      writer_.close();
    }
    for (const Instr& instr : kernel_.program) {
      if (!defines(instr)) store(instr, first, at, width, !array_index[instr.a].empty());
    }
  }

  void store(const Instr& instr, const Position& first, const Position& at, int width, bool is_array) {
    if (inner_stride(instr) == 1 && is_array) {
      writer_.line("store_vector({} + {}, r{});", writer_.buffer(instr.buffer), writer_.index_expr(instr.map, first),
                   instr.a);
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
  int width_ = 1;
};

}  // namespace

GeneratedKernels generate_pointwise(const Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                    const LaunchParameters& parameters) {
  return PointwiseWriter(kernel, plan, vectorized, parameters).write();
}

}  // namespace tsl::cuda
