// Kernels of the kernel IR made ready for the CPU: a list of steps over tiles that stay in cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/run_state.h"
#include "exec/executable.h"

namespace tsl::cpu {

/// Where a tile lies: some loops of a kernel in an order of iteration, the others fixed.
struct Walk {
  int rank = 0;
  std::array<int8_t, 2 * kMaxRank> loop{};  // which of the kernel's loops, outermost first
  std::array<int64_t, 2 * kMaxRank> extent{};
  std::array<int64_t, 2 * kMaxRank> origin{};  // by loop of the kernel: index at the walk's element 0
};

/// An IndexMap with its numbers at hand.
struct Access {
  std::array<int64_t, 2 * kMaxRank> stride{};  // by loop of the kernel, in elements
  int64_t offset = 0;
  const Symbol* symbolic_offset = nullptr;  // in place of `offset`, if a run decides it
  int rank = 0;
};

struct Step {
  enum class Kind : uint8_t { load, scalar, map, reduce, spread, gather, generate, store, chain } kind;
  graph::Level level = graph::Level::full;
  Op op = Op::copy;
  uint32_t dst = 0;  // registers
  std::array<uint32_t, 3> src{};
  int arity = 0;
  uint32_t operand_size = 0;   // bytes of an element of a reduction's operand
  uint32_t offset_in_row = 0;  // of a reduction's partial result; of a total's operand, among a row's kept results
  uint32_t size = 0;           // bytes of an element of the result (of the operand for stores)
  int64_t repeat = 0;          // of a scalar: how many elements its memory is filled with
  uint32_t chain = 0;          // which of the program's
  uint32_t buffer = 0;         // of the plan
  int32_t slot = -1;           // where the result lives in a tile's memory; -1: nowhere
  int32_t direct = -1;         // which of the stores whose memory may hold the result at once
  Access access;
  MapKernel map = nullptr;
  ReduceKernels reduce{};
  ReduceKernels combine{};  // of partial results
  ArgKernel arg = nullptr;
  DType dtype = DType::f32;
  Scalar scalar, scalar2;
  const Symbol* symbol = nullptr;
  const Symbol* symbol2 = nullptr;
  int64_t index_stride = 0, index_extent = 0;
  bool from_start = false;
  graph::NodeId node = graph::kNoNode;
  uint32_t order = 0;
  bool fallible = false;
};

/// A run of steps joined into one: strip by strip it does all of them, with what passes between them in registers or
/// in a strip's memory. Reductions may end a chain; then it does row by row.
struct Chain {
  struct Operand {
    enum class Kind : uint8_t {
      elements,  // of a register, on its tile
      one,       // element of a register that is the same for all of a row, or everywhere
      repeated,  // the same, kMaxInHand times: what a call reads. Host numbers are so from the start
      row,       // of a load, where it lies
      ahead,     // of a load or a store: the row that will be at this place in the next tile
      scratch,   // strips that are used only within the chain
      lanes,     // of a reduction
    } kind;
    uint32_t reg = 0;
    uint32_t size = 0;       // bytes of an element
    int64_t row_bytes = 0;   // from one row to the next; of rows that do not lie evenly, kUneven
    int32_t slot = -1;       // memory of kMaxInHand; of elements and rows: where a row's last, short strip is padded
    bool is_result = false;  // the chain writes it
  };
  static constexpr int64_t kUneven = -1;
  std::vector<ChainInstr> code;
  std::vector<Operand> operands;
  std::vector<Step> results;  // of its steps, those whose results live on
  int32_t slot = -1;          // memory for where the operands are, in whole strips and in a last one that is padded
};

/// Below this many element-operations a second thread costs more than it brings.
inline constexpr int64_t kParallelWork = 64 * 1024;

/// One kernel, prepared. Immutable; run() may be called any number of times.
class TileProgram {
 public:
  TileProgram(const graph::Kernel& kernel, const graph::Plan& plan, const KernelTable& table);
  /// `thread`: run all of it on this worker (in a table, whose kernels share out the threads); -1: on all of them.
  void run(RunState& state, int thread = -1) const;
  /// In element-operations.
  int64_t work() const { return rows_ * row_length_ * operations_; }

