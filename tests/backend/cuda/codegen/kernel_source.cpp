// Tests the generated source of kernels. Needs no GPU; the source is compiled if NVRTC is installed.
#include <algorithm>
#include <set>

#include "backend/cuda/codegen/multi_tensor.h"
#include "backend/cuda/codegen/reduce_shape.h"
#include "backend/cuda/codegen/writer.h"
#include "backend/cuda/kernels/generate.h"
#include "graph/compile.h"
#include "support/build.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;
using namespace tsl::graph;

namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

bool contains(const std::string& text, const std::string& part) { return count(text, part) > 0; }

/// Returns the CUDA kernels of all kernels of a plan, after checks that apply to every CUDA kernel.
std::vector<CudaKernel> kernels_of(const Plan& plan, bool vectors = true) {
  std::vector<CudaKernel> kernels;
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.kind == Template::op) continue;
    for (CudaKernel& cuda_kernel : generate(kernel, plan, vectors).kernels) kernels.push_back(std::move(cuda_kernel));
  }
  for (const CudaKernel& cuda_kernel : kernels) {
    INFO(cuda_kernel.source());
    CHECK(contains(cuda_kernel.source(), "extern \"C\" __global__"));
    CHECK(count(cuda_kernel.source(), cuda_kernel.name() + "(") == 1);
    CHECK(count(cuda_kernel.source(), "{") == count(cuda_kernel.source(), "}"));
    const std::vector<std::string> parameters = parameters_of(cuda_kernel.text);
    CHECK(parameters.size() == cuda_kernel.arguments.size());
    for (const std::string& parameter : parameters) {
      const std::string name = parameter.substr(parameter.rfind(' ') + 1);
      CHECK(contains(cuda_kernel.text.body, name));
    }
    CHECK(cuda_kernel.blocks > 0);
    CHECK(cuda_kernel.threads_x * cuda_kernel.threads_y <= 1024);
  }
  return kernels;
}

Plan plan_of(Graph graph) { return graph::compile(std::move(graph)); }

/// Makes a * b + c.
Plan scaled_sum(const Shape& shape, DType dtype = DType::f32) {
  Graph g;
  const NodeId a = input(g, shape, dtype), b = input(g, shape, dtype), c = input(g, shape, dtype);
  give(g, add(g, Op::add, {read(g, add(g, Op::mul, {read(g, a), read(g, b)})), read(g, c)}));
  return plan_of(std::move(g));
}

NodeId converted(Graph& g, NodeId x, DType dtype) {
  if (g[x].dtype == dtype) return x;
  Attrs attrs;
  attrs.dtype = dtype;
  return g.add(op_def(Op::cast), {read(g, x)}, attrs, {dtype, g[x].shape}, Span{}, g.size());
}

/// Makes (rows' sum of (c - a * a * b)) / 2 + a * b and more, under fast numerics: products with one reader, and with
/// two.
Plan contracted(const Shape& shape, DType dtype) {
  Graph g;
  const NodeId a = input(g, shape, dtype), b = input(g, shape, dtype), c = input(g, shape, dtype);
  const NodeId squares = add(g, Op::mul, {read(g, a), read(g, a)}),
               products = add(g, Op::mul, {read(g, squares), read(g, b)});
  const NodeId rest = add(g, Op::sub, {read(g, c), read(g, products)});
  const NodeId sums = converted(g, reduce(g, Op::sum, rest, 1), dtype);  // of integers they are i64
  const Op scale = is_float(dtype) ? Op::div : Op::mul;                  // the quotient of integers is a float
  const NodeId quotient = add(g, scale, {spread(g, sums, shape), number(2.0)});
  const NodeId others = add(g, Op::mul, {read(g, a), read(g, b)});
  give(g, add(g, Op::add, {read(g, quotient), read(g, others)}));
  const NodeId twice = add(g, Op::mul, {read(g, c), read(g, c)});
  give(g, add(g, Op::sub, {read(g, twice), read(g, add(g, Op::add, {read(g, twice), read(g, quotient)}))}));
  return graph::compile(std::move(g), {.fast_numerics = true});
}

