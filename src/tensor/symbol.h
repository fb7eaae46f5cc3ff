// Symbols: host numbers and sizes that a trace knows only by an example. A symbol carries the value it had
// while tracing (its hint) and how to compute it again from the inputs of a compiled region.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tensor/scalar.h"

namespace tsl {

class SymbolTable;

/// The extents of tensors that become symbols: 0 and 1 are facts, and no product of two, or of one and much else, wraps
/// around.
inline constexpr int64_t kMinSymbolicExtent = 2;
inline constexpr int64_t kMaxSymbolicExtent = (int64_t{1} << 31) - 1;

/// One node of a symbolic expression. Owned by a SymbolTable; equal expressions of one table are one object.
struct Symbol {
  enum class Kind : uint8_t { constant, input, expression } kind;
  ScalarOp op;    // Kind::expression
  uint32_t slot;  // Kind::input: which input of the region (or which host read)
  uint32_t id;    // dense, in order of creation, so operands come before their users
  Scalar hint;    // the value in the traced run
  const Symbol* a;
  const Symbol* b;
  SymbolTable* table;
  bool is_extent = false;  // Kind::input: a tensor's extent, from kMinSymbolicExtent to kMaxSymbolicExtent
};

/// A question about symbols whose answer steered the trace: `condition` was `hint` when traced. A region's
/// guard asks it again.
struct SymbolGuard {
  const Symbol* condition;
  const char* reason;  // "branch", "size", "index", "specialised", …
};

/// The symbols of one trace. Not thread-safe.
class SymbolTable {
 public:
  const Symbol* input(Scalar hint);  // a new input slot
  /// One for an extent that is from kMinSymbolicExtent to kMaxSymbolicExtent in every run, so that no guard need say
  /// so: all others are facts.
  const Symbol* size_input(int64_t hint);
  const Symbol* constant(Scalar value);
  const Symbol* apply(ScalarOp op, const Symbol* a, const Symbol* b = nullptr);

  /// The trace is over: its symbols are plain numbers from now on, wherever one is still held.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

  /// Makes the trace depend on the present value of `symbol`; returns that value. What earlier guards imply is
  /// not recorded again.
  Scalar pin(const Symbol* symbol, const char* reason);

  size_t size() const { return symbols_.size(); }
  uint32_t input_count() const { return input_count_; }
  const Symbol& at(uint32_t id) const { return symbols_[id]; }
  const std::vector<SymbolGuard>& guards() const { return guards_; }

  /// Computes symbols [first, values.size()) in order; `values` is indexed by id and inputs are already there.
  /// Never throws: an integer divided by zero is 0 here, as a guard on the divisor fails anyway.
  void evaluate(std::span<Scalar> values, uint32_t first = 0) const;

 private:
  const Symbol* intern(Symbol symbol);
  const Symbol* expression(ScalarOp op, const Symbol* a, const Symbol* b);
  const Symbol* simplify(ScalarOp op, const Symbol* a, const Symbol* b);
  const Symbol* sum(const Symbol* a, const Symbol* b);
  const Symbol* difference(const Symbol* a, const Symbol* b);
  const Symbol* product(const Symbol* a, const Symbol* b);
  void guard_operands(ScalarOp op, const Symbol* a, const Symbol* b);
  bool is_settled(const Symbol* symbol, int depth) const;

  std::deque<Symbol> symbols_;  // stable addresses
  std::unordered_multimap<uint64_t, const Symbol*> index_;
  std::vector<SymbolGuard> guards_;
  std::unordered_set<const Symbol*> settled_;  // symbols whose value the guards imply
  uint32_t input_count_ = 0;
  bool is_closed_ = false;
};

/// A size: an integer, or a symbol with its present value. Arithmetic on Dims follows symbols; questions about
/// them are recorded as guards, so code that computes shapes need not know whether it is being traced.
class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  Dim(int value) : value_(value) {}  // so that a literal 0 is a size, not a null symbol
  Dim(const Symbol* symbol) : value_(symbol->hint.integer), symbol_(symbol) {
    if (symbol->kind == Symbol::Kind::constant) symbol_ = nullptr;
  }

  /// The value in this run, without depending on it: for sizes of buffers and for messages only.
  int64_t hint() const { return value_; }
  /// The value, which the trace from now on depends on.
  int64_t pin() const { return symbol_ ? pin_symbol() : value_; }
  const Symbol* symbol() const { return symbol_; }
  /// The value in a run with these values of the symbols.
  int64_t in_run(std::span<const Scalar> symbols) const { return symbol_ ? symbols[symbol_->id].integer : value_; }
  /// Whether the two are surely equal: the same number or the same symbol. Records no guard.
  bool same(Dim other) const { return value_ == other.value_ && symbol_ == other.symbol_; }

  friend Dim operator+(Dim a, Dim b) { return combine(ScalarOp::add, a, b, wrapping_add(a.value_, b.value_)); }
  friend Dim operator-(Dim a, Dim b) { return combine(ScalarOp::sub, a, b, wrapping_sub(a.value_, b.value_)); }
  friend Dim operator*(Dim a, Dim b) { return combine(ScalarOp::mul, a, b, wrapping_mul(a.value_, b.value_)); }
  /// Floor division; b must not be zero. Factors common to both cancel, unless a product wraps around.
  friend Dim operator/(Dim a, Dim b);
  friend bool operator==(Dim a, Dim b) {
    return a.symbol_ || b.symbol_ ? ask(ScalarOp::eq, a, b) : a.value_ == b.value_;
  }
  friend bool operator<(Dim a, Dim b) { return a.symbol_ || b.symbol_ ? ask(ScalarOp::lt, a, b) : a.value_ < b.value_; }

 private:
  static Dim combine(ScalarOp op, Dim a, Dim b, int64_t value) {
    return a.symbol_ || b.symbol_ ? combine_symbols(op, a, b) : Dim(value);
  }
  static Dim combine_symbols(ScalarOp op, Dim a, Dim b);
  static bool ask(ScalarOp op, Dim a, Dim b);
  int64_t pin_symbol() const;

  int64_t value_;
  const Symbol* symbol_ = nullptr;
};

/// Makes the trace depend on the product of sizes being at most `limit`, as it is now, however large host ints among
/// them or extents become.
void guard_product(std::span<const Dim> sizes, double limit);

}  // namespace tsl
