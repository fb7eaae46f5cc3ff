// Kernels of the kernel IR made ready for the CPU: a list of steps over tiles that stay in cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/threads.h"
#include "graph/plan.h"

namespace tsl::cpu {

/// Scratch memory of one worker; grows to the largest request and stays.
class Scratch {
 public:
  std::byte* reserve(size_t bytes);

 private:
  struct Free { void operator()(std::byte* p) const; };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

/// What a running plan shares between its kernels.
struct RunState {
  std::byte* const* buffers = nullptr;   // by plan buffer: address of element 0
  const Scalar* symbols = nullptr;       // by symbol id
  ThreadPool* pool = nullptr;
  std::vector<Scratch>* scratch = nullptr;  // one a worker
  Scratch* shared = nullptr;             // partial results of reductions
  std::byte* shared_memory = nullptr;    // … as reserved by the running kernel
  graph::RunError error;                 // the earliest failure in program order
  std::mutex error_mutex;

  /// Keeps the error that the program would have met first: by node, then by element.
  void report(uint32_t order, graph::NodeId node, int64_t element, int64_t value);

 private:
  int64_t error_element_ = 0;
};

/// Where a tile lies: some loops of a kernel in an order of iteration, the others fixed.
struct Walk {
  int rank = 0;
  std::array<int8_t, 2 * kMaxRank> loop{};        // which of the kernel's loops, outermost first
  std::array<int64_t, 2 * kMaxRank> extent{};
  std::array<int64_t, 2 * kMaxRank> origin{};     // by loop of the kernel: index at the walk's element 0
};

/// An IndexMap with its numbers at hand.
struct Access {
  std::array<int64_t, 2 * kMaxRank> stride{};     // by loop of the kernel, in elements
  int64_t offset = 0;
  const Symbol* symbolic_offset = nullptr;        // in place of `offset`, if a run decides it
  int rank = 0;
};

struct Step {
  enum class Kind : uint8_t { load, scalar, map, reduce, spread, gather, generate, store } kind;
  graph::Level level = graph::Level::full;
  Op op = Op::copy;
  uint32_t dst = 0;                  // registers
  std::array<uint32_t, 3> src{};
  int arity = 0;
  uint32_t operand_size = 0;         // bytes of an element of a reduction's operand
  uint32_t kept_offset = 0;          // of a total's operand in a row's kept results
  uint32_t size = 0;                 // bytes of an element of the result (of the operand for stores)
  uint32_t buffer = 0;               // of the plan
  int32_t slot = -1;                 // where the result lives in a tile's memory; -1: nowhere
  int32_t direct = -1;               // index of the store whose memory may hold the result at once
  Access access;
  MapKernel map = nullptr;
  ReduceKernels reduce{};
  ReduceKernels combine{};           // of partial results
  ArgKernel arg = nullptr;
  DType dtype = DType::f32;
  Scalar scalar, scalar2;
  const Symbol* symbol = nullptr;
  const Symbol* symbol2 = nullptr;
  int64_t index_stride = 0, index_extent = 0;
  graph::NodeId node = graph::kNoNode;
  uint32_t order = 0;
  bool fallible = false;
};

void fill(void* out, const void* value, size_t size, int64_t count);
/// What a reduction over nothing gives.
void fill_identity(void* out, Op op, DType dtype, int64_t count);

/// One kernel, prepared. Immutable; run() may be called any number of times.
class TileProgram {
 public:
  TileProgram(const graph::Kernel& kernel, const graph::Plan& plan, const KernelTable& table);
  /// `thread`: run all of it on this worker (in a table, whose kernels share out the threads); -1: on all of them.
  void run(RunState& state, int thread = -1) const;

 private:
  enum class Form : uint8_t { pointwise, rows, row_blocks, columns };
  struct Range;
  struct Worker;

  void add_steps(const graph::Kernel& kernel, const graph::Plan& plan);
  Step make_step(const graph::Kernel& kernel, const graph::Instr& instr, const graph::Plan& plan) const;
  void find_direct_stores(const graph::Kernel& kernel, const graph::Plan& plan);
  void choose_form();
  void place_registers();
  bool prefers_columns() const;
  bool reads_only_columns() const;

  // tiles_run.cpp
  void run_pointwise(RunState& state, int thread) const;
  void run_rows(RunState& state) const;
  void run_blocks(RunState& state) const;     // row_blocks and columns: partial results first
  void reduce_block(Worker& worker, int64_t item, int64_t blocks) const;
  void reduce_column_block(Worker& worker, int64_t item, int64_t blocks) const;
  void combine(Worker& worker, const Step& step, int64_t blocks) const;
  void execute_row_step(Worker& worker, const Step& step) const;
  void finish_totals(RunState& state) const;
  std::byte* reserve_shared(RunState& state, int64_t blocks) const;
  template <class Body>
  void for_each_tile(RunState& state, int64_t tiles, int64_t elements, Body&& body, int thread = -1) const;

  // steps.cpp: one step on one tile
  void execute(Worker& worker, const Step& step) const;
  std::byte* result(Worker& worker, const Step& step) const;
  void execute_load(Worker& worker, const Step& step) const;
  void execute_map(Worker& worker, const Step& step) const;
  void execute_reduce(Worker& worker, const Step& step) const;
  void execute_spread(Worker& worker, const Step& step) const;
  void execute_gather(Worker& worker, const Step& step) const;
  void execute_generate(Worker& worker, const Step& step) const;
  void execute_store(Worker& worker, const Step& step) const;
  void fill_scalars(Worker& worker) const;
  Walk full_walk() const;
  Walk row_walk() const;

  const KernelTable& table_;
  std::vector<Step> steps_;
  std::vector<uint32_t> reduces_;        // indices of the reduce steps
  int kept_rank_ = 0, reduced_rank_ = 0;
  std::array<int64_t, 2 * kMaxRank> extent_{};  // kept, then reduced
  int64_t rows_ = 1, row_length_ = 1;
  Form form_ = Form::pointwise;
  bool in_place_ = false;                // columns: reduced where they lie, without a tile of their own
  int64_t tile_ = 0;                     // elements (pointwise), rows (rows), columns (columns) a tile
  uint32_t registers_ = 0;
  uint32_t slot_bytes_ = 0;
  int64_t tile_elements_ = 0;            // the longest range a full-level register holds
  int64_t row_elements_ = 1;             // … and a row-level one
  uint32_t partial_bytes_ = 0;           // of one partial result, all reductions of rows together
  uint32_t kept_bytes_ = 0;              // of a row's results that are reduced to totals
};

}  // namespace tsl::cpu