/// Makes d * sum(exp(d)) * w, d = x - sum(x²), of bf16 numbers, in f32.
Plan normalized(const Shape& shape) {
  Graph g;
  const NodeId x = converted(g, input(g, shape, DType::bf16), DType::f32);
  const NodeId w = converted(g, input(g, {shape[1]}, DType::bf16), DType::f32);
  const NodeId squares = reduce(g, Op::sum, add(g, Op::mul, {read(g, x), read(g, x)}), 1);
  const NodeId centred = add(g, Op::sub, {read(g, x), spread(g, squares, shape)});
  const NodeId sum = reduce(g, Op::sum, add(g, Op::exp, {read(g, centred)}), 1);
  const NodeId scaled = add(g, Op::mul, {read(g, centred), spread(g, sum, shape)});
  give(g, converted(g, add(g, Op::mul, {read(g, scaled), spread(g, w, shape)}), DType::bf16));
  return plan_of(std::move(g));
}

Plan softmax(const Shape& shape) {
  Graph g;
  const NodeId x = input(g, shape);
  const NodeId e =
      add(g, Op::exp, {read(g, add(g, Op::sub, {read(g, x), spread(g, reduce(g, Op::max, x, 1), shape)}))});
  give(g, add(g, Op::div, {read(g, e), spread(g, reduce(g, Op::sum, e, 1), shape)}));
  return plan_of(std::move(g));
}

/// Makes a reduction of a square, along `axis`.
Plan reduced(Op op, const Shape& shape, int axis, DType dtype = DType::f32) {
  Graph g;
  const NodeId x = input(g, shape, dtype);
  const NodeId squares = add(g, Op::mul, {read(g, x), read(g, x)});
  give(g, reduce(g, op, squares, axis, false));
  return plan_of(std::move(g));
}

/// Makes the mean of rows' losses: a reduction of reductions.
Plan loss(const Shape& shape) {
  Graph g;
  const NodeId x = input(g, shape);
  const NodeId rows = reduce(g, Op::sum, add(g, Op::exp, {read(g, x)}), 1, false);
  give(g, reduce(g, Op::sum, add(g, Op::log, {read(g, rows)}), 0, false));
  return plan_of(std::move(g));
}

Plan transposed(const Shape& shape) {
  Graph g;
  const NodeId x = input(g, shape), y = input(g, {shape[1], shape[0]});
  Arg across = read(g, y);
  across.layout = permute(across.layout, std::vector<int>{1, 0});
  give(g, add(g, Op::add, {read(g, x), across}));
  return plan_of(std::move(g));
}

Plan gathered() {
  Graph g;
  const NodeId table = input(g, {10, 4}), index = input(g, {6}, DType::i64);
  Attrs attrs;
  attrs.batch = 0;
  const NodeId rows =
      g.add(op_def(Op::take), {read(g, table), read(g, index)}, attrs, {DType::f32, {6, 4}}, Span{}, g.size());
  give(g, add(g, Op::mul, {read(g, rows), number(2.0)}));
  return plan_of(std::move(g));
}

Plan random(Op op, int64_t n, DType dtype) {
  Graph g;
  const NodeId scale = input(g, {Dim(n)}, dtype);
  Arg key, counter;
  key.scalar = Scalar::of(int64_t{7});
  counter.scalar = Scalar::of(int64_t{100});
  Attrs attrs;
  attrs.shape = {Dim(n)};
  attrs.dtype = dtype;
  const NodeId noise = g.add(op_def(op), {key, counter}, attrs, {dtype, {Dim(n)}}, Span{}, g.size());
  give(g, add(g, Op::mul, {read(g, noise), read(g, scale)}));
  return plan_of(std::move(g));
}

/// Makes p - 0.1 g for several parameters.
Plan updates(const std::vector<Shape>& shapes) {
  Graph g;
  for (const Shape& shape : shapes) {
    const NodeId p = input(g, shape), gradient = input(g, shape);
    give(g, add(g, Op::sub, {read(g, p), read(g, add(g, Op::mul, {read(g, gradient), number(0.1)}))}));
  }
  return plan_of(std::move(g));
}

/// Makes the sum of squares of several tensors.
Plan squares(const std::vector<Shape>& shapes) {
  Graph g;
  for (const Shape& shape : shapes) {
    const NodeId x = input(g, shape);
    give(g, reduce(g, Op::sum, add(g, Op::mul, {read(g, x), read(g, x)}), 0, false));
  }
  return plan_of(std::move(g));
}

Plan quotient() {
  Graph g;
  const NodeId a = input(g, {100}, DType::i64), b = input(g, {100}, DType::i64);
  give(g, add(g, Op::floordiv, {read(g, a), read(g, b)}));
  return plan_of(std::move(g));
}

}  // namespace

