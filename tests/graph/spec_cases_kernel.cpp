#include "catch.h"
#include "graph/compile.h"
#include "graph/spec.h"
#include "spec_cases.h"
#include "support/build.h"

namespace tsl::graph {

namespace {

Plan plan_of(Graph graph) { return compile(std::move(graph)); }

/// Returns the first instruction of a kind.
Instr& first(Plan& plan, Instr::Kind kind) {
  std::vector<Instr>& program = plan.kernels[0].program;
  return *std::find_if(program.begin(), program.end(), [&](const Instr& instr) { return instr.kind == kind; });
}

Instr& load(Plan& plan) { return first(plan, Instr::Kind::load); }
Instr& map(Plan& plan) { return first(plan, Instr::Kind::map); }
Instr& reduction(Plan& plan) { return first(plan, Instr::Kind::reduce); }
Instr& store(Plan& plan) { return first(plan, Instr::Kind::store); }

Plan position_plan() {
  Graph g;
  const NodeId x = input(g, {4, 5});
  Attrs attrs;
  attrs.axes = {1};
  give(g, g.add(op_def(Op::argmax), {read(g, x)}, attrs, {DType::i64, {4}}, Span{}, 0));
  return plan_of(std::move(g));
}

/// Makes one kernel, which adds a pad of [2, 30] to [4, 50].
Plan pad_plan() {
  Graph g;
  const NodeId x = input(g, {2, 30}), y = input(g, {4, 50});
  Attrs attrs;
  attrs.shape = {4, 50};
  const NodeId frame = g.add(op_def(Op::fill), {number(0.0)}, attrs, {DType::f32, {4, 50}}, Span{}, 0);
  attrs = {};
  attrs.view = {{2, 30}, {50, 1}, 60};
  const NodeId padded =
      g.add(op_def(Op::assign_view), {read(g, frame), read(g, x)}, attrs, {DType::f32, {4, 50}}, Span{}, 0);
  give(g, add(g, Op::add, {read(g, padded), read(g, y)}));
  return plan_of(std::move(g));
}

void add_buffer_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("A buffer holds a node of the graph.", pointwise_plan, [](Plan& p) { p.buffers[0].node = 99; });
  add_case("A buffer has the dtype and the number of elements of its node.", pointwise_plan,
           [](Plan& p) { p.buffers[0].dtype = DType::f64; });
  add_case("A node has one buffer at most.", pointwise_plan, [](Plan& p) { p.buffers.push_back(p.buffers.back()); });
  add_case("The buffers of inputs come first, in order of the inputs.", pointwise_plan,
           [](Plan& p) { p.buffers[0].index = 1; });
  add_case("The buffers of outputs come next, numbered in order.", pointwise_plan,
           [](Plan& p) { p.buffers[2].index = 1; });
  add_case("Every buffer but those of inputs is written in full.", pointwise_plan,
           [](Plan& p) { p.kernels[0].kept[0] = 10; });
  add_case("Every node but inputs is computed by a kernel.", pointwise_plan,
           [](Plan& p) { p.kernels[0].nodes.pop_back(); });
}

void add_whole_kernel_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("A kernel computes nodes of the graph, in order and each once, and no inputs.", pointwise_plan,
           [](Plan& p) { p.kernels[0].nodes.clear(); });
  add_case("A kernel's buffers are the plan's.", pointwise_plan, [](Plan& p) { p.kernels[0].buffers[0] = 99; });
  add_case("A kernel writes no more buffers than it has.", pointwise_plan, [](Plan& p) { p.kernels[0].written = 9; });
  add_case("No kernel writes an input.", pointwise_plan, [](Plan& p) { p.kernels[0].written = 3; });
  add_case("A kernel reads no buffer that it writes.", pointwise_plan,
           [](Plan& p) { p.kernels[0].buffers[0] = p.kernels[0].buffers.back(); });
  add_case("A fused kernel lists each buffer once.", pointwise_plan,
           [](Plan& p) { p.kernels[0].buffers[1] = p.kernels[0].buffers[0]; });
  add_case("Loops have extents that are numbers, and none of 1.", pointwise_plan,
           [](Plan& p) { p.kernels[0].kept.push_back(1); });
  add_case("An op kernel runs one node, which is never fused, and the node's results.", product_plan, [](Plan& p) {
    p.kernels[0].nodes = {1, 2};
  });
  add_case("An op kernel has no loops and no program.", product_plan, [](Plan& p) { p.kernels[0].kept = {4}; });
  constexpr const char* kOpBuffers =
      "An op kernel reads its node's operands in order and writes its node, or the results that are read.";
  add_case(kOpBuffers, product_plan, [](Plan& p) { std::swap(p.kernels[1].buffers[0], p.kernels[1].buffers[1]); });
  add_case(kOpBuffers, sort_plan, [](Plan& p) { std::swap(p.kernels[0].buffers[1], p.kernels[0].buffers[2]); });
  add_case(kOpBuffers, sort_plan, [](Plan& p) { p.kernels[0].results[1] = 0; });
  add_case("A pointwise kernel has no reduced loops.", pointwise_plan, [](Plan& p) { p.kernels[0].reduced = {4}; });
  add_case("A row or reduce kernel reduces, a pointwise kernel does not.", pointwise_plan,
           [](Plan& p) { p.kernels[0].kind = Template::row; });
  add_case("A kernel stores each buffer that it writes once, and no other.", pointwise_plan,
           [](Plan& p) { p.kernels[0].program.pop_back(); });
}

