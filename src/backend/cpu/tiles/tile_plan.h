// Kernels of the kernel IR prepared for the CPU: a list of steps over tiles that stay in cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/run_state.h"
#include "exec/executable.h"

namespace tsl::cpu {

/// The position of a tile: some loops of a kernel, in the order of iteration; the others are fixed.
struct Walk {
  int rank = 0;
  std::array<int8_t, 2 * kMaxRank> loop{};  // the kernel's loops, outermost first
  std::array<int64_t, 2 * kMaxRank> extent{};
  std::array<int64_t, 2 * kMaxRank> origin{};  // by loop of the kernel: the index at the walk's first position
};

/// An IndexMap with its strides as numbers.
struct Access {
  std::array<int64_t, 2 * kMaxRank> stride{};  // by loop of the kernel, in elements
  int64_t offset = 0;
  const Symbol* symbolic_offset = nullptr;  // replaces `offset` if a run determines it
  int rank = 0;
};

Access access_of(const graph::IndexMap& map);

struct Step {
  enum class Kind : uint8_t { load, scalar, map, reduce, spread, gather, generate, choose, store, chain } kind;
  graph::Level level = graph::Level::full;
  Op op = Op::copy;
  uint32_t dst = 0;  // registers
  std::array<uint32_t, 3> src{};
  int arity = 0;
  uint32_t operand_size = 0;   // bytes per element of a reduction's operand
  uint32_t offset_in_row = 0;  // of a reduction's partial result; of a total's operand, among a row's kept results
  uint32_t size = 0;           // bytes per element of the result (for stores: of the operand)
  int64_t repeat = 0;          // for a scalar: the number of elements to fill
  uint32_t chain = 0;          // index into the program's chains
  uint32_t choice = 0;         // index into the program's choices
  uint32_t buffer = 0;         // number of the plan's buffer
  int32_t slot = -1;           // the result's offset in a tile's memory; -1: it has none
  int32_t direct = -1;         // the store whose memory may receive the result directly
  Access access;
  MapKernel map = nullptr;
  MapKernel wide_map = nullptr;  // of operands of f16 or bf16: the kernel for the same numbers as f32, if there is one
  ReduceKernels reduce{};
  ReduceKernels combine{};                                                   // kernels for partial results
  void (*fold)(void* out, const void* in, size_t rows, size_t n) = nullptr;  // rows of f32
  ArgKernel arg = nullptr;
  DType dtype = DType::f32, operand_dtype = DType::f32;
  Scalar scalar, scalar2;
  const Symbol* symbol = nullptr;
  const Symbol* symbol2 = nullptr;
  int64_t index_stride = 0, index_extent = 0;
  Access index_access;             // of a gather whose indices are a load: they are read in place
  int32_t index_buffer = -1;       // the number of their buffer; -1: they are computed
  bool is_read_in_place = false;   // a load that only gathers read
  bool is_copied = false;          // a load whose memory is overwritten before the tile has read it for the last time
  bool is_same_for_tiles = false;  // a load of short rows that are the same everywhere
  bool is_streamed = false;        // stored past the caches, if a chain computes it
  bool from_start = false;
  graph::NodeId node = graph::kNoNode;
  uint32_t order = 0;
  bool fallible = false;
  uint32_t phase = 0;    // the reductions that must be complete before: those of earlier phases
  bool is_kept = false;  // of long rows: later phases read the result, in an output or at `kept_at`
  int64_t kept_at = -1;  // of long rows: bytes per element that results kept before this one take; -1: it is not kept
};

/// The values that a choose step selects from. A position takes the first one whose bounds hold; if there is none, it
/// has any value.
struct Choice {
  struct Bound {
    Access access;  // the bound's function of the loops' index
    int64_t low = 0, high = 0;
  };
  struct Value {
    std::vector<Bound> bounds;
    int source = -1;  // index into Step::src; -1: reads `load` in place
    Step load;
  };
  std::vector<Value> values;
  std::vector<uint32_t> sources;  // registers
};

/// The bytes of a row's lanes in a chain.
inline constexpr int64_t kLaneBytes = kReduceLanes * sizeof(float);

/// Consecutive steps merged into one, which runs all of them strip by strip; values between them are in registers or in
/// a strip of memory. If reductions end the chain, it runs row by row.
struct Chain {
  struct Operand {
    enum class Kind : uint8_t {
      elements,  // elements of a register, in its tile
      one,       // an element of a register that is the same for a row, or everywhere
      repeated,  // the same, repeated kMaxInHand times, as calls need it; host numbers always are
      row,       // a row of a load, read in place
      ahead,     // of a load or a store: the row at this position of the next tile, to be prefetched
      scratch,   // strips used only within the chain
      lanes,     // lanes of a reduction, for kFoldedRows rows or all joined ones
    } kind;
    uint32_t reg = 0;
    uint32_t size = 0;         // bytes per element
    int64_t row_bytes = 0;     // distance between rows; kUneven if it varies
    int32_t slot = -1;         // memory for kMaxInHand elements; for elements and rows: a padded copy of the last strip
    bool is_result = false;    // written by the chain
    bool is_widened = false;   // `one` or `repeated` of f16 or bf16, converted to f32 in the slot
    DType dtype = DType::f32;  // of the register, if it is widened