TEST_CASE("kernels that differ in their launch bounds alone have names of their own") {
  const auto named = [](const char* bounds) {
    CudaKernel cuda_kernel;
    cuda_kernel.readable = "k_add";
    cuda_kernel.text = {"", bounds, "float* b0", ""};
    return cuda_kernel.name();
  };
  CHECK(named("128") == named("128"));
  CHECK(named("128") != named("256"));
  CHECK(named("128") != named("128, 4"));
}

TEST_CASE("fast numerics: a product that one sum or difference reads is part of it") {
  const auto all = [](const Plan& plan) {
    std::string text;
    for (const CudaKernel& cuda_kernel : kernels_of(plan)) text += cuda_kernel.source();
    return text;
  };
  const std::string fast = all(contracted({3000, 100}, DType::f32));
  INFO(fast);
  CHECK(count(fast, "mul_add(s_neg(") == 1);
  CHECK(count(fast, "mul_add(") == 2);  // what two read stays a product
  CHECK(count(all(scaled_sum({1000}, DType::f32)), "mul_add(") == 0);
}

TEST_CASE("pointwise kernels access 16 bytes at a time where buffers are aligned") {
  const Plan plan = scaled_sum({1000, 33});
  const std::vector<CudaKernel> vectorized = kernels_of(plan), narrow = kernels_of(plan, false);
  REQUIRE(vectorized.size() == 1);
  REQUIRE(narrow.size() == 1);
  CHECK(count(vectorized[0].text.body, "load_vector(") == 3);
  CHECK(count(vectorized[0].text.body, "store_vector(") == 1);
  REQUIRE(vectorized[0].vector_accesses.size() == 4);
  for (const VectorAccess& access : vectorized[0].vector_accesses) CHECK(access.bytes == 16);
  CHECK(narrow[0].vector_accesses.empty());
  CHECK_FALSE(contains(narrow[0].text.body, "_vector("));
  CHECK(vectorized[0].blocks == (33000 / 4 + 127) / 128);
  CHECK(narrow[0].blocks == (33000 + 127) / 128);
  const std::vector<CudaKernel> halves = kernels_of(scaled_sum({1000, 32}, DType::f16)),
                                odd = kernels_of(scaled_sum({7001, 3}, DType::f16)),
                                few = kernels_of(scaled_sum({7, 32}));
  CHECK(contains(halves[0].name(), "x8"));
  CHECK(contains(odd[0].text.body, "for (Index j = i;"));  // the last 3 of 21003, alone
  CHECK(few[0].vector_accesses.empty());
}

TEST_CASE("kernels of other sizes share their source") {
  CHECK(kernels_of(scaled_sum({1000, 33}))[0].source() == kernels_of(scaled_sum({2000, 66}))[0].source());
  CHECK(kernels_of(scaled_sum({1000, 33}))[0].blocks != kernels_of(scaled_sum({2000, 66}))[0].blocks);
  CHECK(kernels_of(reduced(Op::sum, {5000, 300}, 1))[0].source() ==
        kernels_of(reduced(Op::sum, {6000, 300}, 1))[0].source());
  CHECK(kernels_of(scaled_sum({1000, 33}))[0].source() != kernels_of(scaled_sum({1000, 33}, DType::f64))[0].source());
  CHECK(kernels_of(scaled_sum({1000, 33}))[0].name() != kernels_of(scaled_sum({1000, 33}, DType::f64))[0].name());
}

