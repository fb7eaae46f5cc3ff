// The steps of a tile: what each of them computes, which memory it loads and stores, and when.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/ranges.h"
#include "graph/kernel.h"

namespace tsl::cpu {

struct Step;

/// Elements of a buffer of the plan: those at the positions of a walk.
struct Elements {
  uint32_t buffer = 0;
  Access access;
};

/// Bytes of a worker's memory.
struct Slot {
  int32_t at = -1;  // -1: it has none
  uint32_t bytes = 0;
};

/// The memory of a step's result: the output if it is contiguous there, what a long row keeps, or else the slot.
struct ResultMemory {
  Slot slot;
  std::optional<Elements> output;  // of the store that reads it: holds the result if the walk is contiguous there
  bool is_kept = false;            // of long rows: later phases read the result, in an output or at `kept_at`
  int64_t kept_at = -1;      // of long rows: bytes per element that results kept before this one take; -1: not kept
  bool is_streamed = false;  // stored past the caches, if a chain computes it
};

/// What a failure of a step is reported with.
struct Origin {
  graph::NodeId node = graph::kNoNode;
  uint32_t order = 0;
};

// ---- The kinds of steps ---------------------------------------------------------------------------------------------

struct Load {
  Elements from;
  bool is_read_in_place = false;   // only gathers read it, as their indices
  bool is_copied = false;          // its memory is overwritten before the tile has read it for the last time
  bool is_same_for_tiles = false;  // short rows that are the same everywhere
};

/// A number of the host program, repeated for as many elements as readers need.
struct Fill {
  Scalar value;
  const Symbol* symbol = nullptr;  // replaces `value`
  int64_t repeat = 0;
};

/// An elementwise op.
struct Map {
  Op op = Op::copy;
  std::array<uint32_t, 3> src{};  // registers
  uint8_t arity = 0;
  bool fallible = false;
  DType operand_dtype = DType::f32;
  MapKernel kernel = nullptr;
  MapKernel wide_kernel = nullptr;  // of operands of f16 or bf16: the same for f32, if there is one
  Origin origin;
};

struct Reduce {
  Op op = Op::sum;
  uint32_t src = 0;
  DType operand_dtype = DType::f32;
  uint32_t operand_size = 0;   // bytes per element
  uint32_t offset_in_row = 0;  // of its partial result; of a total's operand, among a row's results for totals
  ReduceKernels kernels{};
  ReduceKernels combine{};                                                   // for partial results
  void (*fold)(void* out, const void* in, size_t rows, size_t n) = nullptr;  // rows of f32
  ArgKernel arg = nullptr;
};

/// Repeats a value of a row for each of its elements.
struct Spread {
  uint32_t src = 0;
};

struct Gather {
  uint32_t src = 0;
  Elements from;
  int64_t index_stride = 0, index_extent = 0;
  bool from_start = false;
  std::optional<Elements> indices;  // those that a load would copy to `src`: they are read in place
  Origin origin;
};

/// Counts, or makes random numbers.
struct Generate {
  Op op = Op::iota;
  Access access;  // gives the number of each element
  Scalar a, b;
  const Symbol *symbol_a = nullptr, *symbol_b = nullptr;  // replace them
};

/// Selects from values. A position takes the first one whose bounds hold; if there is none, it has any value.
struct Choose {
  struct Bound {
    Access access;  // the bound's function of the loops' index
    int64_t low = 0, high = 0;
  };
  struct Value {
    std::vector<Bound> bounds;
    int source = -1;  // index into `src`; -1: reads `load` in place
    Load load;
  };
  static constexpr size_t kMostSources = 3;
  std::vector<Value> values;
  std::vector<uint32_t> src;  // registers, at most kMostSources
};

struct Store {
  uint32_t src = 0;
  Elements to;
};

/// The bytes of a row's lanes in a chain.
inline constexpr int64_t kLaneBytes = kReduceLanes * sizeof(float);

/// Steps merged into one, which runs all of them strip by strip; values between them are in registers or in a strip of
/// memory. If reductions end the chain, it runs row by row.
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
    Slot slot{};               // memory for kMaxInHand elements; for elements and rows: a padded copy of the last strip
    bool is_result = false;    // written by the chain
    bool is_widened = false;   // `one` or `repeated` of f16 or bf16, converted to f32 in the slot
    DType dtype = DType::f32;  // of the register, if it is widened
    uint32_t rows = 0;         // of a row, read or ahead: index into the chain's `rows`

    /// Whether the slot holds copies of a number: it is converted, or changes from row to row.
    bool is_copied() const { return kind == Kind::repeated && (is_widened || row_bytes > 0); }
  };
  static constexpr int64_t kFoldedRows = 16;                               // rows whose lanes are folded together
  static constexpr int64_t kUneven = std::numeric_limits<int64_t>::min();  // no step between rows
  std::vector<ChainInstr> code;
  std::vector<Operand> operands;
  std::vector<Elements> rows;
  std::vector<Step> steps;  // those whose results are used later; until the chain has its code: all that are merged
  bool is_joined = false;   // takes all rows of a tile as the strips of one row
  Slot slot;                // memory for the operands' addresses, in whole strips and in the padded last one
};

struct Step {
  graph::Level level = graph::Level::full;
  DType dtype = DType::f32;
  uint32_t dst = 0;    // the register of the result; has no meaning for stores and chains
  uint32_t size = 0;   // bytes per element of the result; of a store: of the operand
  uint32_t phase = 0;  // the reductions that must be complete before: those of earlier phases
  ResultMemory memory;
  std::variant<Load, Fill, Map, Reduce, Spread, Gather, Generate, Choose, Store, Chain> does;

