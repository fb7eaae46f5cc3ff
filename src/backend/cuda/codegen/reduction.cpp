#include "backend/cuda/codegen/reduction.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;
using graph::Reg;

namespace {

/// Returns the name of the combiner in templates.cuh.
const char* function_of(Op op) {
#define TSL_REDUCTION(name, combiner, ...) \
  if (op == Op::name) return #combiner;
#define TSL_ARG_REDUCTION(name, combiner, ...) TSL_REDUCTION(name, combiner)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
  throw std::logic_error("not a reduction");
}

}  // namespace

Reduction::Reduction(const Instr& instr)
    : function_(function_of(instr.op)),
      greatest_(instr.op == Op::argmax),
      is_arg_reduction_(op_def(instr.op).reduce_rule == ReduceRule::place),
      is_two_pass_(instr.op == Op::logsumexp),
      of_nothing_(op_def(instr.op).of_nothing.value_or(0)),
      dtype_(instr.dtype) {
  const bool accumulates = op_def(instr.op).reduce_rule == ReduceRule::total;
  partial_dtype_ = accumulates ? instr.dtype : instr.operand_dtype;
  if (is_half(partial_dtype_)) partial_dtype_ = DType::f32;
  type_ = type_of(partial_dtype_);
}

std::string Reduction::declare(const std::string& name, LaneForm form) const {
  if (is_arg_reduction_) return fmt::format("Best<{}> {};", type_, name);
  if (is_two_pass_) return fmt::format("TwoPassBlock<{}, {}, {}> {};", type_, form.threads, form.width, name);
  const std::string lanes = form.lanes == kReduceLanes ? "" : fmt::format(", {}", form.lanes);
  return fmt::format("Lanes<{}, {}, {}, {}{}> {};", function_, type_, form.threads, form.width, lanes, name);
}

std::string Reduction::take(const std::string& name, const std::string& value, const std::string& index,
                            const std::string& step, const std::string& position) const {
  if (is_arg_reduction_)
    return fmt::format("take_next<{}>({}, widen_to<{}>({}), {});", greatest_, name, type_, value, index);
  return fmt::format("{}.take({}, {}, {});", name, step, position, value);
}

std::string Reduction::fold(const std::string& name, LaneForm form, const std::string& shared) const {
  if (form.across > 1) {
    if (!is_arg_reduction_) return fmt::format("{}.fold_across<{}>({})", name, form.across, shared);
    return fmt::format("fold_best_across<{}, {}, {}>({}, {})", greatest_, form.threads, form.across, name, shared);
  }
  if (!is_arg_reduction_) return fmt::format("{}.fold({})", name, shared);
  const std::string at = shared == "nullptr" ? fmt::format("static_cast<Best<{}>*>(nullptr)", type_) : shared;
  return fmt::format("fold_best<{}, {}>({}, {})", greatest_, form.threads, name, at);
}

std::string Reduction::partial_type() const {
  return is_arg_reduction_ ? fmt::format("Best<{}>", type_) : std::string(type_);
}
int64_t Reduction::partial_bytes() const {
  constexpr int64_t kBestBytes = 16;  // a 64-bit index, and its value
  return is_arg_reduction_ ? kBestBytes : static_cast<int64_t>(size_of(partial_dtype_));
}
int Reduction::shared_count(LaneForm form) const {
  if (form.across > 1) return form.threads * form.across;
  return is_arg_reduction_ ? form.threads / kWarp : form.threads * form.width;
}

int64_t Reduction::shared_bytes(LaneForm form, int groups) const {
  if (!form.shares_memory()) return 0;
  return ceil_div(partial_bytes() * shared_count(form) * groups, 8) * 8;
}

std::string Reduction::combine(const std::string& a, const std::string& b) const {
  if (is_arg_reduction_) return fmt::format("better_of<{}>({}, {})", greatest_, a, b);
  return fmt::format("{}::combine({}, {})", function_, a, b);
}

std::string Reduction::result(const std::string& folded) const {
  if (is_arg_reduction_) return folded + ".index";
  return is_half(dtype_) ? fmt::format("s_cast<{}>({})", type_of(dtype_), folded) : folded;
}

std::string Reduction::identity() const {
  const std::string value = std::isinf(of_nothing_) ? "-infinity<float>()" : fmt::format("{}", of_nothing_);
  return fmt::format("s_cast<{}>({})", type_of(dtype_), value);
}

