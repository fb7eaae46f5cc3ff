#include "catch.h"
#include "jit/segment.h"

using namespace tsl;
using namespace tsl::jit;

namespace {

Tensor elements(const Shape& shape) {
  auto storage = Ref<Storage>(new Storage(nullptr, nullptr, 0, Device{}));
  return Tensor(DType::f32, Layout::contiguous(shape), storage);
}

struct Fixture {
  std::shared_ptr<SymbolTable> symbols = std::make_shared<SymbolTable>();
  Recorder recorder{symbols};
  const Tensor given = elements({3});
  Tensor x = recorder.input(given.dtype(), given.layout(), 0);

  Tensor exp(const Tensor& t) {
    const Operand operand(t);
    const TensorType type{DType::f32, t.shape()};
    Tensor result;
    recorder.record(op_def(Op::exp), {&operand, 1}, {}, {&type, 1}, Span{}, {}, {&result, 1});
    return result;
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a cut gives out what somebody still holds") {
  const Tensor held = exp(x);
  { const Tensor dropped = exp(held); }
  const Recorder::Cut cut = recorder.cut(1);
  CHECK(cut.input_slots == std::vector<uint32_t>{0});
  REQUIRE(cut.values.size() == 1);
  CHECK(cut.values[0] == held->node);
  CHECK(recorder.slot_of(held) == 1);
}

TEST_CASE_METHOD(Fixture, "after a cut, earlier values are inputs") {
  const Tensor held = exp(x);
  recorder.cut(1);
  const Tensor later = exp(held);
  const Recorder::Cut cut = recorder.cut(2);
  CHECK(cut.input_slots == std::vector<uint32_t>{1});
  CHECK(recorder.slot_of(later) == 2);
}

TEST_CASE_METHOD(Fixture, "a view that outlives its base keeps the base's value") {
  Tensor view;
  {
    const Tensor base = exp(x);
    view = base.with_layout(slice(base.layout(), 0, 1, 2, 1));
    recorder.watch(view);
  }
  CHECK(recorder.cut(1).values.size() == 1);
  Run run;
  run.values = {elements({3}), elements({3})};
  CHECK(recorder.concrete(view, run).layout().offset.hint() == 1);
}

TEST_CASE_METHOD(Fixture, "released tensors have elements") {
  const Tensor held = exp(x);
  recorder.cut(1);
  Run run;
  run.values = {elements({3}), elements({3})};
  recorder.release(run);
  CHECK_FALSE(held.deferred());
  CHECK(held->storage == run.values[1]->storage);
}

TEST_CASE("a tensor that an error leaves behind refers to no recorder that has ended") {
  Tensor left;
  {
    Fixture ended;
    left = ended.exp(ended.x);
    CHECK(left.deferred());
  }
  CHECK_FALSE(left.deferred());
}

TEST_CASE("guards fail where a bitwise op has become one of a float") {
  Segment segment;
  segment.symbols = std::make_shared<SymbolTable>();
  const Symbol* n = segment.symbols->input(Scalar::of(int64_t{3}));
  const Symbol* two = segment.symbols->constant(Scalar::of(int64_t{2}));
  segment.symbols->apply(ScalarOp::bit_not, segment.symbols->apply(ScalarOp::pow, two, n), nullptr);
  segment.guards = segment.symbols->guards();
  segment.end_symbol = static_cast<uint32_t>(segment.symbols->size());
  Run run;
  run.symbols.resize(segment.end_symbol);
  run.symbols[n->id] = Scalar::of(int64_t{5});
  CHECK(guards_hold(segment, run));
  run.symbols[n->id] = Scalar::of(int64_t{-1});
  CHECK_THROWS_AS(segment.symbols->evaluate(run.symbols), Failure);
  CHECK_FALSE(guards_hold(segment, run));
}

TEST_CASE("guards compare the bits of what symbols are now") {
  Segment segment;
  segment.symbols = std::make_shared<SymbolTable>();
  const Symbol* n = segment.symbols->input(Scalar::of(int64_t{3}));
  const Symbol* wide = segment.symbols->apply(ScalarOp::gt, n, segment.symbols->constant(Scalar::of(int64_t{2})));
  segment.symbols->pin(wide, "branch");
  segment.guards = segment.symbols->guards();
  segment.end_symbol = static_cast<uint32_t>(segment.symbols->size());
  Run run;
  run.symbols.resize(segment.end_symbol);
  run.symbols[n->id] = Scalar::of(int64_t{7});
  CHECK(guards_hold(segment, run));
  run.symbols[n->id] = Scalar::of(int64_t{1});
  CHECK_FALSE(guards_hold(segment, run));
}
