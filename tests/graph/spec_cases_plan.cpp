#include "graph/compile.h"
#include "graph/spec.h"
#include "spec_cases.h"
#include "support/build.h"

namespace tsl::graph {

namespace {

const Shape kSquare{8, 8};

NodeId product(Graph& g, NodeId a, NodeId b) { return add(g, Op::matmul, {read(g, a), read(g, b)}); }

/// The buffers of product_plan().
constexpr uint32_t kX = 0, kA = 2, kB = 3;

Plan assign_plan() {
  Graph g;
  const NodeId x = input(g, {4}), value = input(g, {1});
  Attrs attrs;
  attrs.view = Layout::contiguous({1});
  give(g, g.add(op_def(Op::assign_view), {read(g, x), read(g, value)}, attrs, {DType::f32, {4}}, Span{}, 0));
  return compile(std::move(g));
}

/// Makes p - a b, whose output may reuse the memory of p.
Plan update_plan() {
  Graph g;
  const NodeId p = input(g, kSquare), a = input(g, {8, 2}), b = input(g, {2, 8});
  const NodeId change =
      g.add(op_def(Op::matmul), {read(g, a), read(g, b)}, {}, {DType::f32, kSquare}, Span{}, g.size());
  give(g, add(g, Op::sub, {read(g, p), read(g, change)}));
  return compile(std::move(g));
}

/// Makes the sum of x and its transpose.
Plan turned_plan() {
  Graph g;
  const NodeId x = input(g, kSquare);
  Arg turned = read(g, x);
  const int order[] = {1, 0};
  turned.layout = permute(turned.layout, order);
  give(g, add(g, Op::add, {read(g, x), turned}));
  return compile(std::move(g));
}

Plan kept_plan() {
  Graph g;
  const NodeId x = input(g, kSquare);
  give(g, add(g, Op::exp, {read(g, x)}));
  give(g, x);
  return compile(std::move(g));
}

/// Sorts, with an input that nothing reads.
Plan unread_plan() {
  Graph g;
  const NodeId x = input(g, kSquare);
  input(g, kSquare);
  const Attrs attrs{.axis = 1, .count = 8};
  const NodeId sorted = g.add(op_def(Op::sort), {read(g, x)}, attrs, {DType::f32, kSquare}, Span{}, g.size());
  give(g, g.add_result(sorted, 0, {DType::f32, kSquare}));
  return compile(std::move(g));
}

/// Makes a product of what may fail, with an input that nothing reads.
Plan fallible_product_plan() {
  Graph g;
  const NodeId x = input(g, kSquare);
  input(g, kSquare);
  const NodeId root = g.add(op_def(Op::cholesky), {read(g, x)}, {}, {DType::f32, kSquare}, Span{}, g.size());
  give(g, product(g, root, x));
  return compile(std::move(g));
}

/// Makes a column that is not square, between squares.
Plan column_plan() {
  Graph g;
  const NodeId x = input(g, kSquare), w = input(g, {8, 1});
  const NodeId a = product(g, x, x);
  const NodeId column = g.add(op_def(Op::matmul), {read(g, a), read(g, w)}, {}, {DType::f32, {8, 1}}, Span{}, 9);
  give(g, g.add(op_def(Op::matmul), {read(g, a), read(g, column)}, {}, {DType::f32, {8, 1}}, Span{}, 9));
  return compile(std::move(g));
}

void add_launch_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("A launch runs kernels of the plan, at least one.", product_plan,
           [](Plan& p) { p.launches.emplace_back(); });
  add_case("A launch of several kernels runs one program, and no op's own kernel.", product_plan, [](Plan& p) {
    p.launches = {{0, 1}, {2}, {3}};
  });
  add_case("Every kernel is launched once.", product_plan, [](Plan& p) { p.launches.pop_back(); });
  add_case("A kernel is launched after all that write what it reads.", product_plan,
           [](Plan& p) { std::swap(p.launches[0], p.launches[1]); });
  add_case("Kernels that write one buffer are launched in order, unless they write parts of a concat.", assign_plan,
           [](Plan& p) { std::swap(p.launches[0], p.launches[1]); });
}

void add_output_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("A plan has the outputs of its graph.", product_plan, [](Plan& p) { p.outputs.pop_back(); });
  add_case("There are donors for outputs only.", product_plan, [](Plan& p) { p.donors.resize(9); });
  add_case("A plan may fail if one of its nodes may.", product_plan, [](Plan& p) { p.may_fail = true; });
  add_case("An output shows an input's buffer or an output's.", product_plan,
           [](Plan& p) { p.outputs[0].buffer = kA; });
  add_case("Output i of the plan shows output i of the graph.", product_plan,
           [](Plan& p) { p.outputs[0].buffer = kX; });
  add_case("An output has the dtype of its buffer.", product_plan, [](Plan& p) { p.outputs[0].dtype = DType::f64; });
}

