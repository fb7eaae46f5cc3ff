// Closures that capture themselves are freed.
#include "support/session.h"
#include "vm/cycles.h"

using namespace tsl;

namespace {

Ref<Function> closure_over(const Ref<Cell>& cell) {
  Ref<Function> f = make_ref<Function>();
  f->captures.push_back(cell);
  return f;
}

}  // namespace

TEST_CASE("a closure that only it refers to is freed, and others are not") {
  CycleCollector cycles;
  Ref<Cell> own = make_ref<Cell>(), kept = make_ref<Cell>();
  {
    const Ref<Function> f = closure_over(own);
    cycles.track(*f);
    own->value = Value(f);
  }
  const Ref<Function> live = closure_over(kept);
  cycles.track(*live);
  kept->value = make_list({Value(live)});
  CHECK(cycles.collect() == 0);  // `own` is still held here
  Cell* observed = own.get();
  CHECK(observed->use_count() == 2);
  own = Ref<Cell>();
  CHECK(cycles.collect() == 1);
  CHECK(cycles.collect() == 0);
  CHECK(cycles.tracked() == 1);
  CHECK(live->captures.size() == 1);
}

TEST_CASE("cycles through lists, records and several closures are found") {
  CycleCollector cycles;
  {
    const Ref<Cell> a = make_ref<Cell>(), b = make_ref<Cell>();
    const Ref<Function> f = closure_over(a), g = closure_over(b);
    cycles.track(*f);
    cycles.track(*g);
    a->value = make_list({Value(g)});
    b->value = make_tuple({Value(make_list({Value(f)}))});
  }
  CHECK(cycles.collect() == 2);
}

TEST_CASE("a program that makes recursive closures in a loop runs on little memory") {
  Session s;
  // 20000 closures, each with a list of 1000: if they leaked, they would take 320 MB.
  CHECK(s.eval("fn make(data) { fn go(n) = if n == 0 { len(data) } else { go(n - 1) }; return go(1) }\n"
               "var sum = 0; for i in 0..20000 { sum += make([0] * 1000) }; sum") == "20000000");
}