  template <class Kind> bool is() const { return std::holds_alternative<Kind>(does); }
  template <class Kind> const Kind* as() const { return std::get_if<Kind>(&does); }
  template <class Kind> Kind* as() { return std::get_if<Kind>(&does); }
  bool has_result() const { return !is<Store>() && !is<Chain>(); }
  bool reduces_rows() const { return is<Reduce>() && level == graph::Level::row; }
};

// ---- What a step loads and stores -----------------------------------------------------------------------------------

/// A register, or elements of a buffer, that a step loads.
struct Loaded {
  /// The element of a position is loaded before a result of this position is stored (`in_turn`), or later, or it may be
  /// any element of the buffer.
  enum class Order : uint8_t { in_turn, later, anywhere };

  uint32_t reg = 0;                    // unless it is …
  const Elements* elements = nullptr;  // … these
  Order order = Order::in_turn;
  bool becomes_result = false;              // the result may be this memory itself
  const Chain::Operand* operand = nullptr;  // of a chain
  size_t when = 0;                          // of a chain: the instruction
};

/// The result of a step, or elements of a buffer, that a step stores.
struct Stored {
  const Step* result = nullptr;        // the step, perhaps of a chain; null: it is a store
  const Elements* elements = nullptr;  // where a store stores, and a result may lie
  size_t when = 0;                     // of a chain: the instruction
};

/// Returns the registers whose values a step depends on; of a chain, whose steps have them, none.
std::span<const uint32_t> sources(const Step& step);
std::span<uint32_t> sources(Step& step);

/// Whether a step only reads memory of the plan, and depends on nothing.
inline bool only_loads(const Step& step) {
  return step.is<Load>() || (step.is<Choose>() && step.as<Choose>()->src.empty());
}

/// What an instruction of a chain does with its operand.
enum class OperandUse : uint8_t { none, read, written };
OperandUse use_of(ChainCode code);

/// Calls visit(loaded) for all that a chain with code loads from outside of it.
template <class Visit> void visit_loads(const Chain& chain, Visit&& visit) {
  const auto visit_operand = [&](const Chain::Operand& operand, size_t when) {
    if (operand.is_result) return;
    const bool is_row = operand.kind == Chain::Operand::Kind::row;
    const Elements* elements = is_row ? &chain.rows[operand.rows] : nullptr;
    visit(Loaded{.reg = operand.reg, .elements = elements, .operand = &operand, .when = when});
  };
  for (size_t i = 0; i < chain.code.size(); ++i) {
    const ChainInstr& instr = chain.code[i];
    for (size_t k = 0; k < instr.arity; ++k) visit_operand(chain.operands[instr.in[k]], i);
    if (use_of(instr.code) == OperandUse::read) visit_operand(chain.operands[instr.operand], i);
  }
}

/// Calls visit(loaded) for all that a step loads, in the order in which it does. A chain must have its code.
template <class Visit> void visit_loads(const Step& step, Visit&& visit) {
  if (const auto* chain = step.as<Chain>()) return visit_loads(*chain, visit);
  const auto* gather = step.as<Gather>();
  if (gather && gather->indices) visit(Loaded{.elements = &*gather->indices, .order = Loaded::Order::later});
  else
    for (const uint32_t reg : sources(step)) visit(Loaded{.reg = reg});
  if (gather) visit(Loaded{.elements = &gather->from, .order = Loaded::Order::anywhere});
  const auto visit_load = [&](const Load& load) {
    if (!load.is_read_in_place) visit(Loaded{.elements = &load.from, .becomes_result = !load.is_copied});
  };
  if (const auto* load = step.as<Load>()) visit_load(*load);
  if (const auto* choose = step.as<Choose>()) {
    for (const Choose::Value& value : choose->values) {
      if (value.source < 0) visit_load(value.load);
    }
  }
}

/// Calls visit(stored) for the results that a chain with code stores. Those of reductions are there when all lanes are
/// folded.
template <class Visit> void visit_stores(const Chain& chain, Visit&& visit) {
  const auto visit_result = [&](uint32_t reg, size_t when) {
    for (const Step& step : chain.steps) {
      if (step.dst == reg) visit(Stored{&step, step.memory.output ? &*step.memory.output : nullptr, when});
    }
  };
  for (size_t i = 0; i < chain.code.size(); ++i) {
    if (use_of(chain.code[i].code) != OperandUse::written) continue;
    const Chain::Operand& operand = chain.operands[chain.code[i].operand];
    if (operand.kind == Chain::Operand::Kind::elements) visit_result(operand.reg, i);
  }
  for (const Chain::Operand& operand : chain.operands) {
    if (operand.kind == Chain::Operand::Kind::lanes) visit_result(operand.reg, chain.code.size());
  }
}

/// Calls visit(stored) for all that a step stores, in the order in which it does. A chain must have its code.
template <class Visit> void visit_stores(const Step& step, Visit&& visit) {
  if (const auto* chain = step.as<Chain>()) return visit_stores(*chain, visit);
  if (const auto* store = step.as<Store>()) return visit(Stored{nullptr, &store->to});
  const auto* load = step.as<Load>();
  if (!load || !load->is_read_in_place) visit(Stored{&step, step.memory.output ? &*step.memory.output : nullptr});
}

/// Calls visit(step, load) for every load that steps run.
template <class Steps, class Visit> void for_each_load(Steps& steps, Visit&& visit) {
  for (auto& step : steps) {
    if (auto* load = step.template as<Load>()) visit(step, *load);
    if (auto* choose = step.template as<Choose>()) {
      for (auto& value : choose->values) {
        if (value.source < 0) visit(step, value.load);
      }
    }
  }
}

}  // namespace tsl::cpu
