#include "tensor/symbol.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "base/error_names.h"

namespace tsl {

namespace {

using Kind = Symbol::Kind;

constexpr int kSettledDepth = 4;    // the depth of the search for operands that guards fix already; bounds the cost
constexpr size_t kMaxFactors = 16;  // longer products are rare, and stay unnormalised

bool is_constant(const Symbol* s) { return s->kind == Kind::constant; }
bool is_integer(const Symbol* s) { return s->hint.type == ScalarType::integer; }
bool is_integer(const Symbol* s, int64_t value) { return is_constant(s) && is_integer(s) && s->hint.integer == value; }
bool is_expression(const Symbol* s, ScalarOp op) { return s->kind == Kind::expression && s->op == op && is_integer(s); }

// Whether `symbol op number` has the same answer for all extents that can be symbols.
bool is_settled_of_extents(ScalarOp op, const Symbol* symbol, int64_t number) {
  if (!symbol->is_extent) return false;
  if (op == ScalarOp::lt || op == ScalarOp::ge) return number <= kMinSymbolicExtent;
  const bool compares = op == ScalarOp::eq || op == ScalarOp::ne || op == ScalarOp::le || op == ScalarOp::gt;
  return compares && number < kMinSymbolicExtent;
}
bool is_settled_of_extents(const Symbol* s) {
  if (s->kind != Kind::expression || !s->b || !is_constant(s->b) || !is_integer(s->b)) return false;
  return is_settled_of_extents(s->op, s->a, s->b->hint.integer);
}

constexpr ScalarOp kCommutative[] = {ScalarOp::add,     ScalarOp::mul,    ScalarOp::eq,     ScalarOp::ne,
                                     ScalarOp::bit_and, ScalarOp::bit_or, ScalarOp::bit_xor};

bool commutes(ScalarOp op) {
  return std::find(std::begin(kCommutative), std::end(kCommutative), op) != std::end(kCommutative);
}

uint64_t hash_of(const Symbol& s) {
  uint64_t hash = static_cast<uint64_t>(s.kind);
  const auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  mix(static_cast<uint64_t>(s.op));
  if (s.kind == Kind::constant) {
    mix(static_cast<uint64_t>(s.hint.type));
    mix(s.hint.bits());
  }
  mix(s.a ? s.a->id + 1 : 0);
  mix(s.b ? s.b->id + 1 : 0);
  return hash;
}

bool is_same(const Symbol& x, const Symbol& y) {
  if (x.kind != y.kind) return false;
  if (x.kind == Kind::constant) return x.hint == y.hint;
  return x.op == y.op && x.a == y.a && x.b == y.b;
}

bool can_wrap(ScalarOp op, const Symbol* a, const Symbol* b) {
  return b && is_integer(a) && is_integer(b) && (op == ScalarOp::add || op == ScalarOp::sub || op == ScalarOp::mul);
}

// Computes a sum, difference or product of ints, which wraps around.
Scalar wrapped(ScalarOp op, Scalar a, Scalar b) {
  if (op == ScalarOp::add) return Scalar::of(wrapping_add(a.integer, b.integer));
  if (op == ScalarOp::sub) return Scalar::of(wrapping_sub(a.integer, b.integer));
  return Scalar::of(wrapping_mul(a.integer, b.integer));
}

// An integer symbol as base + constant; a null base means a plain constant.
struct Sum {
  const Symbol* base;
  int64_t constant;
};

Sum split_sum(const Symbol* s) {
  if (is_constant(s)) return {nullptr, s->hint.integer};
  if (is_expression(s, ScalarOp::add) && is_constant(s->b)) return {s->a, s->b->hint.integer};
  return {s, 0};
}

// An integer symbol as factors * constant, the factors in order of creation. Since products share parts, expanding one
// may give exponentially many factors: above a limit, some factors remain products.
struct Product {
  std::vector<const Symbol*> factors;
  int64_t constant = 1;

  explicit Product(const Symbol* s) {
    collect(s);
    sort();
  }
  Product(const Symbol* a, const Symbol* b) {
    collect(a);
    collect(b);
    sort();
  }

