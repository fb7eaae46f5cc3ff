// The code generator: every op's statement and every form of reduction compile for every dtype and supported
// architecture. (kernel_source.cpp checks the sources. The tests of the language run kernels on a GPU:
// $TSL_TEST_DEVICE, `tsl test --device cuda`.)
#include <algorithm>
#include <functional>
#include <map>

#include "backend/cuda/kernels/generate.h"
#include "graph/compile.h"
#include "support/build.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;
using graph::add;
using graph::give;
using graph::Graph;
using graph::input;
using graph::NodeId;
using graph::read;
using graph::reduce;
using graph::spread;

namespace {

/// Returns the CUDA kernels of all kernels of a graph, with and without vectorized accesses.
std::vector<CudaKernel> kernels_of(Graph graph) {
  std::vector<CudaKernel> out;
  const graph::Plan plan = graph::compile(std::move(graph));
  for (const graph::Kernel& kernel : plan.kernels) {
    if (kernel.kind == graph::Template::op) continue;
    for (bool vectors : {true, false}) {
      for (CudaKernel& cuda_kernel : generate(kernel, plan, vectors).kernels) out.push_back(std::move(cuda_kernel));
    }
  }
  return out;
}

bool has_kernel(const std::vector<CudaKernel>& kernels, const std::string& part) {
  for (const CudaKernel& cuda_kernel : kernels) {
    if (cuda_kernel.name().find(part) != std::string::npos) return true;
  }
  return false;
}

/// Compiles each distinct CUDA kernel for sm_80 and, as TSL does, for sm_90.
void check_compiles(const std::vector<CudaKernel>& kernels) {
  REQUIRE_FALSE(kernels.empty());
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc_for_lists(why);
  if (!nvrtc) TSL_SKIP(why);
  std::map<std::string, KernelSource> sources;
  for (const CudaKernel& cuda_kernel : kernels)
    sources[cuda_kernel.name()] = {cuda_kernel.name(), cuda_kernel.source()};
  std::vector<const KernelSource*> unique;
  for (const auto& [name, source] : sources) unique.push_back(&source);
  const cuda::Program generated = program_of(std::move(unique));
  CHECK_NOTHROW(nvrtc->compile(generated, "sm_80", fast_options(*nvrtc)));
  CHECK_NOTHROW(nvrtc->compile(generated, "sm_90"));
}

void append(std::vector<CudaKernel>& to, std::vector<CudaKernel> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

Graph softmax(int64_t rows, int64_t columns, DType dtype = DType::f32) {
  Graph g;
  const Shape shape{rows, columns};
  const NodeId x = input(g, shape, dtype), greatest = reduce(g, Op::max, x, 1);
  const NodeId e = add(g, Op::exp, {read(g, add(g, Op::sub, {read(g, x), spread(g, greatest, shape)}))});
  give(g, add(g, Op::div, {read(g, e), spread(g, reduce(g, Op::sum, e, 1), shape)}));
  return g;
}

NodeId place(Graph& g, Op op, NodeId x, int axis) {
  Attrs attrs;
  attrs.axes = {axis};
  Shape shape = g[x].shape;
  shape.erase(axis);
  return g.add(op_def(op), {read(g, x)}, attrs, {DType::i64, shape}, Span{}, g.size());
}

NodeId source(Graph& g, Op op, const Shape& shape, DType dtype) {
  Attrs attrs;
  if (op == Op::iota) attrs.count = shape[0];
  else attrs.shape = shape;
  attrs.dtype = dtype;
  graph::Arg first, second;
  first.scalar = second.scalar = op == Op::iota && is_float(dtype) ? Scalar::of(1.0) : Scalar::of(int64_t{1});
  return g.add(op_def(op), {first, second}, attrs, {dtype, shape}, Span{}, g.size());
}

constexpr DType kAll[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16, DType::i32, DType::i64, DType::f16,
                          DType::bf16,    DType::f32, DType::f64, DType::u16, DType::u32, DType::u64};

bool is_defined(const OpDef& op, DType dtype) {
  switch (op.dtype_rule) {
    case DTypeRule::floating:
    case DTypeRule::predicate: return is_float(dtype);
    case DTypeRule::bitwise: return !is_float(dtype);
    case DTypeRule::shift: return is_integer(dtype);
    case DTypeRule::compare: return true;
    default: return dtype != DType::boolean;
  }
}

}  // namespace

TEST_CASE("every elementwise op has a statement that compiles, for every dtype") {
  for (DType dtype : kAll) {
    Graph g;
    const NodeId a = input(g, {5, 12}, dtype), b = input(g, {5, 12}, dtype), c = input(g, {5, 12}, DType::boolean);
    for (const OpDef& op : op_table()) {
      if (!is_elementwise(op) || op.op == Op::copy || op.op == Op::where || !is_defined(op, dtype)) continue;
      Attrs attrs;
      if (op.op == Op::cast) {
        for (DType to : kAll) {
          attrs.dtype = to;
          if (to != dtype) give(g, g.add(op, {read(g, a)}, attrs, {to, g[a].shape}, Span{}, g.size()));
        }
        continue;
      }
      const bool asks = op.dtype_rule == DTypeRule::compare || op.dtype_rule == DTypeRule::predicate;
      std::vector<graph::Arg> args{read(g, a)};
      if (op.arity > 1) args.push_back(read(g, b));
      give(g, g.add(op, args, attrs, {asks ? DType::boolean : dtype, g[a].shape}, Span{}, g.size()));
    }
    give(g, g.add(op_def(Op::where), {read(g, c), read(g, a), read(g, b)}, {}, {dtype, g[a].shape}, Span{}, g.size()));
    INFO(name_of(dtype));
    check_compiles(kernels_of(std::move(g)));
  }
}

TEST_CASE("sources compile") {
  std::vector<CudaKernel> kernels;
  for (DType dtype : kAll) {
    Graph g;
    if (dtype != DType::boolean) give(g, source(g, Op::iota, {40}, dtype));
    if (is_float(dtype)) {
      give(g, source(g, Op::random_uniform, {40}, dtype));
      give(g, source(g, Op::random_normal, {40}, dtype));
    }
    if (dtype == DType::i64) give(g, source(g, Op::random_bits, {40}, dtype));
    if (!g.outputs.empty()) append(kernels, kernels_of(std::move(g)));
  }
  check_compiles(kernels);
}

TEST_CASE("rows: kept in registers, computed again, and longer than a block") {
  std::vector<CudaKernel> kernels;
  for (int64_t columns : {1, 16, 1000, 1024, 3000, 8000, 40000, 2000000})
    append(kernels, kernels_of(softmax(9, columns)));
  for (int64_t columns : {16, 1000, 2000, 4096}) append(kernels, kernels_of(softmax(9000, columns)));
  for (int64_t columns : {1024, 4096, 9000, 50258}) append(kernels, kernels_of(softmax(9000, columns, DType::bf16)));
  append(kernels, kernels_of(softmax(9, 100, DType::bf16)));
  append(kernels, kernels_of(softmax(9, 100, DType::f64)));
  CHECK(has_kernel(kernels, "_t32r32__"));   // 1000 elements are at most 32 for each thread of a warp
  CHECK(has_kernel(kernels, "_t128r32__"));  // and 4096 for each of 128
  check_compiles(kernels);
}

TEST_CASE("rows that share warps compile, with every number of lanes and neighbours") {
  std::vector<CudaKernel> kernels;
  for (const int64_t length : {1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 100, 128}) {
    append(kernels, kernels_of(softmax(9000, length)));
    for (const DType dtype : {DType::f16, DType::f64}) {
      Graph g;
      const NodeId x = input(g, {9000, Dim(length)}, dtype);
      give(g, reduce(g, Op::sum, x, 1, false));
      give(g, place(g, Op::argmax, x, 1));
      append(kernels, kernels_of(std::move(g)));
    }
    Graph g;
    const NodeId x = input(g, {3000, Dim(length), 3});
    give(g, reduce(g, Op::max, x, 1, false));
    append(kernels, kernels_of(std::move(g)));
  }
  for (const auto& [length, columns] :
       {std::pair{40'000, 3}, {40'000, 31}, {900'000, 32}, {900'000, 20}, {900'000, 68}}) {
    Graph g;
    const NodeId x = input(g, {Dim(length), Dim(columns)});
    give(g, reduce(g, Op::sum, x, 0, false));
    give(g, place(g, Op::argmin, x, 0));
    append(kernels, kernels_of(std::move(g)));
  }
  CHECK(has_kernel(kernels, "_t2r2__"));         // 16 elements of 4 bytes: two threads with two accesses each
  CHECK(has_kernel(kernels, "columns3x128__"));  // whole rows
  CHECK(has_kernel(kernels, "columns32x64__"));  // four columns a thread
  check_compiles(kernels);
}

TEST_CASE("columns that share most of what they compute have one thread") {
  for (int64_t others : {3000, 9000}) {  // one block of the reduction order, and several
    Graph g;
    const Shape pairs{100, Dim(others), 3};
    const NodeId x = input(g, {100, 1, 3}), y = input(g, {1, Dim(others), 3});
    const NodeId u = input(g, {100, 1, 1}), w = input(g, {1, Dim(others), 1});
    const NodeId d = add(g, Op::sub, {spread(g, x, pairs), spread(g, y, pairs)});
    const NodeId apart = add(g, Op::sub, {spread(g, u, pairs), spread(g, w, pairs)});
    const NodeId near = add(g, Op::exp, {read(g, add(g, Op::neg, {read(g, apart)}))});
    give(g, reduce(g, Op::sum, add(g, Op::mul, {read(g, d), read(g, near)}), 1, false));
    const std::vector<CudaKernel> kernels = kernels_of(std::move(g));
    CHECK(has_kernel(kernels, "columns3x128"));
    for (const CudaKernel& cuda_kernel : kernels) {
      const std::string source = cuda_kernel.source();
      CHECK(source.find("s_exp(") < source.find("for (int v = 0;"));
    }
    check_compiles(kernels);
  }
}

TEST_CASE("columns that are stored, too, are read and written by vectors, also those of a concat") {
  for (const bool is_concat : {false, true}) {
    Graph g;
    const Shape shape{8192, 2304};
    std::vector<graph::Arg> operands;
    for (int i = 0; i < 3; ++i) operands.push_back(read(g, input(g, {8192, is_concat ? 768 : 2304}, DType::bf16)));
    NodeId y = 0;
    if (is_concat) {
      Attrs attrs;
      attrs.axis = 1;
      y = g.add(op_def(Op::concat), operands, attrs, {DType::bf16, shape}, Span{}, g.size());
    } else {
      y = add(g, Op::mul, {operands[0], operands[1]});
    }
    const NodeId twice = add(g, Op::mul, {read(g, y), graph::number(2)});
    give(g, twice);
    give(g, reduce(g, Op::sum, twice, 0, false));
    const std::vector<CudaKernel> kernels = kernels_of(std::move(g));
    REQUIRE(has_kernel(kernels, "columns32x64"));
    const std::string source = kernels[0].source();
    CHECK(source.find("store_vector(") != std::string::npos);
    CHECK((source.find(") load_vector(ahead") != std::string::npos) == is_concat);  // where the part holds
    CHECK(source.find("ahead") < source.find("store_vector("));
    check_compiles(kernels);
  }
}

TEST_CASE("reductions: rows, columns, blocks, places and totals") {
  std::vector<CudaKernel> kernels;
  const auto reduced = [&](const Shape& shape, const std::function<NodeId(Graph&, NodeId)>& of) {
    Graph g;
    give(g, of(g, input(g, shape)));
    append(kernels, kernels_of(std::move(g)));
  };
  reduced({300, 160}, [](Graph& g, NodeId x) { return reduce(g, Op::sum, x, 0, false); });
  reduced({9000, 160}, [](Graph& g, NodeId x) { return reduce(g, Op::max, x, 0, false); });
  CHECK(has_kernel(kernels, "columns"));
  reduced({3, 900000}, [](Graph& g, NodeId x) { return reduce(g, Op::prod, x, 1, false); });
  CHECK(has_kernel(kernels, "blocks"));
  for (int64_t length : {20'000, 200'000, 2'000'000, 20'000'000, 1'500'000'000}) {
    reduced({2, length}, [](Graph& g, NodeId x) { return reduce(g, Op::min, x, 1, false); });
  }
  reduced({5, 700}, [](Graph& g, NodeId x) { return place(g, Op::argmax, x, 1); });
  reduced({5, 9000}, [](Graph& g, NodeId x) { return place(g, Op::argmin, x, 1); });
  for (int64_t rows : {8, 5000}) {
    reduced({rows, 16}, [](Graph& g, NodeId x) {
      const NodeId sums = reduce(g, Op::sum, add(g, Op::exp, {read(g, x)}), 1, false);
      return reduce(g, Op::sum, add(g, Op::log, {read(g, sums)}), 0, false);
    });
  }
  CHECK(has_kernel(kernels, "total"));
  check_compiles(kernels);
}

TEST_CASE("of several columns a thread, each names its own elements in a report") {
  Graph g;
  const NodeId x = input(g, {9000, 8192}, DType::i32), y = input(g, {9000, 8192}, DType::i32);
  const NodeId rest = add(g, Op::mod, {read(g, x), read(g, y)});
  Attrs attrs;
  attrs.axes = {0};
  give(g, g.add(op_def(Op::sum), {read(g, rest)}, attrs, {DType::i64, Shape{8192}}, Span{}, g.size()));
  const std::vector<CudaKernel> kernels = kernels_of(std::move(g));
  REQUIRE(has_kernel(kernels, "columns128x16"));
  for (const CudaKernel& cuda_kernel : kernels) {
    if (cuda_kernel.name().find("columns128x16") != std::string::npos)
      CHECK(cuda_kernel.source().find("(long long)(row + v) * ") != std::string::npos);
  }
  check_compiles(kernels);
}

TEST_CASE("long rows and columns are one launch: the last block of threads brings the results of blocks together") {
  std::vector<CudaKernel> kernels;
  const auto reduced = [&](DType dtype, int64_t results, int axis) {
    Graph g;
    const NodeId x = input(g, axis == 1 ? Shape{2, results * 4096} : Shape{results * 4096, 8}, dtype);
    for (const Op op : {Op::sum, Op::max}) give(g, reduce(g, op, x, axis, false));
    if (dtype != DType::bf16) give(g, reduce(g, Op::logsumexp, x, axis, false));  // of 16 bits it is of floats
    const graph::Plan plan = graph::compile(std::move(g));
    REQUIRE(plan.kernels.size() == 1);
    for (const bool vectorized : {true, false}) {
      GeneratedKernels generated = generate(plan.kernels[0], plan, vectorized);
      INFO(name_of(dtype) << " " << results << " along " << axis);
      CHECK(generated.kernels.size() == 1);
      CHECK(generated.arrivals > 0);
      append(kernels, std::move(generated.kernels));
    }
  };
  for (const int axis : {0, 1}) {
    for (const int64_t results : {int64_t{5}, int64_t{4096}, int64_t{4097}, int64_t{4096} * 4096 + 1})
      reduced(DType::f32, results, axis);
    for (const DType dtype : {DType::bf16, DType::f64}) reduced(dtype, 62'500, axis);
  }
  check_compiles(kernels);
}

TEST_CASE("arg reductions are one launch over many blocks of threads, alone or beside other reductions") {
  std::vector<CudaKernel> kernels;
  const auto reduced = [&](DType dtype, int64_t results, int axis, bool beside_others) {
    Graph g;
    const NodeId x = input(g, axis == 1 ? Shape{2, results * 4096} : Shape{results * 4096, 256}, dtype);
    for (const Op op : {Op::argmax, Op::argmin}) give(g, place(g, op, x, axis));
    if (beside_others) {
      for (const Op op : {Op::max, Op::logsumexp}) give(g, reduce(g, op, x, axis, false));
    }
    const graph::Plan plan = graph::compile(std::move(g));
    for (const bool vectorized : {true, false}) {
      GeneratedKernels generated = generate(plan.kernels[0], plan, vectorized);
      INFO(name_of(dtype) << " " << results << " along " << axis);
      CHECK(generated.kernels.size() == 1);
      CHECK(generated.kernels[0].blocks > (axis == 1 ? 2 : 8));  // more than one for each row, or strip of columns
      CHECK(generated.arrivals > 0);
      append(kernels, std::move(generated.kernels));
    }
  };
  for (const int axis : {0, 1}) {
    for (const int64_t results : {int64_t{5}, int64_t{4097}, int64_t{4096} * 4096 + 1})
      reduced(DType::f32, results, axis, false);
    for (const DType dtype : {DType::boolean, DType::bf16, DType::i64, DType::f64}) reduced(dtype, 300, axis, false);
    reduced(DType::f32, 300, axis, true);
  }
  check_compiles(kernels);
}

TEST_CASE(
    "totals over many rows: one block of threads for as many blocks as it has groups; more are first reduced by "
    "several") {
  constexpr int64_t kRows = 4096 * 8;
  for (const int64_t rows : {kRows, kRows + 1}) {
    Graph g;
    const NodeId x = input(g, {rows, 100});
    give(g, reduce(g, Op::sum, reduce(g, Op::max, x, 1, false), 0, false));
    const std::vector<CudaKernel> kernels = kernels_of(std::move(g));
    INFO(rows);
    CHECK(has_kernel(kernels, "partial") == (rows > kRows));
    CHECK(has_kernel(kernels, "total"));
    check_compiles(kernels);
  }
}

TEST_CASE("logsumexp of more than a block: rows, columns, blocks, rows that are read again, and totals") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<CudaKernel> kernels;
    const auto reduced = [&](const Shape& shape, const std::function<NodeId(Graph&, NodeId)>& of) {
      Graph g;
      give(g, of(g, input(g, shape, dtype)));
      append(kernels, kernels_of(std::move(g)));
    };
    const auto along = [](int axis) {
      return [axis](Graph& g, NodeId x) { return reduce(g, Op::logsumexp, x, axis, false); };
    };
    reduced({8192, 50257}, along(1));
    CHECK(kernels.size() == 2);  // one each, with and without vectorized accesses
    reduced({8192, 8192}, along(1));
    reduced({20, 50257}, along(1));
    CHECK(has_kernel(kernels, "blocks"));
    reduced({2, 20000000}, along(1));
    reduced({9000, 160}, along(0));
    CHECK(has_kernel(kernels, "columns"));
    for (const Shape& shape :
         {Shape{8192, 50000}, Shape{64, 50257}, Shape{64, 8192}}) {  // the slope, with a sum on the side
      reduced(shape, [&](Graph& g, NodeId x) {
        const graph::Arg total = spread(g, reduce(g, Op::logsumexp, x, 1), shape),
                         sum = spread(g, reduce(g, Op::sum, x, 1), shape);
        return add(g, Op::mul, {read(g, add(g, Op::exp, {read(g, add(g, Op::sub, {read(g, x), total}))})), sum});
      });
    }
    for (const int64_t rows : {int64_t{5000}, int64_t{5000000}}) {
      reduced({rows, 16},
              [](Graph& g, NodeId x) { return reduce(g, Op::logsumexp, reduce(g, Op::sum, x, 1, false), 0, false); });
    }
    CHECK(has_kernel(kernels, "total"));
    for (const int axis : {0, 1}) {  // with others in the same kernel
      Graph g;
      const NodeId x = input(g, {5000, 5000}, dtype);
      for (const Op op : {Op::logsumexp, Op::sum, Op::max}) give(g, reduce(g, op, x, axis, false));
      give(g, reduce(g, Op::logsumexp, add(g, Op::neg, {read(g, x)}), axis, false));
      append(kernels, kernels_of(std::move(g)));
    }
    INFO(name_of(dtype));
    check_compiles(kernels);
  }
  Graph g;
  const NodeId x = input(g, {5000, 8192}, DType::f16);
  Attrs attrs;
  attrs.dtype = DType::f32;
  const NodeId vectorized =
      g.add(op_def(Op::cast), {read(g, x)}, attrs, {DType::f32, Shape{5000, 8192}}, Span{}, g.size());
  give(g, reduce(g, Op::logsumexp, vectorized, 1, false));
  check_compiles(kernels_of(std::move(g)));
}

TEST_CASE("reductions of every dtype") {
  for (DType dtype : kAll) {
    Graph g;
    const NodeId x = input(g, {7, 33}, dtype);
    for (Op op : {Op::sum, Op::prod, Op::max, Op::min, Op::any, Op::all}) {
      Attrs attrs;
      attrs.axes = {1};
      const bool accumulates = op == Op::sum || op == Op::prod, asks = op == Op::any || op == Op::all;
      const DType to = asks ? DType::boolean : accumulates ? total_of(dtype) : dtype;
      give(g, g.add(op_def(op), {read(g, x)}, attrs, {to, Shape{7}}, Span{}, g.size()));
    }
    give(g, place(g, Op::argmax, x, 1));
    INFO(name_of(dtype));
    check_compiles(kernels_of(std::move(g)));
  }
}

TEST_CASE("a kernel over parts has a branch for each, which computes nothing for the others") {
  // Returns how often the text stands in the kernel that computes a concat of `parts` operands.
  const auto occurrences = [](int parts, bool vectorized, const std::string& text) {
    Graph g;
    std::vector<graph::Arg> operands;
    for (int i = 0; i < parts; ++i) {
      const NodeId x = input(g, {2048, 1024});
      operands.push_back(read(g, add(g, Op::relu, {read(g, x)})));
    }
    Attrs attrs;
    attrs.axis = 1;
    const NodeId joined =
        g.add(op_def(Op::concat), operands, attrs, {DType::f32, Shape{2048, parts * 1024}}, Span{}, g.size());
    give(g, add(g, Op::neg, {read(g, joined)}));
    const graph::Plan plan = graph::compile(std::move(g));
    REQUIRE(plan.kernels.size() == 1);
    const GeneratedKernels generated = generate(plan.kernels[0], plan, vectorized);
    REQUIRE(generated.kernels.size() == 1);
    const std::string& body = generated.kernels[0].text.body;
    size_t count = 0;
    for (size_t at = body.find(text); at != std::string::npos; at = body.find(text, at + 1)) ++count;
    return count;
  };
  for (const bool vectorized : {true, false}) {
    CHECK(occurrences(2, vectorized, "s_neg(") == 3);                     // a branch for each part, and one for both
    CHECK(occurrences(2, vectorized, "s_relu(") == 4);                    // two of them in the last branch
    CHECK(occurrences(6, vectorized, "s_neg(") == (vectorized ? 1 : 2));  // too many parts; of narrow ones some apart
  }
  CHECK(occurrences(2, true, "load_vector(") == 2);
}

TEST_CASE("a narrow operand that is permuted passes through shared memory in tiles of long runs") {
  /// Returns the kernels of a function of a permuted input, beside another input in the result's order.
  const auto permuted = [](const Shape& shape, const std::vector<int>& axes, DType dtype) {
    Graph g;
    graph::Arg across = read(g, input(g, shape, dtype));
    across.layout = permute(across.layout, axes);
    const Shape result = across.layout.shape;
    give(g, add(g, Op::maximum, {across, read(g, input(g, result, dtype))}));
    return kernels_of(std::move(g));
  };
  const auto is_tiled = [](const std::vector<CudaKernel>& kernels) { return has_kernel(kernels, "permuted"); };
  for (const DType dtype : {DType::boolean, DType::f16, DType::f32, DType::f64}) {
    for (const int64_t rows : {100000, 100001}) {  // with vectors, and without
      const std::vector<CudaKernel> kernels = permuted({rows, 6}, {1, 0}, dtype);
      CHECK(is_tiled(kernels));
      check_compiles(kernels);
    }
    const std::vector<CudaKernel> kernels = permuted({7, 5, 61, 36, 8}, {3, 0, 4, 1, 2}, dtype);
    CHECK(is_tiled(kernels));
    check_compiles(kernels);
  }
  CHECK_FALSE(is_tiled(permuted({6, 100000}, {1, 0}, DType::f32)));        // a block of threads reads whole sectors
  CHECK_FALSE(is_tiled(permuted({1000, 1000}, {1, 0}, DType::f32)));       // squares
  CHECK_FALSE(is_tiled(permuted({100, 100, 64}, {1, 0, 2}, DType::f32)));  // rows stay rows
  CHECK_FALSE(is_tiled(permuted({1000, 6}, {1, 0}, DType::f32)));          // few elements
}

TEST_CASE("gathers, negative strides and offsets of a run") {
  Graph g;
  SymbolTable symbols;
  const NodeId x = input(g, {90, 8}), index = input(g, {20}, DType::i64);
  Attrs attrs;
  attrs.batch = 0;
  give(g, g.add(op_def(Op::take), {read(g, x), read(g, index)}, attrs, {DType::f32, Shape{20, 8}}, Span{}, g.size()));
  graph::Arg flipped = read(g, x), shifted = read(g, x);
  flipped.layout = slice(flipped.layout, 0, 89, 90, -1);
  shifted.layout.shape[0] = 10;
  shifted.layout.offset = Dim(symbols.input(Scalar::of(int64_t{16})));
  give(g, add(g, Op::exp, {flipped}));
  give(g, add(g, Op::exp, {shifted}));
  const std::vector<CudaKernel> kernels = kernels_of(std::move(g));
  bool has_symbol = false;
  for (const CudaKernel& cuda_kernel : kernels) {
    for (const KernelArg& argument : cuda_kernel.arguments) has_symbol |= argument.symbol != nullptr;
  }
  CHECK(has_symbol);
  check_compiles(kernels);
}
