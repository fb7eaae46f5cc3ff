// Long rows: a group of threads takes a block of the reduction order at a time, and the blocks are spread over many
// blocks of threads.
#include <algorithm>
#include <bit>

#include "backend/cuda/codegen/reduce_writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;
using graph::Reg;

namespace {

/// About how many blocks of threads run at the same time.
constexpr int64_t kFullMachine = 2048;
constexpr int64_t kTurns = kReduceBlock / kReduceLanes;
/// Returns how many neighbouring elements of a row a thread reads at a time: 8 bytes for the usual dtypes. Two warps
/// per block with all its loads in flight are faster than one warp with 16-byte loads.
constexpr int vector_width(size_t element_bytes) { return element_bytes >= 4 ? 2 : 4; }

class BlocksWriter : ReduceWriter {
 public:
  BlocksWriter(const Kernel& kernel, const graph::Plan& plan, bool is_joined) : ReduceWriter(kernel, plan) {
    if (is_joined) least_array_ = kReduceBlock;
  }

  GeneratedKernels write(bool vectorized) {
    if (const int width = vector_width(most_bytes()); vectorized && may_vectorize(inner_loop(), width))
      take_neighbours(inner_loop(), width, true);
    totals_ = reserve_totals(kernel_, generated_);
    reserve_levels();
    generated_.kernels.push_back(block_kernel());
    append_totals(kernel_, plan_, totals_, generated_);
    return std::move(generated_);
  }

 private:
  /// Returns the largest element size of operands that are contiguous along the rows.
  size_t most_bytes() const {
    size_t bytes = 0;
    for (const Instr& instr : kernel_.program) {
      if (instr.level == Level::full && is_contiguous_along(kernel_, instr, inner_loop()))
        bytes = std::max<size_t>(bytes, size_of(instr.dtype));
    }
    return bytes;
  }

  /// Reduces long rows. A group of threads takes all lanes of a block at a time. For two-pass reductions one group
  /// takes the blocks in turn, since they stay in registers; otherwise several groups take a block each.
  CudaKernel block_kernel() {
    const LaneForm form{static_cast<int>(kReduceLanes) / width_, width_};
    const int64_t results = blocks_a_member(form), members = ceil_div(blocks_, results);
    const int threads = is_two_pass_ ? form.threads : form.threads * static_cast<int>(results);
    KernelWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.x % {};", form.threads);
    writer.line("const Index team = block_x / {}, first_row = team, row = team;", writer.size(members));
    writer.line("const Index first_block = block_x % {} * {};", writer.size(members), results);
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    if (is_two_pass_) {
      writer.open("for (int taken = 0; taken < {} && first_block + taken < {}; ++taken)", results,
                  writer.size(blocks_));
    } else {
      writer.line("const int taken = threadIdx.x / {};", form.threads);
      writer.open("");
    }
    writer.line("const Index block = first_block + taken;");
    for (Reg r : reduces_) writer.line("{}", Reduction(kernel_.program[r]).declare(accumulator(r), form));
    writer.line("const Index first = block * {1}, left = {0} - first, end = first + (left < {1} ? left : {1});",
                writer.size(length_), kReduceBlock);
    emit_row_block(writer, row, form);
    emit_folds(writer, form, threads / form.threads);
    if (is_two_pass_) writer.line("__syncthreads();");
    writer.close();
    bring_together(writer, {"1", "threadIdx.x", rows_, threads, results, true});
    CudaKernel cuda_kernel =
        writer.finish(width_ > 1 ? fmt::format("blocks_x{}", width_) : "blocks", rows_ * members, threads);
    if (width_ > 1) cuda_kernel.vector_accesses = vector_accesses();
    return cuda_kernel;
  }

  /// Returns how many blocks of a row one block of threads takes. Each arrival costs a microsecond, which matters if
  /// many blocks of threads do little; but blocks of threads that do much end at different times.
  int64_t blocks_a_member(LaneForm form) const {
    const int64_t least = kRowThreads / form.threads,
                  most = is_two_pass_ ? 8 : 4;  // at most 16 blocks: see kMaxSmallIndex
    const int64_t times = rows_ * blocks_ / (least * kFullMachine);
    return least * static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(times, 1, most))));
  }

  /// Emits all turns of a thread. A whole block needs no bounds checks, so its loads can come first: all of them, if
  /// there is nothing to compute.
  void emit_row_block(KernelWriter& writer, const Position& row, LaneForm form) {
    const bool only_loads = std::all_of(kernel_.program.begin(), kernel_.program.end(), [](const Instr& instr) {
      return instr.level != Level::full || instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::reduce;
    });
    const auto emit_turns = [&](int64_t at_once, const char* condition) {
      writer.line("#pragma unroll {}", at_once);
      writer.open("for (int step = 0; step < {}; ++step)", kTurns);
      writer.line("const Index e = first + step * {} + lane * {};", kReduceLanes, form.width);
      writer.open("{}", condition);
      emit_elements(writer, row, "e", Taken::all);
      writer.close();
      writer.close();
    };
    writer.open("if (left >= {})", kReduceBlock);
    emit_turns(only_loads ? kTurns : kTurns / form.width, "");
    writer.otherwise();
    emit_turns(kTurns / form.width, "if (e < end) ");
    writer.close();
  }

  /// Emits the folds of the blocks that `groups` groups have read. The reductions fold one after the other, in the same
  /// shared memory.
  void emit_folds(KernelWriter& writer, LaneForm form, int groups) {
    FoldMemory memory(writer, form.threads > kWarp ? kMaxPartialBytes * kReduceLanes * groups : 0, "lanes");
    for (size_t j = 0; j < reduces_.size(); ++j) {
      const Reduction reduction(kernel_.program[reduces_[j]]);
      std::string shared = memory.take_all(reduction);
      if (form.threads > kWarp)
        shared += fmt::format(" + threadIdx.x / {} * {}", form.threads, reduction.shared_count(form));
      writer.line("const auto f{} = {};", j, reduction.fold(accumulator(reduces_[j]), form, shared));
      writer.line("if (lane == 0 && left > 0) {}[row * {} + block] = f{};", partial_results(writer, 0, j),
                  writer.size(blocks_), j);
    }
  }
};

}  // namespace

GeneratedKernels generate_blocks(const Kernel& kernel, const graph::Plan& plan, bool vectorized, bool is_joined) {
  return BlocksWriter(kernel, plan, is_joined).write(vectorized);
}

}  // namespace tsl::cuda