TEST_CASE("coordinates are divided by extents with a multiplication and a shift") {
  const auto divide = [](uint32_t n, int64_t reciprocal) {  // as divide() in templates.cuh
    const auto product = static_cast<uint64_t>(n) * static_cast<uint32_t>(reciprocal);
    return static_cast<uint32_t>(product >> 32) >> (reciprocal >> 32);
  };
  for (const int64_t near : {int64_t{2}, int64_t{3}, int64_t{7}, int64_t{641}, int64_t{1} << 16, int64_t{1} << 30}) {
    for (int64_t divisor = std::max<int64_t>(near - 3, 2); divisor < near + 3; ++divisor) {
      const int64_t reciprocal = reciprocal_of(divisor);
      for (const int64_t multiple :
           {int64_t{0}, int64_t{1}, int64_t{2}, INT32_MAX / divisor / 2, INT32_MAX / divisor}) {
        for (const int64_t n : {multiple * divisor - 1, multiple * divisor, multiple * divisor + divisor - 1}) {
          INFO(n << " / " << divisor);
          if (n >= 0 && n <= INT32_MAX) CHECK(divide(static_cast<uint32_t>(n), reciprocal) == n / divisor);
        }
      }
      CHECK(divide(INT32_MAX, reciprocal) == INT32_MAX / divisor);
    }
  }
  CHECK(reciprocal_of(INT32_MAX) > 0);
  CHECK(divide(INT32_MAX, reciprocal_of(INT32_MAX)) == 1);
  CHECK(divide(INT32_MAX - 1, reciprocal_of(INT32_MAX)) == 0);
  Graph g;
  const NodeId x = input(g, {100, 33}), row = input(g, {1, 33});
  give(g, add(g, Op::mul, {read(g, x), spread(g, row, {100, 33})}));
  const CudaKernel kernel = kernels_of(plan_of(std::move(g)))[0];
  CHECK(contains(kernel.text.body, "divide("));
  CHECK_FALSE(contains(kernel.text.body, " / "));
}

TEST_CASE("indices have 64 bits only where elements are that many") {
  const CudaKernel small = kernels_of(scaled_sum({1000}))[0], large = kernels_of(scaled_sum({70'000, 70'000}))[0];
  CHECK(small.text.header.find("typedef int Index;") != std::string::npos);
  CHECK(large.text.header.find("typedef long long Index;") != std::string::npos);
}

TEST_CASE("operands that lie across the others go through shared memory") {
  const std::vector<CudaKernel> kernels = kernels_of(transposed({100, 70}));
  REQUIRE(kernels.size() == 1);
  CHECK(contains(kernels[0].name(), "tiles"));
  CHECK(count(kernels[0].text.body, "__shared__") == 1);
  CHECK(kernels[0].blocks == 2 * 2);
  CHECK_FALSE(contains(kernels_of(transposed({100, 4}))[0].text.body, "__shared__"));  // too thin
}

TEST_CASE("rows are reduced by a warp each if they are many, and kept in registers if they fit") {
  CHECK(kernels_of(softmax({64, 1000}))[0].blocks == 64);
  const std::vector<CudaKernel> kept = kernels_of(softmax({6400, 1000}));
  REQUIRE(kept.size() == 1);
  CHECK(count(kept[0].text.body, "s_exp(") == 1);  // computed once, kept for the division
  CHECK(kept[0].blocks == 6400 / 4);
  const std::vector<CudaKernel> again = kernels_of(softmax({64, 50000}));
  REQUIRE(again.size() == 1);
  CHECK(count(again[0].text.body, "s_exp(") == 4);  // in both passes, for whole turns and the last
}

TEST_CASE("of 16-bit elements the rows are kept, two to a register, and not what they are widened to") {
  for (const int64_t length : {1024, 8192}) {
    const std::vector<CudaKernel> kernels = kernels_of(normalized({4096, length}));
    REQUIRE(kernels.size() == 1);  // the weights are widened where they are read
    const std::string& body = kernels[0].text.body;
    CHECK(count(body, "load_vector(wide") == 2);  // the row and the weights, once each
    CHECK(count(body, "pack(kept") == 1);
    CHECK(count(body, "unpack(r") == 2);
    CHECK(count(body, "s_sub(") == 2);  // less than a register for each element
    CHECK(contains(kernels[0].name(), length == 1024 ? "_t32r16__" : "_t128r32__"));
  }
}