 private:
  enum class Form : uint8_t { pointwise, rows, row_blocks, columns };
  struct Range;
  struct Worker;

  void add_steps(const graph::Kernel& kernel, const graph::Plan& plan);
  void order_steps();
  Step make_step(const graph::Kernel& kernel, const graph::Instr& instr, const graph::Plan& plan) const;
  void find_direct_stores(const graph::Kernel& kernel, const graph::Plan& plan);
  void choose_form();
  void choose_tile();
  void place_registers();
  bool prefers_columns() const;
  bool reads_only_columns() const;

  // tiles_chains.cpp
  void form_chains();
  bool may_join(const Step& step) const;
  bool lies_in_rows(const Step& load) const;
  void compute_again(std::vector<std::vector<Step>>& groups, const std::vector<const Step*>& definition) const;
  void build_chains(const std::vector<std::vector<Step>>& groups, const std::vector<const Step*>& definition);
  Chain::Operand chain_operand(const Step& definition, bool may_be_one) const;
  void read_ahead();

  // tiles_run.cpp
  void run_pointwise(RunState& state, int thread) const;
  void run_rows(RunState& state) const;
  void run_blocks(RunState& state) const;  // row_blocks and columns: partial results first
  void reduce_block(Worker& worker, int64_t item, int64_t blocks) const;
  void reduce_column_block(Worker& worker, int64_t item, int64_t blocks) const;
  void combine(Worker& worker, const Step& step, int64_t blocks) const;
  void execute_row_step(Worker& worker, const Step& step) const;
  void finish_totals(RunState& state) const;
  std::byte* reserve_shared(RunState& state, int64_t blocks) const;
  std::byte* partials_of(const Worker& worker, const Step& step, int64_t blocks) const;
  template <class Body>
  void for_each_tile(RunState& state, int64_t tiles, int64_t elements, Body&& body, int thread = -1) const;

  // tiles_steps.cpp: one step on one tile
  void execute(Worker& worker, const Step& step) const;
  std::byte* result(Worker& worker, const Step& step) const;
  void execute_load(Worker& worker, const Step& step) const;
  void execute_map(Worker& worker, const Step& step) const;
  void execute_reduce(Worker& worker, const Step& step) const;
  void execute_spread(Worker& worker, const Step& step) const;
  void execute_gather(Worker& worker, const Step& step) const;
  void execute_generate(Worker& worker, const Step& step) const;
  void execute_store(Worker& worker, const Step& step) const;
  void execute_chain(Worker& worker, const Chain& chain) const;
  void locate(Worker& worker, const Chain& chain, ChainOperand* operands, int64_t row) const;
  std::byte* row_of(Worker& worker, const Step& load, int64_t row) const;
  void run_last_strip(Worker& worker, const Chain& chain, const ChainOperand* operands, size_t begin, size_t end) const;
  void fill_scalars(Worker& worker) const;
  Walk full_walk() const;
  Walk row_walk() const;

  const KernelTable& table_;
  std::vector<Step> steps_;
  std::vector<Step> direct_stores_;
  std::vector<Chain> chains_;
  std::map<uint32_t, Step>
      rows_in_place_;  // by register: loads whose rows chains read where they lie, and the last stores
  int kept_rank_ = 0, reduced_rank_ = 0;
  std::array<int64_t, 2 * kMaxRank> extent_{};  // kept, then reduced
  int64_t rows_ = 1, row_length_ = 1;
  Form form_ = Form::pointwise;
  bool by_rows_ = false;   // chains do one row at a time
  bool in_place_ = false;  // columns: reduced where they lie, without a tile of their own
  int64_t tile_ = 0;       // elements (pointwise), rows (rows), columns (columns) a tile
  uint32_t registers_ = 0;
  int64_t operations_ = 0;  // steps an element, before any are joined
  uint32_t slot_bytes_ = 0;
  int64_t tile_elements_ = 0;   // the longest range a full-level register holds
  int64_t row_elements_ = 1;    // … and a row-level one
  uint32_t partial_bytes_ = 0;  // of one partial result, all reductions of rows together
  uint32_t kept_bytes_ = 0;     // of a row's results that are reduced to totals
};

}  // namespace tsl::cpu