std::string Reduction::over_array(const std::string& address, const std::string& count, LaneForm form,
                                  const std::string& shared) const {
  if (is_arg_reduction_) {
    const std::string at = shared == "nullptr" ? fmt::format("static_cast<{}*>(nullptr)", partial_type()) : shared;
    return fmt::format("best_of_array<{}, {}>({}, {}, lane, {})", greatest_, form.threads, address, count, at);
  }
  if (is_two_pass_) return fmt::format("logsumexp_array({}, {}, lane % {})", address, count, kWarp);
  if (form.threads == 1)
    return fmt::format("reduce_few<{}, {}, {}>({}, {})", function_, type_, form.width, address, count);
  if (form.threads > kReduceLanes) {
    return fmt::format("reduce_blocks<{}, {}, {}>({}, {}, {})", function_, type_, form.threads, address, count, shared);
  }
  const std::string at = shared == "nullptr" ? fmt::format("static_cast<{}*>(nullptr)", type_) : shared;
  return fmt::format("reduce_array<{}, {}, {}>({}, {}, 1, lane, {})", function_, type_, form.threads, address, count,
                     at);
}

std::string Reduction::over_long_array(const std::string& address, const std::string& count) const {
  if (is_two_pass_) return fmt::format("logsumexp_long_array({}, {}, threadIdx.x % {})", address, count, kWarp);
  return fmt::format("reduce_long_array<{}, {}>({}, {}, threadIdx.x % {})", function_, type_, address, count, kWarp);
}

void FoldMemory::declare() {
  if (bytes_ > 0 && !std::exchange(is_declared_, true))
    writer_.line("__shared__ alignas(8) char {}[{}];", name_, bytes_);
}

std::string FoldMemory::take(const Reduction& reduction, int64_t bytes) {
  assert(bytes <= bytes_);
  if (bytes == 0) return "nullptr";
  declare();
  if (at_ + bytes > bytes_) {
    writer_.line("__syncthreads();");
    at_ = 0;
  }
  return fmt::format("reinterpret_cast<{}*>({} + {})", reduction.partial_type(), name_,
                     std::exchange(at_, at_ + bytes));
}

std::vector<Reg> reduces(const Kernel& kernel, Level level) {
  std::vector<Reg> found;
  for (Reg r = 0; r < kernel.program.size(); ++r) {
    if (kernel.program[r].kind == Instr::Kind::reduce && kernel.program[r].level == level) found.push_back(r);
  }
  return found;
}

bool reads_rows_once(const Kernel& kernel) {
  std::vector<bool> is_result(kernel.program.size(), false);  // depends on a reduction
  for (Reg r = 0; r < kernel.program.size(); ++r) {
    const Instr& instr = kernel.program[r];
    const graph::Operands in = operands_of(instr);
    const bool reads_result = std::any_of(in.begin(), in.end(), [&](Reg o) { return is_result[o]; });
    if (instr.level == Level::full && (reads_result || !defines(instr))) return false;
    is_result[r] = reads_result || instr.kind == Instr::Kind::reduce;
  }
  return true;
}

bool any_two_pass(const Kernel& kernel, const std::vector<Reg>& reduces) {
  return std::any_of(reduces.begin(), reduces.end(), [&](Reg r) { return Reduction(kernel.program[r]).is_two_pass(); });
}

std::vector<bool> needed_for(const Kernel& kernel, const std::vector<Reg>& targets, const std::vector<bool>& known) {
  std::vector<bool> needed(kernel.program.size(), false);
  for (Reg r : targets) needed[r] = true;
  for (size_t r = kernel.program.size(); r-- > 0;) {
    if (!needed[r]) continue;
    for (Reg operand : operands_of(kernel.program[r])) {
      if (!known[operand]) needed[operand] = true;
    }
  }
  return needed;
}

uint64_t reserve(GeneratedKernels& generated, int64_t count, DType dtype) {
  return reserve_bytes(generated, count, static_cast<int64_t>(size_of(dtype)));
}

TotalOperands reserve_totals(const Kernel& kernel, GeneratedKernels& generated) {
  TotalOperands totals;
  totals.reduces = reduces(kernel, Level::total);
  for (Reg r : totals.reduces)
    totals.at.push_back(reserve(generated, count_of(kernel.kept), kernel.program[r].operand_dtype));
  return totals;
}

void emit_row_ends(KernelWriter& writer, const TotalOperands& totals, const Position& at, const std::string& row,
                   const char* condition) {
  writer.open("if ({})", condition);
  for (const Instr& instr : writer.kernel().program) {
    if (!defines(instr) && instr.level == Level::row) writer.emit_store(instr, at);
  }
  for (size_t j = 0; j < totals.reduces.size(); ++j) {
    const Instr& reduce = writer.instr(totals.reduces[j]);
    writer.line("{}[{}] = {};", writer.scratch(totals.at[j], reduce.operand_dtype), row, writer.reg(reduce.a));
  }
  writer.close();
}

namespace {

/// Whether all of these are neither arg reductions nor two-pass.
bool are_plain(const Kernel& kernel, const std::vector<Reg>& which) {
  return std::none_of(which.begin(), which.end(), [&](Reg r) {
    return Reduction(kernel.program[r]).is_arg_reduction() || Reduction(kernel.program[r]).is_two_pass();
  });
}

}  // namespace

