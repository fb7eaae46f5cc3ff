// Code shared by the templates with reductions.
#pragma once

#include <string>
#include <vector>

#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

/// Constants of the reduction order; equal to those in backend/cpu/kernels.h and templates.cuh.
inline constexpr int64_t kReduceLanes = 128, kReduceBlock = 4096;
inline constexpr int kWarp = 32;
inline constexpr int64_t kMaxPartialBytes = 8;  // upper bound of size_of(Reduction::partial_dtype())
static_assert(kReduceBlock == graph::kReduceBlock);
inline constexpr int kRowThreads = 128;

/// How threads share the lanes of the reduction order: the number of threads, and the neighbouring lanes of each.
/// `lanes`: how many take elements, a power of two; others change nothing. `across`: rows side by side, of which the
/// threads alternate.
struct LaneForm {
  int threads = kWarp, width = 1;
  int lanes = static_cast<int>(kReduceLanes);
  int across = 1;
  /// Whether threads fold in shared memory: if those of a row are in several warps.
  bool shares_memory() const { return threads > kWarp || across > 1; }
};

/// kBlockForm reduces one block of the reduction order with a thread per lane, so that all its loads are in flight at
/// once. kBlocksForm reduces several blocks, with one group of such threads for each.
inline constexpr LaneForm kBlockForm{static_cast<int>(kReduceLanes), 1}, kBlocksForm{1024, 1};
/// The most blocks for kBlocksForm, one per group. For more blocks it is faster that several multiprocessors reduce
/// them first.
inline constexpr int kMaxSharedBlocks = kBlocksForm.threads / static_cast<int>(kReduceLanes);

/// Writes the source for one reduce instruction.
class Reduction {
 public:
  explicit Reduction(const graph::Instr& instr);

  bool is_arg_reduction() const { return is_arg_reduction_; }  // argmax, argmin
  /// Whether the reduction is a logsumexp: it needs a block's elements twice, so they stay in registers from take() to
  /// fold(). A thread's turns must then be counted by an unrolled loop, more than one warp must share a block, and
  /// fold() uses `shared` twice.
  bool is_two_pass() const { return is_two_pass_; }
  DType partial_dtype() const { return partial_dtype_; }  // of the result of one block of the reduction order
  /// The type of a partial result: partial_dtype(), or for an arg reduction the value and its index.
  std::string partial_type() const;
  int64_t partial_bytes() const;
  /// Declares the accumulators `name`, with the reduction's neutral element.
  std::string declare(const std::string& name, LaneForm form = {}) const;
  /// Adds one value to the accumulator. `index` is its index along the reduced loops, `step` the thread's turn,
  /// `position` its position in a vectorized access.
  std::string take(const std::string& name, const std::string& value, const std::string& index, const std::string& step,
                   const std::string& position = "0") const;
  /// Combines the accumulators of all threads; each thread gets the result, of partial_type(). `shared`: an array of
  /// shared_count() such elements, needed for more threads than a warp.
  std::string fold(const std::string& name, LaneForm form = {}, const std::string& shared = "nullptr") const;
  int shared_count(LaneForm form) const;
  /// Returns the size of the `shared` array if `groups` groups fold at the same time; 0 for a warp.
  int64_t shared_bytes(LaneForm form, int groups = 1) const;
  std::string combine(const std::string& a, const std::string& b) const;
  /// Converts the result of fold() to the instruction's dtype.
  std::string result(const std::string& folded) const;
  /// Returns the result of a reduction over no elements.
  std::string identity() const;
  /// Reduces `count` partial results (or values) in memory in the reduction order; `form` as array_form() chooses it,
  /// `shared` as in fold().
  std::string over_array(const std::string& address, const std::string& count, LaneForm form = {},
                         const std::string& shared = "nullptr") const;
  /// As over_array(), for any number of partial results.
  std::string over_long_array(const std::string& address, const std::string& count) const;

 private:
  const char* function_;   // the combiner in templates.cuh: "Sum", …
  std::string_view type_;  // of the accumulators
  bool greatest_ = false;
  bool is_arg_reduction_ = false;
  bool is_two_pass_ = false;
  double of_nothing_;  // the result over no elements
  DType partial_dtype_;
  DType dtype_;
};

/// The shared memory in which a block's threads fold one reduction after the other. Each reduction takes a part of its
/// own. When none is left, a barrier is emitted and the first part is used again. The array is declared at the first
/// use, or before.
class FoldMemory {
 public:
  FoldMemory(KernelWriter& writer, int64_t bytes, const char* name = "shared")
      : writer_(writer), bytes_(bytes), name_(name) {}
  void declare();
  /// Returns the address of `bytes` of shared memory for the reduction; "nullptr" if `bytes` is 0.
  std::string take(const Reduction& reduction, int64_t bytes);
  std::string take_all(const Reduction& reduction) { return take(reduction, bytes_); }

 private:
  KernelWriter& writer_;
  int64_t bytes_, at_ = 0;  // the total size, and the start of the next part
  const char* name_;
  bool is_declared_ = false;
};

/// Returns the reduce instructions of a level.
std::vector<graph::Reg> reduces(const graph::Kernel& kernel, graph::Level level);
/// Whether no element depends on a reduction of its row, and none is stored: one pass over the rows suffices.
bool reads_rows_once(const graph::Kernel& kernel);
/// Whether one of these instructions is a two-pass reduction.
bool any_two_pass(const graph::Kernel& kernel, const std::vector<graph::Reg>& reduces);

/// Marks the full-level instructions that the targets depend on, directly or indirectly. `known` registers have values
/// already.
std::vector<bool> needed_for(const graph::Kernel& kernel, const std::vector<graph::Reg>& targets,
                             const std::vector<bool>& known);

/// The operands of total-level reductions: one array over the rows, in the scratch memory, for each such reduction.
struct TotalOperands {
  std::vector<graph::Reg> reduces;
  std::vector<uint64_t> at;  // byte offsets into the scratch memory
};
TotalOperands reserve_totals(const graph::Kernel& kernel, GeneratedKernels& generated);
/// Emits what one thread does at the end of a row: row-level stores, and storing the operands of totals. `row`: the
/// row's number; `condition`: which thread.
void emit_row_ends(KernelWriter& writer, const TotalOperands& totals, const Position& at, const std::string& row,
                   const char* condition = "lane == 0");
/// Appends the CUDA kernels that reduce the rows' results to totals, and the instructions that depend on totals.
void append_totals(const graph::Kernel& kernel, const graph::Plan& plan, const TotalOperands& totals,
                   GeneratedKernels& generated);

/// Chooses the threads that reduce `count` partial results of each reduction in `which`: one thread ({1, power of
/// two}), a warp, kBlockForm or kBlocksForm.
LaneForm array_form(const graph::Kernel& kernel, const std::vector<graph::Reg>& which, int64_t count);

/// Returns the shared memory that over_array() needs in this form, for any number of reductions.
FoldMemory array_memory(KernelWriter& writer, LaneForm form);
/// Writes Reduction::over_array() with shared memory from `memory`.
std::string over_array(FoldMemory& memory, const Reduction& reduction, const std::string& address,
                       const std::string& count, LaneForm form);

/// Reserves scratch memory for `count` elements of a dtype; returns its offset in bytes.
uint64_t reserve(GeneratedKernels& generated, int64_t count, DType dtype);

}  // namespace tsl::cuda
