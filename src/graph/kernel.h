// The kernel IR: one kernel per group, with a range of loops (kept dimensions, then reduced ones) and a flat list of
// typed instructions. It specifies what is computed, but not tiles or instruction sets.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tsl::graph {

/// The elements of a block of the reduction order. A longer reduction combines the results of its blocks.
inline constexpr int64_t kReduceBlock = 4096;
/// The longest row that stays in registers or caches between reductions, unless the DeviceTraits have another. It fits
/// in a core's second-level cache.
inline constexpr int64_t kMaxResidentRow = 64 * 1024;
/// Instead of a length: rows of any length stay, since the device reads them again after each reduction.
inline constexpr int64_t kAnyRow = std::numeric_limits<int64_t>::max();

/// The longest rows that stay in a kernel between reductions, in elements.
struct ResidentRows {
  int64_t neighbours = kMaxResidentRow;  // whose elements are next to each other
  int64_t apart = kMaxResidentRow;       // of other axes than the last
};

/// What a device has. Beside its Rates, compiled code depends on nothing else of a device.
struct DeviceTraits {
  ResidentRows resident = {};
  double operations_per_byte = 1.5;  // cheap ones that take as long as moving a byte; bounds recomputation
  bool has_clusters = false;         // blocks of threads can share a row
  bool ops_allocate = true;          // kernels of ops may allocate memory while they run
  bool branches_by_part = false;  // a pointwise kernel computes each of a few parts (kMostBranches) only where it holds
};

/// The way in which a group is executed.
enum class Template : uint8_t {
  pointwise,  // every instruction at level full, no reduction
  row,        // whole rows stay in registers between reductions: softmax, norms
  reduce,     // reductions whose full-level part is read once: sums over rows, columns or everything
  op,         // one op with a kernel of its own (scan, sort, scatter, matmul, …)
};

/// How often an instruction runs: for every element; once per row (per index of the kept loops); or once in all,
/// possibly after the rows have been reduced (a mean of losses).
enum class Level : uint8_t { full, row, total };

/// Maps a loop index to an element of a buffer: offset + Σ index_k · strides[k], over the kept and then the reduced
/// dimensions. Maps of row-level instructions have stride 0 along reduced dimensions.
struct IndexMap {
  Dims strides;
  Dim offset = 0;
};

using Reg = uint32_t;

struct Instr {
  enum class Kind : uint8_t {
    load,      // buffer through map
    scalar,    // a host number, converted to dtype
    map,       // elementwise op of a, b, c
    reduce,    // op of a, over the reduced dimensions (level row) or over all rows of a row-level a (level total)
    gather,    // buffer[map + a * index_stride], a an i64 register checked against index_extent
    generate,  // iota or random numbers over the linear index; scalars are registers' scalars (scalar, scalar2)
    part,      // whether the loops' index is in a part: low <= map < high
    choose,    // b if a, else c
    store,     // a to buffer through map
  };

  Instr() = default;
  explicit Instr(Kind k) : kind(k) {}

  /// How an add or sub under fast numerics uses a product that is not rounded: a * b + c, a * b - c, c - a * b.
  enum class Contraction : uint8_t { none, sum, difference, rest };

  Kind kind = Kind::load;
  Contraction contraction = Contraction::none;
  Level level = Level::full;
  Op op = Op::copy;
  DType dtype = DType::f32;          // of the result; for store and reduce, of the operand `a` (see result_dtype)
  DType operand_dtype = DType::f32;  // of the operands
  Reg a = 0, b = 0, c = 0;
  uint32_t buffer = 0;  // index into Kernel::buffers
  IndexMap map;
  Dim index_stride = 0, index_extent = 0;
  int64_t low = 0, high = 0;  // of a part
  /// Depends on the predicate `a`: a load reads nothing unless it holds, and then has any value; a part is in that one.
  bool is_guarded = false;
  bool from_start = false;  // a gather whose index must not be negative
  Scalar scalar, scalar2;
  const Symbol* symbol = nullptr;
  const Symbol* symbol2 = nullptr;
  NodeId node = kNoNode;  // the node it was lowered from, for spans and errors
};

/// Returns the number of registers that an instruction reads: a, then b, then c.
inline int operand_count(const Instr& instr) {
  switch (instr.kind) {
    case Instr::Kind::load:
    case Instr::Kind::part: return instr.is_guarded ? 1 : 0;
    case Instr::Kind::scalar:
    case Instr::Kind::generate: return 0;
    case Instr::Kind::map: return instr.contraction == Instr::Contraction::none ? op_def(instr.op).arity : 3;
    case Instr::Kind::choose: return 3;
    case Instr::Kind::reduce:
    case Instr::Kind::gather:
    case Instr::Kind::store: return 1;
  }
  return 0;
}

/// The registers that an instruction reads.
struct Operands {
  Reg registers[3];
  int count;
  const Reg* begin() const { return registers; }
  const Reg* end() const { return registers + count; }
};
inline Operands operands_of(const Instr& instr) { return {{instr.a, instr.b, instr.c}, operand_count(instr)}; }

/// The kernel of one group. Instruction i defines register i.
struct Kernel {
  Template kind = Template::pointwise;
  Dims kept;  // extents of the loops
  Dims reduced;
  std::vector<Instr> program;
  std::vector<uint32_t> buffers;  // plan buffers it accesses; instructions index this list
  uint32_t written = 0;           // the number of buffers it writes, which are the last ones
  NodeId op_node = kNoNode;       // Template::op
  std::vector<uint8_t> results;   // Template::op: the number of the result in each buffer that it writes
  std::vector<NodeId> nodes;      // the fused nodes, in order; some may be of other kernels, too
  std::string name;               // readable: "mul_add_sum"
};

/// Returns the buffers that a kernel writes.
inline std::span<const uint32_t> written_by(const Kernel& kernel) {
  return std::span(kernel.buffers).last(kernel.written);
}

/// Returns where Kernel::buffers has a result of an op kernel; none: nothing reads that result.
std::optional<uint32_t> position_of_result(const Kernel& kernel, int result);

}  // namespace tsl::graph
