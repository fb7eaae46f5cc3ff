// The parts that templates with reductions share.
#pragma once

#include <string>
#include <vector>

#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

/// As in backend/cpu/kernels.h and templates.cuh: the reduction order of reductions.
inline constexpr int64_t kReduceLanes = 128, kReduceBlock = 4096;
inline constexpr int kWarp = 32;
inline constexpr int64_t kMaxPartialBytes = 8;  // of a reduction's partial_dtype()
static_assert(kReduceBlock == graph::kReduceBlock);
inline constexpr int kRowThreads = 128, kRowsPerBlock = kRowThreads / kWarp;

/// The threads that share the reduction order's lanes, and how many neighbours of them each takes at a time.
struct LaneForm {
  int threads = kWarp, width = 1;
};

/// For a block of the reduction order: a thread a lane, so that all it reads is on its way at once. For several: groups
/// of these.
inline constexpr LaneForm kBlockForm{static_cast<int>(kReduceLanes), 1}, kBlocksForm{1024, 1};
/// The blocks that kBlocksForm reduces: one a group. More are faster if several multiprocessors reduce them first.
inline constexpr int kMaxSharedBlocks = kBlocksForm.threads / static_cast<int>(kReduceLanes);

/// How one reduce instruction is written.
class Reduction {
 public:
  explicit Reduction(const graph::Instr& instr);

  bool is_arg_reduction() const { return is_arg_reduction_; }  // argmax, argmin
  /// logsumexp: needs a block's elements twice, so they stay in registers from take() to fold(). A thread's turns must
  /// then be counted by a loop that is unrolled; a block is done by more threads than a warp, and folding uses `shared`
  /// twice.
  bool is_two_pass() const { return is_two_pass_; }
  DType partial_dtype() const { return partial_dtype_; }  // of a block's result
  /// Declares the accumulators `name` at their neutral element.
  std::string declare(const std::string& name, LaneForm form = {}) const;
  /// Takes in one value; `index` is its place along the reduced loops, `step` the thread's turn, `position` among
  /// neighbours.
  std::string take(const std::string& name, const std::string& value, const std::string& index, const std::string& step,
                   const std::string& position = "0") const;
  /// The result of the threads' accumulators, in all of them; of partial_dtype() (argmax: the place). `shared`: an
  /// array of shared_count() elements of shared_type(), if there are more threads than a warp.
  std::string fold(const std::string& name, LaneForm form = {}, const std::string& shared = "nullptr") const;
  std::string shared_type() const;
  int shared_count(LaneForm form) const;
  /// That shared_count() elements take, of each of `groups` that fold at a time. A warp needs none.
  int64_t shared_bytes(LaneForm form, int groups = 1) const;
  std::string combine(const std::string& a, const std::string& b) const;
  /// fold() as an element of the instruction's dtype.
  std::string result(const std::string& folded) const;
  /// What a reduction over nothing gives.
  std::string identity() const;
  /// The reduction order over `count` partial results in memory, as array_form() says; `shared` as in fold().
  std::string over_array(const std::string& address, const std::string& count, LaneForm form = {},
                         const std::string& shared = "nullptr") const;
  /// Over as many as there are.
  std::string over_long_array(const std::string& address, const std::string& count) const;

 private:
  const char* function_;   // "Sum", …
  std::string_view type_;  // of accumulators
  bool greatest_ = false;
  bool is_arg_reduction_ = false;
  bool is_two_pass_ = false;
  double of_nothing_;  // the result over no elements
  DType partial_dtype_;
  DType dtype_;
};

/// The shared memory in which the threads of a block fold one reduction after the other: each takes its own part as
/// long as there is one; then all threads meet, and the first part is taken again. It is declared where it is first
/// taken, or before.
class FoldMemory {
 public:
  FoldMemory(KernelWriter& writer, int64_t bytes, const char* name = "shared")
      : writer_(writer), bytes_(bytes), name_(name) {}
  void declare();
  /// The address of `bytes`, for what the reduction shares; "nullptr" of none.
  std::string take(const Reduction& reduction, int64_t bytes);
  std::string take_all(const Reduction& reduction) { return take(reduction, bytes_); }

 private:
  KernelWriter& writer_;
  int64_t bytes_, at_ = 0;  // in all, and before the next part
  const char* name_;
  bool is_declared_ = false;
};

/// Indices of a kernel's reduce instructions of a level.
std::vector<graph::Reg> reduces(const graph::Kernel& kernel, graph::Level level);
bool has_arg_reduction(const graph::Kernel& kernel);
/// Whether one of these instructions is a reduction that holds a block.
bool any_two_pass(const graph::Kernel& kernel, const std::vector<graph::Reg>& reduces);

/// What each register of a kernel is needed for: full-level instructions, backwards from some of them.
std::vector<bool> needed_for(const graph::Kernel& kernel, const std::vector<graph::Reg>& targets,
                             const std::vector<bool>& known);

/// Where the operands of totals wait: one array over the rows for each reduction of level total.
struct TotalOperands {
  std::vector<graph::Reg> reduces;
  std::vector<uint64_t> at;  // in the scratch memory
};
TotalOperands reserve_totals(const graph::Kernel& kernel, GeneratedKernels& generated);
/// Statements for one row, for lane 0 only: stores at level row, and the operands of totals. `row` is its number.
void emit_row_ends(KernelWriter& writer, const TotalOperands& totals, const Position& at, const std::string& row);
/// The CUDA kernels that reduce the rows' results and do what depends on them.
void append_totals(const graph::Kernel& kernel, const graph::Plan& plan, const TotalOperands& totals,
                   GeneratedKernels& generated);

/// How `count` partial results of each of the reductions `which` are best reduced: by one thread ({1, power of two}), a
/// warp, kBlockForm, or kBlocksForm.
LaneForm array_form(const graph::Kernel& kernel, const std::vector<graph::Reg>& which, int64_t count);

/// What over_array() needs for any number of reductions in a form.
FoldMemory array_memory(KernelWriter& writer, LaneForm form);
/// Reduction::over_array() in memory that all of them share.
std::string over_array(FoldMemory& memory, const Reduction& reduction, const std::string& address,
                       const std::string& count, LaneForm form);

/// reserve_bytes() for elements of a dtype.
uint64_t reserve(GeneratedKernels& generated, int64_t count, DType dtype);

}  // namespace tsl::cuda
