// The kernel IR: one per group. A range of loops (kept dimensions, then reduced ones) and a flat program of typed
// instructions over it. It says what is computed, not how tiles are cut or which instruction set is used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tsl::graph {

/// The reduction order: a reduction of more elements than this reduces the results of blocks of so many.
inline constexpr int64_t kReduceBlock = 4096;

/// How a group is executed.
enum class Template : uint8_t {
  pointwise,  // every instruction at level full, no reduction
  row,        // whole rows stay in registers between reductions: softmax, norms
  reduce,     // reductions whose full-level part is read once: sums over rows, columns or everything
  op,         // one op with a kernel of its own (scan, sort, scatter, matmul, …)
};

/// Where an instruction runs: for every element, once a row (per kept index, reduced dimensions gone), or once in all,
/// after the rows have been reduced, too (a mean of losses).
enum class Level : uint8_t { full, row, total };

/// Which element of a buffer belongs to a loop index: offset + Σ index_k · strides[k], over the kept and then the
/// reduced dimensions. Row-level maps have stride 0 along reduced dimensions.
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
    reduce,    // op of a: over the reduced dimensions (level row), or over all rows of a row-level a (level total)
    gather,    // buffer[map + a * index_stride], a an i64 register checked against index_extent
    generate,  // iota or random numbers over the linear index; scalars are registers' scalars (scalar, scalar2)
    store,     // a to buffer through map
  };

  Instr() = default;
  explicit Instr(Kind k) : kind(k) {}

  /// How an add or sub of fast numerics takes a product that is not rounded: a * b + c, a * b - c, c - a * b.
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
  bool from_start = false;  // a gather whose index must not be negative
  Scalar scalar, scalar2;
  const Symbol* symbol = nullptr;
  const Symbol* symbol2 = nullptr;
  NodeId node = kNoNode;  // where it came from: spans, errors
};

/// One group, ready for a backend. Instruction i defines register i.
struct Kernel {
  Template kind = Template::pointwise;
  Dims kept;  // extents of the loops
  Dims reduced;
  std::vector<Instr> program;
  std::vector<uint32_t> buffers;  // plan buffers it touches; instructions index this list
  uint32_t written = 0;           // how many of the last buffers it writes
  NodeId op_node = kNoNode;       // Template::op
  std::vector<NodeId> nodes;      // what was fused, in order
  std::string name;               // readable: "mul_add_sum"
};

}  // namespace tsl::graph