 private:
  void collect(const Symbol* s) {
    if (is_constant(s)) constant = wrapping_mul(constant, s->hint.integer);
    else if (is_expression(s, ScalarOp::mul) && factors.size() <= kMaxFactors) {
      collect(s->a);
      collect(s->b);
    } else factors.push_back(s);
  }
  void sort() {
    std::sort(factors.begin(), factors.end(), [](const Symbol* x, const Symbol* y) { return x->id < y->id; });
  }
};

// An integer symbol expanded to a sum of products: (i + 1) * b as i * b + b.
class Polynomial {
 public:
  explicit Polynomial(const Symbol* s) { terms_ = expand(s, 0); }

  void subtract(const Polynomial& other) {
    if (!is_small() || !other.is_small()) return terms_.clear();
    for (const Term& term : other.terms_) add(terms_, {term.factors, wrapping_sub(0, term.coefficient)});
    std::erase_if(terms_, [](const Term& t) { return t.coefficient == 0; });
    is_known_ = true;
  }

  /// Returns the single remaining product, if there is only one (for an empty sum: 0).
  std::optional<std::pair<std::vector<const Symbol*>, int64_t>> single() const {
    if (!is_known_ || terms_.size() > 1) return std::nullopt;
    if (terms_.empty()) return std::pair<std::vector<const Symbol*>, int64_t>{{}, 0};
    return std::pair{terms_[0].factors, terms_[0].coefficient};
  }

 private:
  struct Term {
    std::vector<const Symbol*> factors;  // in order of creation
    int64_t coefficient;
  };
  static constexpr size_t kMaxTerms = 8;  // sizes and offsets have few; longer sums stay unexpanded
  static constexpr int kMaxDepth = 8;

  bool is_small() const { return !terms_.empty() && terms_.size() <= kMaxTerms; }

  static void add(std::vector<Term>& terms, Term term) {
    for (Term& other : terms) {
      if (other.factors != term.factors) continue;
      other.coefficient = wrapping_add(other.coefficient, term.coefficient);
      return;
    }
    terms.push_back(std::move(term));
  }

  static Term multiply(const Term& x, const Term& y) {
    Term out{x.factors, wrapping_mul(x.coefficient, y.coefficient)};
    out.factors.insert(out.factors.end(), y.factors.begin(), y.factors.end());
    std::sort(out.factors.begin(), out.factors.end(), [](const Symbol* a, const Symbol* b) { return a->id < b->id; });
    return out;
  }

  static std::vector<Term> expand(const Symbol* s, int depth) {
    if (is_constant(s)) return {{{}, s->hint.integer}};
    const bool is_sum = is_expression(s, ScalarOp::add), is_product = is_expression(s, ScalarOp::mul);
    if ((!is_sum && !is_product) || depth == kMaxDepth) return {{{s}, 1}};
    const std::vector<Term> a = expand(s->a, depth + 1), b = expand(s->b, depth + 1);
    if (is_product && a.size() * b.size() > kMaxTerms) return {{{s}, 1}};
    std::vector<Term> out;
    if (is_sum) {
      out = a;
      for (const Term& term : b) add(out, term);
      return out;
    }
    for (const Term& x : a) {
      for (const Term& y : b) add(out, multiply(x, y));
    }
    return out;
  }

  std::vector<Term> terms_;
  bool is_known_ = false;
};

}  // namespace

// Finds an equal symbol. One that wraps may also be one that fails instead: then the program has computed it, too.
const Symbol* SymbolTable::find(const Symbol& symbol, uint64_t hash) const {
  const Symbol* other = nullptr;
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (!is_same(*it->second, symbol)) continue;
    if (it->second->wraps == symbol.wraps) return it->second;
    other = it->second;
  }
  return symbol.wraps ? other : nullptr;
}

const Symbol* SymbolTable::intern(Symbol symbol) {
  const uint64_t hash = hash_of(symbol);
  if (const Symbol* known = find(symbol, hash)) return known;
  symbol.id = static_cast<uint32_t>(symbols_.size());
  symbol.table = this;
  symbols_.push_back(symbol);
  index_.emplace(hash, &symbols_.back());
  return &symbols_.back();
}

const Symbol* SymbolTable::input(Scalar hint) {
  const uint32_t id = static_cast<uint32_t>(symbols_.size());
  symbols_.push_back(Symbol{Kind::input, ScalarOp::add, input_count_++, id, hint, nullptr, nullptr, this});
  return &symbols_.back();
}