LaneForm array_form(const Kernel& kernel, const std::vector<Reg>& which, int64_t count) {
  constexpr int64_t kFew = 16;
  if (count <= kFew && are_plain(kernel, which))
    return {1, static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 1))))};
  if (count <= kReduceLanes) return {};
  return count <= kReduceBlock ? kBlockForm : kBlocksForm;
}

FoldMemory array_memory(KernelWriter& writer, LaneForm form) {
  return {writer, form.threads > kWarp ? kMaxPartialBytes * (form.threads + kMaxSharedBlocks) : 0};
}

std::string over_array(FoldMemory& memory, const Reduction& reduction, const std::string& address,
                       const std::string& count, LaneForm form) {
  const bool is_by_warps = reduction.is_two_pass();  // each warp does the whole of these
  return reduction.over_array(address, count, form, is_by_warps ? "nullptr" : memory.take_all(reduction));
}

namespace {

/// Appends CUDA kernels that reduce `count` operands of totals, at `at` in the scratch memory, until array_form() can
/// reduce the rest. Updates `at` and `count`.
void append_partial_kernels(const Kernel& kernel, const graph::Plan& plan, const std::vector<Reg>& which,
                            std::vector<uint64_t>& at, int64_t& count, GeneratedKernels& generated) {
  const int64_t most = are_plain(kernel, which) ? kMaxSharedBlocks * kReduceBlock : kReduceBlock;
  bool is_first = true;
  while (count > most) {
    const int64_t blocks = ceil_div(count, kReduceBlock);
    KernelWriter writer(kernel, plan);
    std::vector<uint64_t> next = at;
    FoldMemory memory = array_memory(writer, kBlockForm);
    writer.line("const int lane = threadIdx.x;");
    writer.line("const long long first = (long long)block_x * {}, left = {} - first;", kReduceBlock,
                writer.size(count));
    for (size_t j = 0; j < which.size(); ++j) {
      const Instr& instr = kernel.program[which[j]];
      const Reduction reduction(instr);
      const DType in = is_first ? instr.operand_dtype : reduction.partial_dtype();
      next[j] = reserve(generated, blocks, reduction.partial_dtype());
      const std::string from = writer.scratch(at[j], in), to = writer.scratch(next[j], reduction.partial_dtype());
      const std::string value = over_array(memory, reduction, fmt::format("{} + first", from),
                                           fmt::format("(left < {0} ? left : {0})", kReduceBlock), kBlockForm);
      writer.line("const auto p{} = {};", j, value);
      writer.line("if (lane == 0) {}[block_x] = p{};", to, j);
    }
    generated.kernels.push_back(writer.finish("partial", blocks, kBlockForm.threads));
    at = next;
    count = blocks;
    is_first = false;
  }
}

}  // namespace

void append_totals(const Kernel& kernel, const graph::Plan& plan, const TotalOperands& totals,
                   GeneratedKernels& generated) {
  if (totals.reduces.empty()) return;
  const int64_t rows = count_of(kernel.kept);
  std::vector<uint64_t> at = totals.at;
  int64_t count = rows;
  append_partial_kernels(kernel, plan, totals.reduces, at, count, generated);
  const LaneForm form = array_form(kernel, totals.reduces, count);
  KernelWriter writer(kernel, plan);
  writer.line("const int lane = threadIdx.x;");
  FoldMemory memory = array_memory(writer, form);
  Position position;
  position.index.assign(static_cast<size_t>(kernel.kept.rank() + kernel.reduced.rank()), "0");
  for (Reg r = 0; r < kernel.program.size(); ++r) {
    const Instr& instr = kernel.program[r];
    if (instr.level != Level::total || !defines(instr)) continue;
    if (instr.kind != Instr::Kind::reduce) {
      writer.emit(r, position, true);
      continue;
    }
    const size_t j =
        static_cast<size_t>(std::find(totals.reduces.begin(), totals.reduces.end(), r) - totals.reduces.begin());
    const Reduction reduction(instr);
    const DType in = count == rows ? instr.operand_dtype : reduction.partial_dtype();
    const std::string folded = over_array(memory, reduction, writer.scratch(at[j], in), writer.size(count), form);
    writer.line("const {} r{} = {};", type_of(instr.dtype), r,
                rows == 0 ? reduction.identity() : reduction.result(folded));
  }
  writer.open("if (lane == 0)");
  for (const Instr& instr : kernel.program) {
    if (!defines(instr) && instr.level == Level::total) writer.emit_store(instr, position);
  }
  writer.close();
  generated.kernels.push_back(writer.finish("total", 1, std::max(form.threads, kWarp)));
}

}  // namespace tsl::cuda
