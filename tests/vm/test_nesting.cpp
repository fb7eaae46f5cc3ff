// Tests values nested so deeply that recursion over them would overflow the stack, on every tier.
#include "support/session.h"
#include "support/tiers.h"
#include "value/value_walk.h"

using namespace tsl;

namespace {

/// Runs the program on every tier; it must print `expected`.
void prints(const std::string& program, const std::string& expected) {
  INFO(program);
  CHECK(outcome(program, Tier::eager) == expected);
  CHECK(disagreement(program) == "");
}

/// Nests `value` in `depth` lists.
Value nested(int depth, Value value) {
  for (int i = 0; i < depth; ++i) value = make_list({value});
  return value;
}

constexpr int kDeep = 200'000;

}  // namespace

TEST_CASE("deep lists made in a loop, a function and a compiled function", "[nesting]") {
  prints("var l = []\nfor i in 0..200000 { l = [l] }\nprint(len(str(l)))", "203\n");
  for (const char* count : {"50", "150", "200000"}) {
    const std::string shown = std::string(count) == "50" ? "116\n" : "203\n";
    prints(
        std::string(
            "@compile\nfn f(n, t) { var l = [t + 1.0]\n for i in 0..n { l = [l] }\n print(len(str(l)))\n return l }\n"
            "let l = f(") +
            count + ", zeros([2]))\nprint(len(str(l)))",
        shown + shown);
  }
}

TEST_CASE("a deep list as an argument and as a captured variable", "[nesting]") {
  prints(
      "fn deep(n) { var l = [1.5]\n for i in 0..n { l = [l] }\n return l }\n"
      "@compile\nfn first(l) = l[0][0]\n@compile\nfn count(x) = x + float(len(captured))\n"
      "let captured = deep(50000)\nfor n in [3, 50000] { print(len(str(first(deep(n)))), count(tensor(1.0)).item()) }",
      "7 2.0\n203 2.0\n");
}

TEST_CASE("texts that hold texts", "[nesting]") {
  prints(
      "@compile\nfn f(n, x) { var s = \"\"\n for i in 0..n { s = f\"{s},{x}\" }\n return s }\n"
      "for n in [2, 2000] { let s = f(n, 1.5)\n print(len(s), s[0], s[-1]) }",
      "8 , 5\n8000 , 5\n");
  prints(
      "@compile\nfn f(n, x) { var s = str(x)\n for i in 0..n { s = f\"{s},\" }\n return s }\n"
      "for n in [2, 5000] { print(len(f(n, 2.5))) }",
      "5\n5003\n");
  prints(
      "@compile\nfn f(n, x) { var s = f\"{x}\"\n for i in 0..n { s = f\"{[s]:>9}\" }\n return s }\n"
      "print(f(2, 1.5))\nprint(len(f(10, tensor(1.5))))",
      "[\"  [\\\"1.5\\\"]\"]\n2071\n");
  prints(
      "@compile\nfn f(n, x) { var s = str(x)\n for i in 0..n { s = join([s, \"a\"], str(x)) }\n return len(s) }\n"
      "for n in [2, 3000] { print(f(n, 1.5)) }",
      "11\n12003\n");
}

TEST_CASE("what a text holds is shown as it was, also where reading it ends the trace", "[nesting]") {
  // len() reads the lazy string, which contains a whole tensor, so the trace ends while len() runs.
  prints(
      "@compile\nfn f(x) { let s = f\"{x + 1}!\"\n let n = len(s)\n return (n, s) }\n"
      "for i in 0..3 { print(f(zeros([2]) + i)) }",
      "(15, \"f32[2]\\n[1. 1.]!\")\n(15, \"f32[2]\\n[2. 2.]!\")\n(15, \"f32[2]\\n[3. 3.]!\")\n");
}

TEST_CASE("a list that holds itself twice, over and over, is no exponential work", "[nesting]") {
  prints(
      "@compile\nfn double(n, x) { var l = [x]\n for i in 0..n { l = [l, l] }\n return l }\n"
      "@compile\nfn first(l) { var m = l\n while len(m) == 2 { m = m[0] }\n return m[0] * 2 }\n"
      "print(double(2, 1.5))\nlet l = double(60, 1.5)\nprint(first(l), first(l))",
      "[[[1.5], [1.5]], [[1.5], [1.5]]]\n3.0 3.0\n");
}

TEST_CASE("closures in closures that outlive a trace", "[nesting]") {
  prints(
      "@compile\nfn chain(n, x) { var f = fn() = x\n for i in 0..n { let g = f\n f = fn() = g }\n return f }\n"
      "var f = chain(50000, 2.5)\nfor i in 0..50000 { f = f() }\nprint(f())",
      "2.5\n");
  prints(
      "@compile\nfn bound(n, x) { var f = fn(y) = x * y\n for i in 0..n { f = grad(f) }\n return f }\n"
      "@compile\nfn unused(f, x) = x + 1\nprint(bound(1, 2.5)(tensor(1.0)).item(), unused(bound(50000, 2.5), 1.0))",
      "2.5 2.0\n");
}

TEST_CASE("containers and closures that share parts, nested in turn, are freed", "[nesting]") {
  const Value leaf = make_string("leaf");
  Value value = leaf;
  for (int i = 0; i < kDeep; ++i) {
    Ref<Cell> cell = make_ref<Cell>();
    cell->value = make_list({Value(i), value, make_list({}), leaf});
    Ref<Function> function = make_ref<Function>();
    function->captures = {cell, cell};
    Ref<BuiltinFunction> bound = make_ref<BuiltinFunction>();
    bound->bound = {Value(function), value};
    value = make_tuple({Value(bound), Value(function), Value(cell)});
  }
  Value kept = value.as<Tuple>().items[2].as<Cell>().value;
  value = Value();
  CHECK(kept.unique());
  kept = Value();
  CHECK(leaf.unique());
}

TEST_CASE("rebuilding replaces leaves, keeps what does not change, and keeps sharing", "[nesting]") {
  const auto one_to_two = [](const Value& leaf, Value& with) {
    if (!leaf.is(Tag::integer) || leaf.integer() != 1) return false;
    with = Value(2);
    return true;
  };
  Value unchanged = make_list({Value(3), make_tuple({Value(4)})});
  const Value before = unchanged;
  CHECK_FALSE(replace_leaves(unchanged, one_to_two));
  CHECK(identical(unchanged, before));

  Session s;
  const Value inner = make_tuple({Value(1), Value(5)}), same = make_tuple({Value(6)});
  Value shared = make_list({inner, same, inner, Value(1)});
  const Value old = shared;
  CHECK(replace_leaves(shared, one_to_two));
  CHECK(to_repr(s.engine, shared) == "[(2, 5), (6,), (2, 5), 2]");
  CHECK(to_repr(s.engine, old) == "[(1, 5), (6,), (1, 5), 1]");
  const std::vector<Value>& items = shared.as<List>().items;
  CHECK(identical(items[0], items[2]));
  CHECK(identical(items[1], same));

  Value deep = nested(kDeep, Value(1));
  CHECK(replace_leaves(deep, one_to_two));
  CHECK(any_leaf(deep, [](const Value& leaf) { return leaf.is(Tag::integer) && leaf.integer() == 2; }));
  CHECK_FALSE(any_leaf(deep, [](const Value& leaf) { return leaf.is(Tag::integer) && leaf.integer() == 1; }));
}