const Symbol* SymbolTable::size_input(int64_t hint) {
  const Symbol* size = input(Scalar::of(hint));
  symbols_.back().is_extent = true;
  return size;
}

const Symbol* SymbolTable::constant(Scalar value) {
  return intern(Symbol{Kind::constant, ScalarOp::add, 0, 0, value, nullptr, nullptr, this});
}

const Symbol* SymbolTable::expression_with(Scalar hint, bool wraps, ScalarOp op, const Symbol* a, const Symbol* b) {
  if (b && commutes(op) && (is_constant(a) || (!is_constant(b) && b->id < a->id))) std::swap(a, b);
  return intern(Symbol{Kind::expression, op, 0, 0, hint, a, b, this, false, wraps});
}

const Symbol* SymbolTable::expression(ScalarOp op, const Symbol* a, const Symbol* b) {
  return expression_with(tsl::apply(op, a->hint, b ? b->hint : Scalar()), false, op, a, b);
}

const Symbol* SymbolTable::wrapping_expression(ScalarOp op, const Symbol* a, const Symbol* b) {
  return expression_with(wrapped(op, a->hint, b->hint), true, op, a, b);
}

const Symbol* SymbolTable::apply(ScalarOp op, const Symbol* a, const Symbol* b) {
  if (!is_binary(op)) b = nullptr;
  guard_failure(op, a, b);
  if (is_constant(a) && (!b || is_constant(b))) return constant(tsl::apply(op, a->hint, b ? b->hint : Scalar()));
  if (op == ScalarOp::sub && can_wrap(op, a, b) && is_constant(b) && b->hint.integer != INT64_MIN)
    return apply(ScalarOp::add, a, constant(Scalar::of(-b->hint.integer)));
  // A simpler symbol has the same value wherever this one fits, which each run has to check.
  const Symbol* checked = can_wrap(op, a, b) ? expression(op, a, b) : nullptr;
  if (const Symbol* simpler = simplify(op, a, b)) return simpler;
  const Symbol* result = checked ? checked : expression(op, a, b);  // throws, before any guard, on division by zero
  guard_operands(op, a, b);
  return result;
}

void SymbolTable::guard_failure(ScalarOp op, const Symbol* a, const Symbol* b) {
  if (!fails_on_ints(op, a->hint, b ? b->hint : Scalar())) return;
  pin(a, "overflow");
  if (b) pin(b, "overflow");
}

const Symbol* SymbolTable::apply_wrapping(ScalarOp op, const Symbol* a, const Symbol* b) {
  if (is_constant(a) && is_constant(b)) return constant(wrapped(op, a->hint, b->hint));
  const Symbol* simpler = simplify(op, a, b);
  return simpler ? simpler : wrapping_expression(op, a, b);
}

// Guards what an expression's type or existence depends on.
void SymbolTable::guard_operands(ScalarOp op, const Symbol* a, const Symbol* b) {
  if (!b || is_constant(b) || a->hint.type == ScalarType::real || b->hint.type == ScalarType::real) return;
  const Symbol* zero = constant(Scalar::of(int64_t{0}));
  if (op == ScalarOp::floordiv || op == ScalarOp::mod) pin(apply(ScalarOp::ne, b, zero), "division by zero");
  if (op == ScalarOp::pow) pin(apply(ScalarOp::lt, b, zero), "sign of an exponent");
}

// Returns a simpler symbol, or null if there is none. All rules are exact for wrapping integers.
const Symbol* SymbolTable::simplify(ScalarOp op, const Symbol* a, const Symbol* b) {
  if (!b || !is_integer(a) || !is_integer(b)) return nullptr;
  if (op == ScalarOp::add) return sum(a, b);
  if (op == ScalarOp::sub) return difference(a, b);
  if (op == ScalarOp::mul) return product(a, b);
  if (op == ScalarOp::floordiv || op == ScalarOp::pow) return is_integer(b, 1) ? a : nullptr;
  if (op == ScalarOp::mod) return is_integer(b, 1) ? constant(Scalar::of(int64_t{0})) : nullptr;
  if (a != b) return nullptr;
  if (op == ScalarOp::minimum || op == ScalarOp::maximum) return a;
  const bool equal = op == ScalarOp::eq || op == ScalarOp::le || op == ScalarOp::ge;
  const bool unequal = op == ScalarOp::ne || op == ScalarOp::lt || op == ScalarOp::gt;
  return equal || unequal ? constant(Scalar::of(equal)) : nullptr;
}