void add_memory_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("A buffer lives as long as kernels use it.", product_plan, [](Plan& p) { p.buffers[kA].last = 0; });
  add_case("A buffer that others alias aliases no other buffer.", product_plan,
           [](Plan& p) { p.buffers[kA].alias_of = 99; });
  add_case("Only a temporary aliases another buffer, which is no input.", product_plan,
           [](Plan& p) { p.buffers[kA].alias_of = kX; });
  add_case("A buffer has the dtype and the number of elements of the one it aliases.", column_plan,
           [](Plan& p) { p.buffers.back().alias_of = static_cast<uint32_t>(p.buffers.size() - 2); });
  add_case("Buffers that alias one buffer use it in turn; one kernel may overwrite its operand element by element.",
           product_plan, [](Plan& p) { p.buffers[kB].alias_of = kA; });
  add_case("A temporary begins at an aligned offset of the arena.", product_plan,
           [](Plan& p) { p.buffers[kA].offset = 1; });
  add_case("A temporary ends within the arena.", product_plan, [](Plan& p) { p.arena_bytes = 0; });
  add_case("Temporaries that live at the same time do not overlap in the arena.", product_plan,
           [](Plan& p) { p.buffers[kB].offset = p.buffers[kA].offset; });
}

void add_donor_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const char* rule, Plan (*make)(), void (*spoil)(Plan&)) {
    add_plan_case(cases, rule, make, spoil);
  };
  add_case("A donor is an input of the plan.", update_plan, [](Plan& p) { p.donors[0] = {99}; });
  add_case("An output has few donors, each once.", update_plan, [](Plan& p) { p.donors[0] = {0, 0}; });
  add_case("A donor is no output of the plan.", kept_plan, [](Plan& p) { p.donors[0] = {0}; });
  add_case("A donor has the dtype and the number of elements of the output, without gaps.", update_plan,
           [](Plan& p) { p.donors[0] = {1}; });
  constexpr const char* kIsRead =
      "A donor is read before the output, or what aliases it, is written; one kernel may overwrite it element by "
      "element.";
  add_case(kIsRead, turned_plan, [](Plan& p) { p.donors[0] = {0}; });
  add_case(kIsRead, update_plan, [](Plan& p) { p.buffers.back().alias_of = p.outputs[0].buffer; });
  add_case("An output with donors, and what aliases it, is written after all that may fail.", unread_plan,
           [](Plan& p) { p.donors[0] = {1}; });
  add_case("In a plan that may fail, no op kernel writes to a donor's memory.", fallible_product_plan,
           [](Plan& p) { p.donors[0] = {1}; });
}

}  // namespace

Plan product_plan() {
  Graph g;
  const NodeId x = input(g, kSquare);
  const NodeId a = product(g, x, x), b = product(g, a, x), c = product(g, a, b);
  give(g, product(g, c, x));
  return compile(std::move(g));
}

Plan sort_plan() {
  Graph g;
  const NodeId x = input(g, {4});
  const Attrs attrs{.axis = 0, .count = 4};
  const NodeId sorted = g.add(op_def(Op::sort), {read(g, x)}, attrs, {DType::f32, {4}}, Span{}, g.size());
  give(g, g.add_result(sorted, 0, {DType::f32, {4}}));
  give(g, g.add_result(sorted, 1, {DType::i64, {4}}));
  return compile(std::move(g));
}

void add_plan_cases(std::vector<SpecCase>& cases) {
  add_launch_cases(cases);
  add_output_cases(cases);
  add_memory_cases(cases);
  add_donor_cases(cases);
}

}  // namespace tsl::graph
