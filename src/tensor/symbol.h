// Symbols: host numbers and sizes whose values a trace must not rely on. A symbol has the value from the traced run
// (its hint) and an expression that computes it from the inputs of a region.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/source.h"
#include "tensor/scalar.h"

namespace tsl {

class SymbolTable;

/// The extents that may become symbols. 0 and 1 stay numbers because they change which code is right; above the maximum
/// a product of two could wrap around.
inline constexpr int64_t kMinSymbolicExtent = 2;
inline constexpr int64_t kMaxSymbolicExtent = (int64_t{1} << 31) - 1;

/// A node of a symbolic expression. A SymbolTable owns it; equal expressions of one table are one object.
struct Symbol {
  enum class Kind : uint8_t { constant, input, expression } kind;
  ScalarOp op;    // Kind::expression
  uint32_t slot;  // Kind::input: which input of the region (or which host read)
  uint32_t id;    // dense, in order of creation, so operands have smaller ids than their users
  Scalar hint;    // the value in the traced run
  const Symbol* a;
  const Symbol* b;
  SymbolTable* table;
  bool is_extent = false;  // Kind::input: a tensor's extent, from kMinSymbolicExtent to kMaxSymbolicExtent
  bool wraps = false;      // Kind::expression: a size, whose arithmetic wraps around; a program's ints fail instead
};

/// A condition on symbols that the trace depends on: it was `hint` when traced, and a guard evaluates it again.
struct SymbolGuard {
  const Symbol* condition;
  const char* reason;  // "branch", "size", "index", "specialised", …
  Span span;           // the position in the program that needed the value; not valid if unknown
};

/// The symbols of one trace. Not thread-safe.
class SymbolTable {
 public:
  /// Sets the function that locates the program, so that guards have positions.
  void set_locate(std::function<Span()> locate) { locate_ = std::move(locate); }

  const Symbol* input(Scalar hint);  // a new input slot
  /// Makes a symbol for an extent that is between kMinSymbolicExtent and kMaxSymbolicExtent in every run: input guards
  /// compare all other extents exactly, so no symbol guard needs to check this range.
  const Symbol* size_input(int64_t hint);
  const Symbol* constant(Scalar value);
  /// Computes as a program does. Where a result fits no int, this run fails, and so does evaluate() in later ones.
  const Symbol* apply(ScalarOp op, const Symbol* a, const Symbol* b = nullptr);
  /// Guards that the operands are the same again if this run fails: no int holds the result, or shifts by the count.
  void guard_failure(ScalarOp op, const Symbol* a, const Symbol* b = nullptr);
  /// Computes sums, differences and products of sizes and offsets, which wrap around.
  const Symbol* apply_wrapping(ScalarOp op, const Symbol* a, const Symbol* b);

  /// Ends the trace: symbols that are still referenced count as plain numbers from now on.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

  /// Makes the trace depend on the present value of `symbol`, and returns it. Records no guard that earlier guards
  /// imply.
  Scalar pin(const Symbol* symbol, const char* reason);

  size_t size() const { return symbols_.size(); }
  const Symbol& at(uint32_t id) const { return symbols_[id]; }
  const std::vector<SymbolGuard>& guards() const { return guards_; }

  /// Computes symbols [first, values.size()) in order. `values` is indexed by id, and the inputs are set. An integer
  /// divided by zero gives 0: a guard on the divisor fails anyway. Throws Failure for ints that do not fit 64 bits, and
  /// for a bitwise op of `2 ** -1`, a float.
  void evaluate(std::span<Scalar> values, uint32_t first = 0) const;

 private:
  const Symbol* find(const Symbol& symbol, uint64_t hash) const;
  const Symbol* intern(Symbol symbol);
  const Symbol* expression(ScalarOp op, const Symbol* a, const Symbol* b);
  const Symbol* wrapping_expression(ScalarOp op, const Symbol* a, const Symbol* b);
  const Symbol* expression_with(Scalar hint, bool wraps, ScalarOp op, const Symbol* a, const Symbol* b);
  const Symbol* simplify(ScalarOp op, const Symbol* a, const Symbol* b);
  const Symbol* sum(const Symbol* a, const Symbol* b);
  const Symbol* difference(const Symbol* a, const Symbol* b);
  const Symbol* product(const Symbol* a, const Symbol* b);
  void guard_operands(ScalarOp op, const Symbol* a, const Symbol* b);
  bool is_settled(const Symbol* symbol, int depth) const;

  std::deque<Symbol> symbols_;  // stable addresses
  std::unordered_multimap<uint64_t, const Symbol*> index_;
  std::vector<SymbolGuard> guards_;
  std::unordered_set<const Symbol*> settled_;  // symbols whose values earlier guards imply
  std::function<Span()> locate_;
  uint32_t input_count_ = 0;
  bool is_closed_ = false;
};

/// A size: an integer, or a symbol with its present value. Arithmetic on Dims builds symbols, and comparisons record
/// guards, so code that computes shapes works the same with and without a trace.
class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  Dim(int value) : value_(value) {}  // so that a literal 0 is a size and not a null symbol
  Dim(const Symbol* symbol) : value_(symbol->hint.integer), symbol_(symbol) {
    if (symbol->kind == Symbol::Kind::constant) symbol_ = nullptr;
  }

  /// Returns the value in this run without depending on it. Only for sizes of buffers and for messages.
  int64_t hint() const { return value_; }
  /// Returns the value and makes the trace depend on it.
  int64_t pin() const { return symbol_ ? pin_symbol() : value_; }
  const Symbol* symbol() const { return symbol_; }
  /// Returns the value in a run with these values of the symbols.
  int64_t in_run(std::span<const Scalar> symbols) const { return symbol_ ? symbols[symbol_->id].integer : value_; }
  /// Whether two sizes are surely equal: the same number or the same symbol. Records no guard.
  bool same(Dim other) const { return value_ == other.value_ && symbol_ == other.symbol_; }

  friend Dim operator+(Dim a, Dim b) { return combine(ScalarOp::add, a, b, wrapping_add(a.value_, b.value_)); }
  friend Dim operator-(Dim a, Dim b) { return combine(ScalarOp::sub, a, b, wrapping_sub(a.value_, b.value_)); }
  friend Dim operator*(Dim a, Dim b) { return combine(ScalarOp::mul, a, b, wrapping_mul(a.value_, b.value_)); }
  /// Floor division; b must not be zero. Common factors cancel, unless a product wraps around.
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

/// Returns the size as a number, if it is a symbol of a trace that has ended.
inline Dim settled(Dim size) { return size.symbol() && size.symbol()->table->is_closed() ? Dim(size.hint()) : size; }

/// Guards that the product of sizes is at most `limit`, as it is in this run, computed without overflow.
void guard_product(std::span<const Dim> sizes, double limit);

}  // namespace tsl