const Symbol* SymbolTable::sum(const Symbol* a, const Symbol* b) {
  const Sum x = split_sum(a), y = split_sum(b);
  const Symbol* base = x.base && y.base ? wrapping_expression(ScalarOp::add, x.base, y.base) : x.base ? x.base : y.base;
  const int64_t total = wrapping_add(x.constant, y.constant);
  return total == 0 ? base : wrapping_expression(ScalarOp::add, base, constant(Scalar::of(total)));
}

const Symbol* SymbolTable::difference(const Symbol* a, const Symbol* b) {
  const Sum x = split_sum(a), y = split_sum(b);
  const Symbol* rest = constant(Scalar::of(wrapping_sub(x.constant, y.constant)));
  if (!y.base) return apply_wrapping(ScalarOp::add, a, constant(Scalar::of(wrapping_sub(0, y.constant))));
  if (x.base == y.base) return rest;
  if (!x.base) return nullptr;
  // Simplifies (i + 1) * b - i * b to b: the length of a slice between two expressions.
  Polynomial terms(x.base);
  terms.subtract(Polynomial(y.base));
  const auto single = terms.single();
  if (!single) return nullptr;
  const Symbol* result = constant(Scalar::of(single->second));
  for (const Symbol* factor : single->first) result = apply_wrapping(ScalarOp::mul, result, factor);
  return apply_wrapping(ScalarOp::add, result, rest);
}

const Symbol* SymbolTable::product(const Symbol* a, const Symbol* b) {
  const Product all(a, b);
  if (all.constant == 0) return constant(Scalar::of(int64_t{0}));
  if (all.factors.size() > kMaxFactors) return nullptr;
  const Symbol* result = all.factors.front();
  for (size_t i = 1; i < all.factors.size(); ++i) result = wrapping_expression(ScalarOp::mul, result, all.factors[i]);
  return all.constant == 1 ? result : wrapping_expression(ScalarOp::mul, result, constant(Scalar::of(all.constant)));
}

bool SymbolTable::is_settled(const Symbol* symbol, int depth) const {
  if (is_constant(symbol) || is_settled_of_extents(symbol) || settled_.count(symbol)) return true;
  if (symbol->kind == Kind::input || depth == 0) return false;
  return is_settled(symbol->a, depth - 1) && (!symbol->b || is_settled(symbol->b, depth - 1));
}

Scalar SymbolTable::pin(const Symbol* symbol, const char* reason) {
  if (is_settled(symbol, kSettledDepth)) return symbol->hint;
  guards_.push_back({symbol, reason, locate_ ? locate_() : Span()});
  settled_.insert(symbol);
  // Once a symbol has been found equal to a constant, its value is known.
  if (symbol->kind == Kind::expression && symbol->op == ScalarOp::eq && symbol->hint.boolean &&
      is_constant(symbol->b) && symbol->a->hint == symbol->b->hint && symbol->a->hint.type != ScalarType::real) {
    settled_.insert(symbol->a);
  }
  return symbol->hint;
}

void SymbolTable::evaluate(std::span<Scalar> values, uint32_t first) const {
  const Scalar one = Scalar::of(int64_t{1});
  auto symbol = symbols_.begin() + first;
  for (uint32_t id = first; id < values.size(); ++id, ++symbol) {
    const Symbol& s = *symbol;
    if (s.kind == Kind::constant) values[id] = s.hint;
    if (s.kind != Kind::expression) continue;
    const Scalar a = values[s.a->id], b = s.b ? values[s.b->id] : Scalar();
    const bool divides = s.op == ScalarOp::floordiv || s.op == ScalarOp::mod;
    const bool by_zero = divides && a.type != ScalarType::real && b.type != ScalarType::real && b.bits() == 0;
    values[id] = by_zero ? tsl::apply(ScalarOp::mul, b, one) : s.wraps ? wrapped(s.op, a, b) : tsl::apply(s.op, a, b);
  }
}