    /// Whether the slot holds copies of a number: it is converted, or changes from row to row.
    bool is_copied() const { return kind == Kind::repeated && (is_widened || row_bytes > 0); }
  };
  /// How an instruction needs a value that is the same for a row: repeated in its own dtype, repeated as f32, or once
  /// as f32.
  enum class Form : uint8_t { own, wide, wide_one };
  static constexpr int64_t kFoldedRows = 16;                               // rows whose lanes are folded together
  static constexpr int64_t kUneven = std::numeric_limits<int64_t>::min();  // no step between rows
  std::vector<ChainInstr> code;
  std::vector<Operand> operands;
  std::vector<Step> results;  // steps of the chain whose results are used later
  bool is_joined = false;     // takes all rows of a tile as the strips of one row
  int32_t slot = -1;          // memory for the operands' addresses, in whole strips and in the padded last one
};

/// The steps of each chain, before it is made.
using StepGroups = std::vector<std::vector<Step>>;

/// Divides the loops of a pointwise kernel into boxes within or outside of each part, and returns the kernel of each.
/// Returns none if the kernel has no parts, is too small, or its parts are no boxes.
std::vector<graph::Kernel> divide_into_boxes(const graph::Kernel& kernel);

/// Whether the accumulator of a chain can hold elements of the dtype.
inline bool fits_accumulator(DType dtype) { return accumulator_of(dtype) == DType::f32; }

/// Below this many element-operations, a second thread costs more than it gains.
inline constexpr int64_t kParallelWork = 64 * 1024;

/// Which forms of tile programs may be made. `plain`: without boxes, chains, phases, and results computed in outputs,
/// as a reference for the others.
enum class TileForms : uint8_t { any, plain };

/// One prepared kernel. Immutable; run() may be called any number of times.
class TileProgram {
 public:
  /// `cached_bytes`: what fits in the caches.
  TileProgram(const graph::Kernel& kernel, const graph::Plan& plan, const KernelTable& table, uint64_t cached_bytes,
              TileForms forms = TileForms::any);
  /// Runs the kernel on worker `thread` alone (in a multi-tensor launch, whose kernels are distributed over threads),
  /// or on all threads if it is -1.
  void run(RunState& state, int thread = -1) const;
  /// Returns the size of the kernel in element-operations.
  int64_t work() const { return rows_ * row_length_ * operations_; }
  size_t chain_count() const { return chains_.size(); }
  /// Checks the rules of memory on the finished steps. Throws graph::BrokenRule. Debug builds and tests check each
  /// program that is made (graph/spec.h).
  void verify(const graph::Kernel& kernel, const graph::Plan& plan) const;

 private:
  class MemoryOrder;
  enum class Form : uint8_t { pointwise, rows, row_blocks, columns };
  struct Range;
  struct Worker;
  struct Uses;

  void make_steps(const graph::Kernel& kernel, const graph::Plan& plan, uint64_t cached_bytes);
  void add_steps(const graph::Kernel& kernel, const graph::Plan& plan);
  void skip_conversions();
  void add_spreads();
  void order_steps();
  Step make_step(const graph::Kernel& kernel, const graph::Instr& instr, const graph::Plan& plan) const;
  void choose_form(bool rows_stay);
  void choose_tile();
  int64_t rows_in_tile() const;
  bool prefers_columns() const;
  bool reads_only_columns() const;

