#include "tensor/symbol.h"

#include "catch.h"
#include "tensor/layout.h"
#include "tensor/recording_ops.h"

using namespace tsl;

namespace {

struct Trace {
  SymbolTable table;
  const Symbol* size(int64_t hint) { return table.size_input(hint); }
  /// Makes a host number: unlike an extent, it may have any value in a later run.
  const Symbol* given(int64_t hint) { return table.input(Scalar::of(hint)); }
  const Symbol* number(int64_t value) { return table.constant(Scalar::of(value)); }
  size_t guards() const { return table.guards().size(); }

  /// Whether all guards hold for these inputs.
  bool holds(const std::vector<int64_t>& inputs) const {
    std::vector<Scalar> values(table.size());
    for (uint32_t id = 0; id < values.size(); ++id) {
      const Symbol& s = table.at(id);
      if (s.kind == Symbol::Kind::input) values[id] = Scalar::of(inputs[s.slot]);
    }
    table.evaluate(values);
    for (const SymbolGuard& guard : table.guards()) {
      if (!(values[guard.condition->id] == guard.condition->hint)) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("equal expressions are one symbol") {
  Trace t;
  const Symbol* n = t.size(5);
  const Symbol* m = t.size(7);
  REQUIRE(n != m);
  REQUIRE(t.number(3) == t.number(3));
  REQUIRE(t.table.constant(Scalar::of(3.0)) != t.number(3));
  REQUIRE(t.table.apply(ScalarOp::add, n, m) == t.table.apply(ScalarOp::add, m, n));
  REQUIRE(t.table.apply(ScalarOp::sub, n, m) != t.table.apply(ScalarOp::sub, m, n));
  REQUIRE(t.table.apply(ScalarOp::sqrt, n)->hint.type == ScalarType::real);
  // Derivative rules pass two operands to every op; an op of one ignores the second.
  REQUIRE(t.table.apply(ScalarOp::sqrt, n, m) == t.table.apply(ScalarOp::sqrt, n));
  REQUIRE(t.guards() == 0);
}

TEST_CASE("expressions simplify") {
  Trace t;
  const Symbol* n = t.size(5);
  const Symbol* m = t.size(7);
  SymbolTable& s = t.table;
  REQUIRE(s.apply(ScalarOp::add, n, t.number(0)) == n);
  REQUIRE(s.apply(ScalarOp::mul, t.number(1), n) == n);
  REQUIRE(s.apply(ScalarOp::mul, n, t.number(0)) == t.number(0));
  REQUIRE(s.apply(ScalarOp::add, t.number(2), t.number(3)) == t.number(5));
  REQUIRE(s.apply(ScalarOp::sub, n, n) == t.number(0));
  REQUIRE(s.apply(ScalarOp::add, s.apply(ScalarOp::sub, n, t.number(1)), t.number(1)) == n);
  REQUIRE(s.apply(ScalarOp::sub, s.apply(ScalarOp::add, n, m), n) == m);
  REQUIRE(s.apply(ScalarOp::mul, s.apply(ScalarOp::mul, n, t.number(28)), t.number(28)) ==
          s.apply(ScalarOp::mul, t.number(784), n));
  REQUIRE(s.apply(ScalarOp::mul, s.apply(ScalarOp::mul, n, t.number(2)), m) ==
          s.apply(ScalarOp::mul, s.apply(ScalarOp::mul, m, n), t.number(2)));
  // Not exact for floats: -0.0 + 0 is 0.0.
  const Symbol* real = s.input(Scalar::of(-0.0));
  REQUIRE(s.apply(ScalarOp::add, real, t.number(0)) != real);
}

TEST_CASE("a symbol computes what apply computes, for other inputs too") {
  Trace t;
  const Symbol* n = t.size(5);
  const Symbol* m = t.size(7);
  const std::vector<ScalarOp> ops = {ScalarOp::add, ScalarOp::sub,     ScalarOp::mul, ScalarOp::floordiv,
                                     ScalarOp::mod, ScalarOp::minimum, ScalarOp::lt,  ScalarOp::div};
  struct Case {
    ScalarOp op;
    int64_t offset;
    const Symbol* symbol;
  };
  std::vector<Case> cases;
  for (ScalarOp op : ops) {
    for (int64_t offset : {-2, 0, 3}) {
      const Symbol* shifted = t.table.apply(ScalarOp::add, n, t.number(offset));
      cases.push_back({op, offset, t.table.apply(op, t.table.apply(ScalarOp::mul, shifted, m), m)});
    }
  }
  std::vector<Scalar> values(t.table.size());
  for (int64_t a : {-9, 0, 4}) {
    for (int64_t b : {-3, 2, 8}) {
      values[n->id] = Scalar::of(a);
      values[m->id] = Scalar::of(b);
      t.table.evaluate(values);
      for (const Case& c : cases) {
        const Scalar product = Scalar::of((a + c.offset) * b);
        REQUIRE(values[c.symbol->id] == apply(c.op, product, Scalar::of(b)));
      }
    }
  }
}

TEST_CASE("where a program's ints overflow, a run fails; sizes wrap around") {
  Trace t;
  const Symbol *n = t.given(5), *m = t.given(7);
  const Symbol* wrapping = t.table.apply_wrapping(ScalarOp::mul, n, m);
  const Symbol* product = t.table.apply(ScalarOp::mul, n, m);
  REQUIRE(product == wrapping);  // one symbol, so that sizes of the program and of shapes are the same
  // (n - 3) + (m + 3) is n + m, though n + m + 3 may not fit.
  const Symbol* three = t.number(3);
  const Symbol* sum =
      t.table.apply(ScalarOp::add, t.table.apply(ScalarOp::sub, n, three), t.table.apply(ScalarOp::add, m, three));
  REQUIRE(t.holds({5, 7}));
  REQUIRE(t.holds({INT64_MAX / 8, 8}));
  REQUIRE_THROWS_AS(t.holds({INT64_MAX / 8 + 1, 8}), Failure);
  REQUIRE_THROWS_AS(t.holds({1, INT64_MAX - 2}), Failure);
  REQUIRE(sum == t.table.apply_wrapping(ScalarOp::add, n, m));
  const size_t guards = t.guards();
  REQUIRE_THROWS_AS(t.table.apply(ScalarOp::mul, n, t.number(INT64_MAX)), Failure);
  REQUIRE(t.guards() == guards + 1);  // a run that fails in the same way has the same operands
}

TEST_CASE("pinning records each symbol once") {
  Trace t;
  const Symbol* n = t.size(5);
  REQUIRE(t.table.pin(n, "specialised").integer == 5);
  REQUIRE(t.table.pin(n, "index").integer == 5);
  REQUIRE(t.guards() == 1);
  REQUIRE(std::string(t.table.guards()[0].reason) == "specialised");
  REQUIRE(t.table.pin(t.number(3), "index").integer == 3);
  REQUIRE(t.table.pin(t.table.apply(ScalarOp::add, n, t.number(3)), "index").integer == 8);  // implied
  REQUIRE(t.guards() == 1);
}

TEST_CASE("division guards its divisor, and evaluates without throwing") {
  Trace t;
  const Symbol* n = t.given(5);
  t.table.apply(ScalarOp::floordiv, t.number(10), n);
  REQUIRE(t.guards() == 1);
  REQUIRE(t.holds({3}));
  REQUIRE_FALSE(t.holds({0}));
  REQUIRE_THROWS_AS(t.table.apply(ScalarOp::mod, n, t.given(0)), Failure);
  REQUIRE(t.guards() == 1);
}

TEST_CASE("a division or a power of floats guards nothing, as it is a float for all operands") {
  Trace t;
  const Symbol *x = t.table.input(Scalar::of(7.0)), *y = t.table.input(Scalar::of(2.0)), *n = t.given(3);
  for (ScalarOp op : {ScalarOp::floordiv, ScalarOp::mod, ScalarOp::pow}) {
    t.table.apply(op, x, y);
    t.table.apply(op, x, n);
    t.table.apply(op, n, y);
  }
  REQUIRE(t.guards() == 0);
}

TEST_CASE("the sign of an int exponent is guarded, as the result's type depends on it") {
  Trace t;
  const Symbol* n = t.given(3);
  REQUIRE(t.table.apply(ScalarOp::pow, t.number(2), n)->hint == Scalar::of(int64_t{8}));
  REQUIRE(t.holds({9}));
  REQUIRE_FALSE(t.holds({-1}));
}

TEST_CASE("questions about sizes that are decided by structure record nothing") {
  Trace t;
  const Dim n = t.size(5), m = t.size(7);
  REQUIRE(n == n);
  REQUIRE_FALSE(n < n);
  REQUIRE(n - 1 < n);
  REQUIRE_FALSE(n + 2 == n);
  REQUIRE((n * 28) * 28 == n * 784);
  REQUIRE(n * m * 4 == m * (n * 4));
  REQUIRE(n * 784 / 784 == n);
  REQUIRE((n - n).symbol() == nullptr);
  REQUIRE(t.guards() == 0);
}

TEST_CASE("other questions are guarded once, in one form") {
  Trace t;
  const Dim n = t.given(5);
  REQUIRE_FALSE(n < 1);
  REQUIRE(Dim(0) < n);
  REQUIRE(t.guards() == 1);
  REQUIRE_FALSE(n - 1 < 0);
  REQUIRE_FALSE(n * 64 < 1);
  REQUIRE(t.guards() == 3);  // two guards: that it has less than 32 bits
  REQUIRE(t.holds({1}));
  REQUIRE_FALSE(t.holds({0}));
  REQUIRE(n * 4 == 20);
  REQUIRE(t.guards() == 4);
  REQUIRE_FALSE(n == 6);  // implied by n == 5
  REQUIRE(n.pin() == 5);
  REQUIRE(t.guards() == 4);
  REQUIRE_FALSE(t.holds({4}));
}

TEST_CASE("what orders two host numbers need not order their sums and products") {
  constexpr int64_t kHighest = INT64_MAX;
  Trace t;
  const Dim n = t.given(3), huge = t.given(kHighest);
  REQUIRE(n + 1 < 5);
  REQUIRE(n * 4 < 13);
  REQUIRE(n < n + 1);
  REQUIRE(t.holds({2, kHighest}));
  REQUIRE_FALSE(t.holds({kHighest, kHighest}));   // n + 1 would be negative
  REQUIRE_FALSE(t.holds({-kHighest, kHighest}));  // n * 4 would be 4
  REQUIRE(huge + 1 < huge);
  REQUIRE(huge + 1 < 5);
  REQUIRE(huge * 2 < 13);
  REQUIRE_FALSE(t.holds({3, 1}));
}

TEST_CASE("an extent is two or more, which is asked of nobody") {
  Trace t;
  const Dim n = t.size(5);
  REQUIRE_FALSE(n == 0);
  REQUIRE_FALSE(n == 1);
  REQUIRE_FALSE(n < 2);
  REQUIRE(Dim(1) < n);
  const auto ask = [&](ScalarOp op, int64_t number) {
    return t.table.pin(t.table.apply(op, n.symbol(), t.number(number)), "branch").boolean;
  };
  REQUIRE(ask(ScalarOp::ge, 2));
  REQUIRE(ask(ScalarOp::gt, 1));
  REQUIRE(ask(ScalarOp::ne, 1));
  REQUIRE_FALSE(ask(ScalarOp::le, 1));
  REQUIRE(t.guards() == 0);
  REQUIRE(t.holds({2}));
  REQUIRE_FALSE(n == 2);
  REQUIRE(ask(ScalarOp::ge, 3));
  REQUIRE(ask(ScalarOp::gt, 2));
  REQUIRE(t.guards() == 3);
  REQUIRE_FALSE(t.holds({2}));
}

TEST_CASE("an extent and what is known of it is one symbol, for each run computes them all") {
  Trace t;
  const Dim n = t.size(5);
  REQUIRE_FALSE(n == 1);
  REQUIRE_FALSE(n < 2);
  REQUIRE(t.table.at(0).is_extent);
  for (uint32_t id = 1; id < t.table.size(); ++id) REQUIRE(t.table.at(id).kind == Symbol::Kind::constant);
}

TEST_CASE("the length of a slice between two expressions is found") {
  Trace t;
  const Dim i = t.given(3), b = t.given(16), n = t.given(5);
  REQUIRE(((i + 1) * b - i * b).same(b));
  REQUIRE(((i + 1) * 128 - i * 128).same(128));
  REQUIRE(((i + n) * (b + 1) - (i * b + i + n * b)).same(n));
  REQUIRE((b * b - n * b).symbol() != nullptr);
  REQUIRE((b * b - n * b).hint() == 16 * 11);
}

TEST_CASE("a common factor cancels in a division") {
  Trace t;
  const Dim n = t.given(5), m = t.given(7);
  const Dim rest = n * 28 * m / (m * 7);
  REQUIRE(rest.same(n * 4));
  REQUIRE_FALSE(t.holds({5, 0}));
  REQUIRE_THROWS_AS(n / 0, Failure);
}

TEST_CASE("shape rules guard only what they must") {
  Trace t;
  const Dim n = t.size(5);
  const Layout in = Layout::contiguous({n, 28, 28});
  const std::optional<Layout> flat = reshape(in, {n, 784});
  REQUIRE(flat);
  REQUIRE(reshape(in, resolve_reshape(in.shape, {-1, 784}))->shape[0].same(n));
  REQUIRE(reshape(*flat, {n * 784}));
  REQUIRE(try_broadcast({n, 784}, {784}));
  REQUIRE(try_broadcast({n, 784}, {1, 1}));
  expand(Layout::contiguous({784}), {n, 784});
  slice(in, 1, 0, 14, 2);
  select(in, 2, -1);
  windows(in, 1, 3, 1, 1);
  const std::array<int, 3> order = {2, 0, 1};
  REQUIRE_FALSE(permute(in, order).is_contiguous());
  REQUIRE(t.guards() == 0);
  // A host number used as a size may be negative in a later run; an extent may not.
  const Dim asked = t.given(3);
  expand(Layout::contiguous({784}), {asked, 784});
  REQUIRE(t.guards() == 1);
}

TEST_CASE("flipping a symbolic axis asks one question: is it empty") {
  Trace t;
  const Dim n = t.given(5);
  slice(Layout::contiguous({n, 3}), 0, n - 1, n, -1);
  slice(Layout::contiguous({n, 3}), 0, 1, n - 1, 1);
  for (int64_t size : {2, 3, 100}) REQUIRE(t.holds({size}));
  REQUIRE_FALSE(t.holds({0}));
}

TEST_CASE("broadcasting guards the equality it used, and prefers the constant") {
  Trace t;
  const Dim n = t.size(5), one = t.given(1);
  const std::optional<Shape> shape = try_broadcast({n}, {5});
  REQUIRE((*shape)[0].same(5));
  REQUIRE(t.guards() == 1);
  REQUIRE((*try_broadcast({one}, {9}))[0].same(9));
  REQUIRE(t.guards() == 3);  // that 1 is not 9, and that it is 1
  REQUIRE(t.holds({5, 1}));
  REQUIRE_FALSE(t.holds({6, 1}));
  REQUIRE_FALSE(t.holds({5, 9}));
}