namespace {

const Symbol* symbol_of(SymbolTable& table, Dim d) {
  return d.symbol() ? d.symbol() : table.constant(Scalar::of(d.hint()));
}

// Divides and rounds towards plus infinity; b > 0.
int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Returns n such that a number that is not negative is at most 2 ** n.
int bits_for(int64_t number) { return number <= 1 ? 0 : std::bit_width(static_cast<uint64_t>(number - 1)); }

// As above for a symbol: an extent, or a product of extents and a number, such as counts and strides of elements.
// Returns more than kExactBits for anything else, and for products that may wrap around.
constexpr int kExactBits = 62;
int bits_for(const Symbol* s) {
  if (is_constant(s)) return s->hint.integer < 0 ? 64 : bits_for(s->hint.integer);
  if (is_expression(s, ScalarOp::mul)) {
    const int bits = bits_for(s->a);
    return bits > kExactBits ? bits : bits + bits_for(s->b);
  }
  return s->is_extent ? bits_for(kMaxSymbolicExtent) : 64;
}

// Whether s has less than 32 bits. Guards the answer, since host ints may be arbitrarily large.
bool is_small(const Symbol* s) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  const auto ask = [s](ScalarOp op, int64_t limit) {
    return s->table->pin(s->table->apply(op, s, s->table->constant(Scalar::of(limit))), "size").boolean;
  };
  return ask(ScalarOp::lt, kLimit) && ask(ScalarOp::gt, -kLimit);
}

// Whether base + constant (or base * factor) surely does not wrap around. Only then x < y follows from x + 1 < y + 1 or
// 2 * x < 2 * y.
bool adds_exactly(const Sum& sum) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  if (!sum.base || sum.constant == 0) return true;
  return -kLimit < sum.constant && sum.constant < kLimit && (bits_for(sum.base) <= kExactBits || is_small(sum.base));
}

bool multiplies_exactly(const Symbol* base, int64_t factor) {
  if (factor <= 0 || factor > int64_t{1} << 31) return false;
  return bits_for(base) + bits_for(factor) <= kExactBits || is_small(base);
}

// Whether a product does not wrap around; if this is not sure, computes it in floats and guards the answer.
bool is_exact(SymbolTable& table, const Product& product) {
  int bits = product.constant < 0 ? 64 : bits_for(product.constant);
  for (const Symbol* factor : product.factors) bits += bits_for(factor);
  if (bits <= kExactBits || product.factors.empty()) return true;
  const Symbol* size = table.constant(Scalar::of(std::fabs(static_cast<double>(product.constant))));
  for (const Symbol* factor : product.factors) {
    const Symbol* real = table.apply(ScalarOp::to_real, factor);
    size = table.apply(ScalarOp::mul, size, table.apply(ScalarOp::abs, real));
  }
  return table.pin(table.apply(ScalarOp::le, size, table.constant(Scalar::of(std::ldexp(1.0, kExactBits)))), "size")
      .boolean;
}

// Compares a size with a number: base == limit, or base < limit. `factor * x < limit` becomes a comparison of x, so
// that equal conditions share one guard.
bool ask_constant(SymbolTable& table, ScalarOp op, const Symbol* base, int64_t limit) {
  if (is_expression(base, ScalarOp::mul) && is_constant(base->b) &&
      multiplies_exactly(base->a, base->b->hint.integer)) {
    const int64_t factor = base->b->hint.integer;
    if (op == ScalarOp::eq && limit % factor != 0) return false;
    limit = op == ScalarOp::eq ? limit / factor : divide_up(limit, factor);
    base = base->a;
  }
  if (is_settled_of_extents(op, base, limit)) return false;  // records no symbol, which each run would evaluate
  return table.pin(table.apply(op, base, table.constant(Scalar::of(limit))), "size").boolean;
}

// Compares x == y, where one is a number or both have the same base. Wrapping around does not change the answer.
bool ask_equal(SymbolTable& table, const Sum& x, const Sum& y) {
  if (x.base == y.base) return x.constant == y.constant;
  if (!y.base) return ask_constant(table, ScalarOp::eq, x.base, wrapping_sub(y.constant, x.constant));
  return ask_constant(table, ScalarOp::eq, y.base, wrapping_sub(x.constant, y.constant));
}

// As ask_equal() for x < y, where neither sum wraps around. Returns nothing if there is no simpler comparison.
std::optional<bool> ask_less(SymbolTable& table, const Sum& x, const Sum& y) {
  if (x.base == y.base) return x.constant < y.constant;
  int64_t limit = 0;
  if (!y.base) {
    if (__builtin_sub_overflow(y.constant, x.constant, &limit)) return std::nullopt;
    return ask_constant(table, ScalarOp::lt, x.base, limit);
  }
  if (x.base || __builtin_sub_overflow(x.constant, y.constant, &limit) || limit == INT64_MAX) return std::nullopt;
  return !ask_constant(table, ScalarOp::lt, y.base, limit + 1);  // c < y  is  not (y < c + 1)
}

}  // namespace