  // builder_memory.cpp
  std::vector<Step*> in_order(StepGroups& groups);
  void share_memory(StepGroups& groups, const graph::Plan& plan);
  template <class IsReadAfter> void compute_in_output(const Step& store, const std::vector<Step*>& order,
                                                      const Uses& uses, const IsReadAfter& is_read_after);
  int64_t written_by(const Step& step) const;
  void divide_into_phases();
  void place_registers();

  // checker.cpp
  bool reads_stream(const Chain& reader) const;

  // builder_choices.cpp: parts
  static constexpr int kNoStep = -1, kOwnStep = -2;
  /// Returns, per register, its choice; kNoStep if choices need no step for it, or kOwnStep.
  std::vector<int> find_choices(const graph::Kernel& kernel, const graph::Plan& plan);
  int only_value(const Range& range, const Choice& choice) const;
  void execute_choose(Worker& worker, const Step& step) const;
  /// Calls visit(load) for every load that the steps of a program run.
  template <class Program, class Visit> static void for_each_load(Program& program, Visit&& visit) {
    for (auto& step : program.steps_) {
      if (step.kind == Step::Kind::load) visit(step);
      if (step.kind != Step::Kind::choose) continue;
      for (auto& value : program.choices_[step.choice].values) {
        if (value.source < 0) visit(value.load);
      }
    }
  }

  // builder_chains.cpp
  StepGroups group_steps();
  void dissolve_groups(StepGroups& groups);
  void find_streams(StepGroups& groups, uint64_t cached_bytes);
  uint64_t moved_bytes() const;
  bool may_join(const Step& step) const;
  bool lies_in_rows(const Step& load) const;
  void compute_again(StepGroups& groups, const std::vector<const Step*>& definition) const;
  void build_chains(StepGroups groups);
  Chain::Operand chain_operand(const Step& definition, Chain::Form form) const;
  void join_rows(Chain& chain) const;
  void read_ahead();

  // runner.cpp
  void store_number(RunState& state) const;
  void run_pointwise(RunState& state, int thread) const;
  void run_boxes(RunState& state, int thread) const;
  void run_tile(Worker& worker, int64_t tile) const;
  int64_t tiles() const;
  void run_rows(RunState& state) const;
  void run_row_blocks(RunState& state) const;
  void begin_phase(Worker& worker, int64_t row, uint32_t phase) const;
  void run_block(Worker& worker, int64_t block, uint32_t phase) const;
  void run_columns(RunState& state) const;
  void finish_rows(RunState& state, int64_t blocks, std::byte* partials) const;
  void reduce_column_block(Worker& worker, int64_t item, int64_t blocks) const;
  void combine_results(Worker& worker, const Step& step, int64_t blocks) const;
  void combine(Worker& worker, const Step& step, int64_t blocks) const;
  void execute_row_step(Worker& worker, const Step& step) const;
  void finish_totals(RunState& state) const;
  std::byte* reserve_shared(RunState& state, int64_t blocks, int64_t kept_elements = 0) const;
  std::byte* partials_of(const Worker& worker, const Step& step, int64_t blocks) const;
  std::byte* best_of(const Worker& worker, const Step& step, int64_t blocks) const;
  bool is_in_place(const Step& step) const;
  template <class Body>
  void for_each_tile(RunState& state, int64_t tiles, int64_t elements, Body&& body, int thread = -1) const;
  template <class Body> void run_tiles(RunState& state, int64_t first, int64_t end, Body&& body, int on) const;

  // worker.cpp: one step, or chain, on one tile
  void execute(Worker& worker, const Step& step) const;
  std::byte* result(Worker& worker, const Step& step) const;
  void read(Worker& worker, const Step& load, const Step& to) const;
  void execute_map(Worker& worker, const Step& step) const;
  void execute_reduce(Worker& worker, const Step& step) const;
  void find_best(Worker& worker, const Step& step, std::byte* out, size_t rows, size_t length) const;
  void execute_spread(Worker& worker, const Step& step) const;
  void execute_gather(Worker& worker, const Step& step) const;
  void execute_generate(Worker& worker, const Step& step) const;
  void execute_store(Worker& worker, const Step& step) const;
  void execute_chain(Worker& worker, const Chain& chain) const;
  void fold_lanes(Worker& worker, const Chain& chain, int64_t row, int64_t rows) const;
  void widen(void* out, const void* in, DType dtype, int64_t count) const;
  void repeat_number(Worker& worker, const Chain::Operand& operand, int64_t row) const;
  ChainOperand locate_row(Worker& worker, const Chain& chain, const Chain::Operand& operand, int64_t row) const;
  void locate(Worker& worker, const Chain& chain, ChainOperand* operands, int64_t row) const;
  std::byte* row_of(Worker& worker, const Step& load, int64_t row) const;
  void run_last_strip(Worker& worker, const Chain& chain, const ChainOperand* operands, size_t begin, size_t end) const;
  void fill_scalars(Worker& worker) const;
  Walk full_walk() const;
  Walk row_walk() const;