TEST_CASE("blocks of threads share a long row where the device has clusters") {
  const auto kernels = [](int64_t length, int64_t resident) {
    const graph::DeviceTraits device = {.resident = {resident}, .has_clusters = resident > kMaxResidentRow};
    graph::Plan plan = softmax({64, length});
    plan = graph::make_plan(std::move(plan.graph), {}, device);
    return kernels_of(plan);
  };
  CHECK(kernels(131'072, kMaxResidentRow).size() > 1);
  CHECK(kernels(kMaxClusterRow + 1, kMaxClusterRow).size() > 1);
  CHECK_FALSE(contains(kernels(36'000, kMaxClusterRow)[0].source(), "cluster"));
  CHECK(contains(kernels(37'000, kMaxClusterRow)[0].source(), "cluster"));  // more than 144 KiB
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc(why);
  for (const int64_t length : {100'000, 131'072, 262'144}) {
    const std::vector<CudaKernel> shared = kernels(length, kMaxClusterRow);
    REQUIRE(shared.size() == 1);
    CHECK(shared[0].blocks == 64 * kClusterBlocks);
    CHECK(contains(shared[0].source(), " __cluster_dims__(8)"));
    CHECK(count(shared[0].text.body, "meet_cluster();") == 3);  // at the start, and after each reduction
    CHECK(count(shared[0].text.body, "s_exp(") == (length == 100'000 ? 2 : 1));  // computed once; the last block checks
    const KernelSource source{shared[0].name(), shared[0].source()};
    if (nvrtc) CHECK_NOTHROW(nvrtc->compile(program_of({&source}), "sm_90"));
  }
}

TEST_CASE("reductions take the form that suits how their operands lie") {
  const auto names = [](const Plan& plan) {
    std::string text;
    for (const CudaKernel& cuda_kernel : kernels_of(plan)) text += cuda_kernel.name() + " ";
    return text;
  };
  CHECK(contains(names(reduced(Op::sum, {500, 300}, 0)), "columns"));
  CHECK(contains(names(reduced(Op::sum, {50'000, 300}, 0)), "columns"));
  CHECK(contains(names(reduced(Op::sum, {3, 5'000'000}, 1)), "blocks"));
  CHECK(contains(names(reduced(Op::sum, {3, 5'000'000}, 1)), "blocks_x2"));
  CHECK_FALSE(contains(names(reduced(Op::sum, {3, 5'000'001}, 1)), "blocks_x2"));
  CHECK(kernels_of(reduced(Op::sum, {3, 1'500'000'000}, 1)).size() == 1);
  CHECK(kernels_of(reduced(Op::max, {5000, 100}, 1)).size() == 1);
  CHECK(contains(names(reduced(Op::argmax, {3, 5'000'000}, 1)), "blocks_x2"));
  CHECK(contains(names(reduced(Op::argmin, {50'000, 300}, 0)), "columns"));
  CHECK(kernels_of(reduced(Op::argmax, {3, 50'000}, 1)).size() == 1);
  CHECK(kernels_of(reduced(Op::argmax, {3, 50'000}, 1))[0].blocks > 3);
  CHECK(kernels_of(reduced(Op::sum, {4, 0}, 1)).size() == 1);  // of nothing: zeros
}

TEST_CASE("without vectors a thread takes elements apart, and loads all of them first") {
  Graph g;
  const NodeId x = input(g, {4096, 1001}), y = input(g, {1001});
  give(g, add(g, Op::mul, {read(g, x), spread(g, y, {4096, 1001})}));
  const CudaKernel cuda_kernel = kernels_of(plan_of(std::move(g)))[0];
  CHECK(contains(cuda_kernel.readable, "_a4"));
  CHECK(cuda_kernel.text.body.find("b2[") > cuda_kernel.text.body.find("s_mul("));
}

TEST_CASE("of many columns a thread takes 16 lanes, whose loads come before what stores or checks bounds") {
  const CudaKernel many = kernels_of(reduced(Op::sum, {203, 514'049}, 0))[0];
  CHECK(contains(many.readable, "columns32x8"));
  CHECK(contains(many.text.body, "ahead0[16]"));
  CHECK(contains(kernels_of(reduced(Op::sum, {203, 5001}, 0))[0].readable, "columns32x32"));
}

TEST_CASE("rows are numbered in the order of memory, unless errors depend on their order") {
  const auto kernel_of = [](Op before, DType dtype) {
    Graph g;
    const NodeId x = input(g, {50, 30, 40, 50}, dtype);
    Arg across = read(g, x);  // as [50, 40, 30, 50]
    across.layout = permute(across.layout, std::vector<int>{3, 2, 1, 0});
    give(g, reduce(g, Op::max, add(g, before, {across, across}), 3, false));
    return kernels_of(plan_of(std::move(g)))[0];
  };
  const CudaKernel ordered = kernel_of(Op::mul, DType::f32), reporting = kernel_of(Op::mod, DType::i32);
  CHECK(contains(ordered.text.body, " + k2 + "));
  CHECK(contains(ordered.readable, "columns32x4"));
  CHECK_FALSE(contains(reporting.text.body, " + k2 + "));
}

TEST_CASE("what is between kernels is in scratch memory, and results of rows' results come last") {
  const Plan plan = loss({64, 1000});
  REQUIRE(plan.kernels.size() == 1);
  const GeneratedKernels generated = generate(plan.kernels[0], plan, true);
  CHECK(generated.kernels.size() > 1);
  CHECK(generated.scratch_bytes >= 64 * 4);
  const auto scratch_of = [](const CudaKernel& cuda_kernel) {
    return std::count_if(cuda_kernel.arguments.begin(), cuda_kernel.arguments.end(),
                         [](const KernelArg& a) { return a.kind == KernelArg::Kind::scratch; });
  };
  CHECK(scratch_of(generated.kernels.front()) > 0);
  CHECK(scratch_of(generated.kernels.back()) > 0);
  CHECK(contains(generated.kernels.back().text.body, "s_add") + contains(generated.kernels.back().text.body, "Sum") >
        0);
}

TEST_CASE("what can fail is given the cell for errors") {
  const auto has_cell = [](const Plan& plan) {
    const std::vector<CudaKernel> kernels = kernels_of(plan);
    return std::any_of(kernels.begin(), kernels.end(), [](const CudaKernel& cuda_kernel) {
      return std::any_of(cuda_kernel.arguments.begin(), cuda_kernel.arguments.end(),
                         [](const KernelArg& a) { return a.kind == KernelArg::Kind::error; });
    });
  };
  CHECK(has_cell(quotient()));
  CHECK(has_cell(gathered()));
  CHECK_FALSE(has_cell(scaled_sum({100})));
}

TEST_CASE("equal kernels are one multi-tensor launch") {
  const Plan plan = updates({{100}, {20, 30}, {5000}});
  const std::vector<CudaKernel> kernels = kernels_of(plan, false);
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].source() == kernels[2].source());
  const CudaKernel table = make_multi_tensor_kernel({&kernels[0], &kernels[1], &kernels[2]});
  CHECK(table.readable == kernels[0].readable + "_table3");
  CHECK(table.blocks == kernels[0].blocks + kernels[1].blocks + kernels[2].blocks);
  CHECK_FALSE(table.arg_table_in_memory);
  // The last three arguments give the first block of each CUDA kernel.
  CHECK(table.arguments[table.arg_table_words - 3].value == 0);
  CHECK(table.arguments[table.arg_table_words - 1].value == kernels[0].blocks + kernels[1].blocks);
  CHECK(count(table.source(), "extern \"C\"") == 1);
}

TEST_CASE("sums of many tensors are a launch, each with scratch memory and counters of its own") {
  const Plan plan = squares({{768}, {3072}, {50}, {100'000}, {300'000}, {700'000}});
  REQUIRE(plan.launches.size() == 1);
  const GeneratedKernels generated = generate_launch(plan, plan.launches[0], true);
  REQUIRE(generated.kernels.size() == 2);  // rows of one block of the reduction order, and of several
  CHECK(generated.kernels[0].readable.ends_with("_table3"));
  CHECK(generated.kernels[1].readable.ends_with("_table3"));
  for (const KernelArg::Kind kind : {KernelArg::Kind::scratch, KernelArg::Kind::arrivals}) {
    std::set<uint64_t> places;
    for (const CudaKernel& cuda_kernel : generated.kernels) {
      for (const KernelArg& argument : cuda_kernel.arguments) {
        if (argument.kind == kind) CHECK(places.insert(argument.scratch).second);
      }
    }
    CHECK(places.size() >= 3);
    CHECK(*places.rbegin() < (kind == KernelArg::Kind::scratch ? generated.scratch_bytes : generated.arrivals));
  }
}

TEST_CASE("numbers that all entries of a table have in common are parameters of their own") {
  const Plan plan = updates({{100}, {200}, {300}});
  std::vector<CudaKernel> kernels = kernels_of(plan, false);
  const auto is_number = [](const KernelArg& a) { return a.kind == KernelArg::Kind::scalar; };
  const auto numbers =
      static_cast<size_t>(std::count_if(kernels[0].arguments.begin(), kernels[0].arguments.end(), is_number));
  REQUIRE(numbers > 0);
  const size_t entry = kernels[0].arguments.size() - numbers;
  const CudaKernel same = make_multi_tensor_kernel({&kernels[0], &kernels[1], &kernels[2]});
  CHECK(same.arg_table_words == 3 * (entry + 1));
  CHECK(same.arguments.size() == same.arg_table_words + numbers);
  const auto own = std::find_if(kernels[2].arguments.begin(), kernels[2].arguments.end(), is_number);
  own->scalar = Scalar::of(own->scalar.as_real() + 1);
  const CudaKernel different = make_multi_tensor_kernel({&kernels[0], &kernels[1], &kernels[2]});
  CHECK(different.arg_table_words == 3 * (entry + 2));
  CHECK(different.arguments.size() == different.arg_table_words + numbers - 1);
  CHECK(same.name() != different.name());
}

TEST_CASE("a long table lies in memory, and its source is for any number of entries") {
  const auto table_of = [](size_t count) {
    std::vector<CudaKernel> kernels = kernels_of(updates(std::vector<Shape>(count, Shape{100})), false);
    std::vector<const CudaKernel*> pointers;
    for (const CudaKernel& cuda_kernel : kernels) pointers.push_back(&cuda_kernel);
    return make_multi_tensor_kernel(pointers);
  };
  const CudaKernel a = table_of(200), b = table_of(201);
  REQUIRE(a.arg_table_in_memory);
  CHECK(a.source() == b.source());
  CHECK(a.arg_table_words > kMaxArgTableParameterWords);
  CHECK(a.arguments.size() - a.arg_table_words < 10);
  CHECK(a.arguments[a.arg_table_words].kind == KernelArg::Kind::arg_table);
  CHECK(a.arguments[a.arg_table_words].scratch == 0);
  CHECK(a.arguments[a.arg_table_words + 1].scratch == a.arg_table_words - 200);
  CHECK(b.arguments[b.arg_table_words + 2].value == 201);
}

TEST_CASE("generated kernels compile") {
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc_for_lists(why);
  std::vector<Plan> plans;
  for (const DType dtype :
       {DType::u8, DType::i16, DType::u32, DType::i64, DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    plans.push_back(scaled_sum({1000, 33}, dtype));
    plans.push_back(reduced(Op::sum, {300, 500}, 0, dtype));
    plans.push_back(reduced(Op::prod, {3, 5'000'000}, 1, dtype));
    plans.push_back(contracted({3000, 100}, dtype));
    plans.push_back(contracted({300, 9000}, dtype));
    plans.push_back(reduced(Op::argmin, {300, 50}, 1, dtype));
  }
  for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
    plans.push_back(random(Op::random_normal, 1001, dtype));
    plans.push_back(random(Op::random_uniform, 1001, dtype));
  }
  for (const int64_t rows : {int64_t{64}, int64_t{5000}}) {
    for (const int64_t length : {int64_t{31}, int64_t{1000}, int64_t{4000}, int64_t{10'000}}) {
      plans.push_back(softmax({rows, length}));
      plans.push_back(loss({rows, length}));
      plans.push_back(reduced(Op::max, {rows, length}, 1));
      plans.push_back(reduced(Op::argmax, {rows, length}, 1));
      plans.push_back(reduced(Op::min, {rows, length}, 0));
    }
  }
  plans.push_back(transposed({100, 70}));
  plans.push_back(gathered());
  plans.push_back(quotient());
  plans.push_back(updates({{100}, {100}}));
  plans.push_back(squares({{700}, {3000}, {100'000}, {300'000}}));
  std::vector<KernelSource> sources;
  std::set<std::string> names;
  for (const Plan& plan : plans) {
    for (const bool vectors : {true, false}) {
      std::vector<CudaKernel> kernels = kernels_of(plan, vectors);
      if (plan.kernels.size() == 2) kernels.push_back(make_multi_tensor_kernel({&kernels[0], &kernels[1]}));
      for (CudaKernel& cuda_kernel : kernels) {
        // Caches find kernels by name, so different sources need different names.
        if (names.insert(cuda_kernel.name()).second) sources.push_back({cuda_kernel.name(), cuda_kernel.source()});
        else
          CHECK(std::any_of(sources.begin(), sources.end(), [&](const KernelSource& s) {
            return s.name == cuda_kernel.name() && s.source == cuda_kernel.source();
          }));
      }
    }
  }
  CHECK(sources.size() > 60);
  if (!nvrtc) TSL_SKIP(why);
  CHECK(nvrtc->compile(program_of(pointers_to(sources)), "sm_90").size() > 0);
}