Dim Dim::combine_symbols(ScalarOp op, Dim a, Dim b) {
  SymbolTable& table = *(a.symbol_ ? a.symbol_ : b.symbol_)->table;
  return Dim(table.apply_wrapping(op, symbol_of(table, a), symbol_of(table, b)));
}

Dim operator/(Dim a, Dim b) {
  if (b.hint() == 0) fail(ErrorName::division_by_zero, "a size is divided by zero");
  if (!a.symbol_ && !b.symbol_)
    return Dim(tsl::apply(ScalarOp::floordiv, Scalar::of(a.value_), Scalar::of(b.value_)).integer);
  SymbolTable& table = *(a.symbol_ ? a.symbol_ : b.symbol_)->table;
  Product over(symbol_of(table, a)), under(symbol_of(table, b));
  if (!is_exact(table, over) || !is_exact(table, under))
    return Dim(table.apply(ScalarOp::floordiv, symbol_of(table, a), symbol_of(table, b)));
  for (auto factor = under.factors.begin(); factor != under.factors.end();) {
    const auto common = std::find(over.factors.begin(), over.factors.end(), *factor);
    if (common == over.factors.end()) {
      ++factor;
      continue;
    }
    // The factor must not be 0 in a later run either, since the division would then be undefined.
    table.pin(table.apply(ScalarOp::ne, *factor, table.constant(Scalar::of(int64_t{0}))), "size");
    over.factors.erase(common);
    factor = under.factors.erase(factor);
  }
  if (under.constant != 0 && over.constant % under.constant == 0) {
    over.constant /= under.constant;
    under.constant = 1;
  }
  const auto multiply = [&table](const Product& product) {
    const Symbol* result = table.constant(Scalar::of(product.constant));
    for (const Symbol* factor : product.factors) result = table.apply_wrapping(ScalarOp::mul, result, factor);
    return result;
  };
  return Dim(table.apply(ScalarOp::floordiv, multiply(over), multiply(under)));
}

bool Dim::ask(ScalarOp op, Dim a, Dim b) {
  if (a.symbol_ == b.symbol_) return op == ScalarOp::eq;  // the same symbol
  SymbolTable& table = *(a.symbol_ ? a.symbol_ : b.symbol_)->table;
  const Sum x = split_sum(symbol_of(table, a)), y = split_sum(symbol_of(table, b));
  const bool is_related = !x.base || !y.base || x.base == y.base;
  if (is_related && op == ScalarOp::eq) return ask_equal(table, x, y);
  if (is_related && adds_exactly(x) && adds_exactly(y)) {
    if (const std::optional<bool> answer = ask_less(table, x, y)) return *answer;
  }
  return table.pin(table.apply(op, symbol_of(table, a), symbol_of(table, b)), "size").boolean;
}

int64_t Dim::pin_symbol() const { return symbol_->table->pin(symbol_, "size").integer; }

void guard_product(std::span<const Dim> sizes, double limit) {
  // Records nothing if no size is a symbol or the limit cannot be exceeded, since each run evaluates all recorded
  // symbols.
  int bits = 0;
  for (Dim size : sizes) bits += size.symbol() ? bits_for(size.symbol()) : bits_for(size.hint());
  if (bits <= std::ilogb(limit) || std::none_of(sizes.begin(), sizes.end(), [](Dim size) { return size.symbol(); }))
    return;
  const Symbol* product = nullptr;  // computed in floats, which do not wrap around
  for (Dim size : sizes) {
    if (!size.symbol()) {
      limit /= static_cast<double>(size.hint());
      continue;
    }
    SymbolTable& table = *size.symbol()->table;
    const Symbol* factor = table.apply(ScalarOp::to_real, size.symbol());
    product = product ? table.apply(ScalarOp::mul, product, factor) : factor;
  }
  SymbolTable& table = *product->table;
  table.pin(table.apply(ScalarOp::le, product, table.constant(Scalar::of(limit))), "size");
}

}  // namespace tsl