  const KernelTable& table_;
  const bool is_plain_;
  std::vector<Step> steps_;
  std::vector<Step> direct_stores_;
  std::vector<Chain> chains_;
  std::vector<Choice> choices_;
  std::vector<TileProgram> boxes_;          // run instead of this one's steps, if there are any
  std::map<uint32_t, Step> rows_in_place_;  // by register: loads whose rows chains read in place, and the last stores
  int kept_rank_ = 0, reduced_rank_ = 0;
  std::array<int64_t, 2 * kMaxRank> extent_{};  // kept, then reduced
  int64_t rows_ = 1, row_length_ = 1;
  Form form_ = Form::pointwise;
  bool copies_ = false;  // each element of buffer `from_` to the same place in buffer `to_`
  uint32_t from_ = 0, to_ = 0;
  bool stores_number_ = false;  // writes one host number: its two steps need no tile
  bool by_rows_ = false;        // chains run one row at a time
  bool streams_ = false;        // stores past the caches
  bool in_place_ = false;       // columns: reduced in place, without a tile
  int64_t tile_ = 0;            // per tile: elements (pointwise), rows (rows), columns (columns)
  uint32_t registers_ = 0;
  int64_t operations_ = 0;  // steps per element, before chains are formed
  uint32_t slot_bytes_ = 0;
  int64_t tile_elements_ = 0;   // the most elements of a full-level register
  int64_t row_elements_ = 1;    // … and a row-level one
  uint32_t partial_bytes_ = 0;  // of one partial result, for all reductions of rows together
  uint32_t kept_bytes_ = 0;     // per row: results that are reduced to totals
  // Of long rows: for each phase, the steps that run for each block, and earlier ones whose results these read.
  struct Phase {
    std::vector<uint32_t> steps;
    std::vector<Step> kept;
  };
  std::vector<Phase> phases_;
  int64_t kept_element_bytes_ = 0;  // of long rows: per element, results that later phases read
  bool has_row_results_ = false;    // of long rows: values of a row are stored or reduced
};

// ---- The state of a thread while it runs a tile ----------------------------------------------------------

/// Positions [start, start + count) of a walk.
struct TileProgram::Range {
  Walk walk;
  int64_t start = 0;
  int64_t count = 0;
};

struct TileProgram::Worker {
  RunState& state;
  std::byte* memory;  // registers' pointers, then their slots
  Range full, row;
  Range total{{}, 0, 1};
  std::byte* partials = nullptr;
  // Of long rows: the row and the phase that have begun, where the block begins in the row, the blocks of a row, and
  // the memory of kept results: that of `kept_elements` elements each, the first of which is at position `kept_from`.
  int64_t begun_row = -1, block_start = 0, blocks = 0;
  std::byte* kept = nullptr;
  int64_t kept_elements = 0, kept_from = 0;
  int thread = 0;
  bool is_first_tile = true;  // of those that the worker runs

  /// Returns the address of a gather's first index, which are read in place.
  const int64_t* indices(const Step& step) const {
    const int64_t* base = reinterpret_cast<const int64_t*>(state.buffers[step.index_buffer]);
    const Symbol* offset = step.index_access.symbolic_offset;
    return offset ? base + state.symbols[offset->id].integer : base;
  }
  const void** registers() const { return reinterpret_cast<const void**>(memory); }
  const void*& value(uint32_t reg) const { return registers()[reg]; }
  const Range& range(graph::Level level) const {
    return level == graph::Level::full ? full : level == graph::Level::row ? row : total;
  }
  /// Returns the address of element 0 in the step's access; a fixed offset is not included, but one of the run is.
  std::byte* address(const Step& step) const {
    std::byte* base = state.buffers[step.buffer];
    const Symbol* offset = step.access.symbolic_offset;
    return offset ? base + state.symbols[offset->id].integer * step.size : base;
  }
  Scalar scalar(Scalar constant, const Symbol* symbol) const { return symbol ? state.symbols[symbol->id] : constant; }
};

}  // namespace tsl::cpu