void add_register_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("An instruction's op has the class that its kind runs.", pointwise_plan,
           [](Plan& p) { map(p).op = Op::sum; });
  add_case("A register is defined before it is read; a store defines none.", pointwise_plan,
           [](Plan& p) { map(p).a = 99; });
  add_case("An instruction's buffer is one of its kernel's.", pointwise_plan, [](Plan& p) { load(p).buffer = 99; });
  add_case("Guards of loads and parts, and what chooses, are parts.", pad_plan, [](Plan& p) {
    std::vector<Instr>& program = p.kernels[0].program;
    first(p, Instr::Kind::choose).a = static_cast<Reg>(&load(p) - program.data());
  });
  add_case("A part is a bool, and has a range that starts at offset 0.", pad_plan,
           [](Plan& p) { first(p, Instr::Kind::part).high = first(p, Instr::Kind::part).low; });
  add_case("A choice has the dtype of what it chooses from.", pad_plan,
           [](Plan& p) { first(p, Instr::Kind::choose).operand_dtype = DType::f64; });
  add_case("Loads and gathers have the dtype of the buffer that they read.", pointwise_plan,
           [](Plan& p) { load(p).dtype = DType::f64; });
  add_case("A store has the dtype of the buffer that it writes.", pointwise_plan,
           [](Plan& p) { store(p).dtype = DType::f64; });
  add_case("Registers have the dtype in which they are read.", pointwise_plan,
           [](Plan& p) { map(p).operand_dtype = DType::f64; });
  add_case("A map gives the dtype of its operands; comparisons and predicates give bools.", pointwise_plan,
           [](Plan& p) { map(p).dtype = DType::f64; });
  add_case("A sum or product gives its accumulator's dtype, another reduction what the op table infers.", sum_plan,
           [](Plan& p) { reduction(p).dtype = DType::f64; });
  add_case("any and all reduce bools.", sum_plan, [](Plan& p) { reduction(p).op = Op::any; });
}

void add_level_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("A pointwise kernel runs for every element, never once a row.", pointwise_plan,
           [](Plan& p) { load(p).level = Level::row; });
  add_case("A reduction gives rows of elements, or totals of rows.", sum_plan,
           [](Plan& p) { reduction(p).level = Level::full; });
  add_case("An instruction reads its own level; one of every element may read its row's.", sum_plan,
           [](Plan& p) { map(p).level = Level::row; });
  add_case("Elements read their row's results only in row kernels.", softmax_plan,
           [](Plan& p) { p.kernels[0].kind = Template::reduce; });
  add_case("Only row kernels find positions.", position_plan, [](Plan& p) { p.kernels[0].kind = Template::reduce; });
}

void add_access_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("What accesses a buffer or counts elements has a stride for each loop; nothing else has strides.",
           pointwise_plan, [](Plan& p) { map(p).map.strides = {1}; });
  add_case("Strides are numbers.", pointwise_plan, [](Plan& p) {
    static SymbolTable symbols;
    load(p).map.strides[0] = symbols.input(Scalar::of(int64_t{1}));
  });
  add_case("A row's access has no strides along reduced loops, a total's along none.", sum_plan,
           [](Plan& p) { store(p).map.strides[1] = 1; });
  add_case("An access reaches no element outside its buffer.", pointwise_plan, [](Plan& p) { load(p).map.offset = 1; });
  add_case("An access reaches no element outside its buffer.", pad_plan,
           [](Plan& p) { ++first(p, Instr::Kind::part).high; });
  add_case("A store writes no element twice.", pointwise_plan, [](Plan& p) { store(p).map.strides[0] = 0; });
  add_case("The symbols of a kernel belong to a table of symbols.", pointwise_plan,
           [](Plan& p) { first(p, Instr::Kind::scalar).symbol = orphan(); });
  add_case("An instruction that may fail names a node of its kernel.", quotient_plan,
           [](Plan& p) { map(p).node = kNoNode; });
  add_case("Only code generation contracts a product and a sum.", pointwise_plan,
           [](Plan& p) { map(p).contraction = Instr::Contraction::sum; });
}

}  // namespace

void add_plan_case(std::vector<SpecCase>& cases, const char* rule, Plan (*make)(), std::function<void(Plan&)> spoil) {
  cases.push_back({rule, [make, spoil = std::move(spoil)] {
                     Plan plan = make();
                     REQUIRE_NOTHROW(verify(plan));
                     spoil(plan);
                     verify(plan, "a test");
                   }});
}

Plan pointwise_plan() {
  Graph g;
  const NodeId x = input(g, {4, 5}), y = input(g, {4, 5});
  const NodeId product = add(g, Op::mul, {read(g, x), read(g, y)});
  give(g, add(g, Op::add, {read(g, product), number(2.0)}));
  return plan_of(std::move(g));
}

Plan softmax_plan() {
  Graph g;
  const NodeId e = add(g, Op::exp, {read(g, input(g, {4, 25}))});
  give(g, add(g, Op::div, {read(g, e), spread(g, reduce(g, Op::sum, e, 1), {4, 25})}));
  return plan_of(std::move(g));
}

Plan sum_plan() {
  Graph g;
  give(g, reduce(g, Op::sum, add(g, Op::exp, {read(g, input(g, {4, 25}))}), 1));
  return plan_of(std::move(g));
}

Plan quotient_plan() {
  Graph g;
  const NodeId x = input(g, {4}, DType::i64), y = input(g, {4}, DType::i64);
  give(g, add(g, Op::floordiv, {read(g, x), read(g, y)}));
  return plan_of(std::move(g));
}

void add_kernel_cases(std::vector<SpecCase>& cases) {
  add_buffer_cases(cases);
  add_whole_kernel_cases(cases);
  add_register_cases(cases);
  add_level_cases(cases);
  add_access_cases(cases);
}

}  // namespace tsl::graph
