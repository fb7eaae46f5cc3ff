// Tests the generated source of ops with kernels of their own: every family compiles, for every dtype and form.
// op_kernels.cpp tests the results.
#include <future>
#include <map>
#include <set>

#include "backend/cuda/kernels/generate.h"
#include "backend/cuda/op_graphs.h"
#include "graph/compile.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;
using namespace tsl::graph;

namespace {

constexpr DType kAll[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16, DType::i32, DType::i64, DType::f16,
                          DType::bf16,    DType::f32, DType::f64, DType::u16, DType::u32, DType::u64};

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

/// Returns the CUDA kernels of the graph's only op, after checks that apply to every CUDA kernel.
GeneratedKernels program_of(Graph graph) {
  const Plan plan = graph::compile(std::move(graph));
  GeneratedKernels generated;
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.kind != Template::op) continue;
    REQUIRE(has_generated_kernels(kernel, plan));
    generated = generate(kernel, plan, true);
  }
  for (const CudaKernel& cuda_kernel : generated.kernels) {
    INFO(cuda_kernel.source());
    CHECK(count(cuda_kernel.source(), "extern \"C\" __global__") == 1);
    CHECK(count(cuda_kernel.source(), cuda_kernel.name() + "(") == 1);
    const std::vector<std::string> parameters = parameters_of(cuda_kernel.text);
    CHECK(parameters.size() == cuda_kernel.arguments.size());
    for (const std::string& parameter : parameters)
      CHECK(count(cuda_kernel.text.body, parameter.substr(parameter.rfind(' ') + 1)) > 0);
    CHECK((cuda_kernel.blocks > 0 && cuda_kernel.blocks <= INT32_MAX));
    CHECK(cuda_kernel.threads_x * cuda_kernel.threads_y <= 1024);
    for (const KernelArg& argument : cuda_kernel.arguments) {
      if (argument.kind == KernelArg::Kind::scratch) CHECK(argument.scratch < generated.scratch_bytes);
    }
  }
  return generated;
}

std::string names(const GeneratedKernels& generated) {
  std::string text;
  for (const CudaKernel& cuda_kernel : generated.kernels)
    text += cuda_kernel.name().substr(2, cuda_kernel.name().find("__") - 2) + " ";
  return text;
}

/// Distinct CUDA kernels, to be compiled together.
class Corpus {
 public:
  void add(Graph graph) {
    for (CudaKernel& cuda_kernel : program_of(std::move(graph)).kernels) {
      const auto [at, is_new] =
          sources_.try_emplace(cuda_kernel.name(), KernelSource{cuda_kernel.name(), cuda_kernel.source()});
      if (!is_new) CHECK(at->second.source == cuda_kernel.source());
    }
  }
  void check() const {
    REQUIRE_FALSE(sources_.empty());
    std::string why;
    const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc_for_lists(why);
    if (!nvrtc) TSL_SKIP(why);
    std::vector<const KernelSource*> kernels;
    for (const auto& [name, source] : sources_) kernels.push_back(&source);
    const cuda::Program generated = program_of(std::move(kernels));
    std::vector<std::future<Cubin>> cubins;
    const auto start = [&](const char* arch, const std::vector<std::string>& options) {
      cubins.push_back(std::async(std::launch::async, [&nvrtc, &generated, arch, options] {
        return nvrtc->compile(generated, arch, options);
      }));
    };
    start("sm_80", fast_options(*nvrtc));
    start("sm_90", {});
    for (std::future<Cubin>& cubin : cubins) CHECK_NOTHROW(cubin.get());
  }

 private:
  std::map<std::string, KernelSource> sources_;
};

Lying transposed(const Shape& shape, DType dtype) {
  Lying operand = plain(shape, dtype);
  std::vector<int> order;
  for (int i = shape.rank(); i-- > 0;) order.push_back(i);
  operand.view = permute(operand.view, order);
  return operand;
}

Graph scatter_rows(Op op, DType dtype, int64_t rows, int64_t columns, int64_t picked) {
  return scatter(op, plain({Dim(rows), Dim(columns)}, dtype), plain({Dim(picked)}, DType::i64),
                 plain({Dim(picked), Dim(columns)}, dtype), 0);
}

}  // namespace

TEST_CASE("scans: narrow and short rows, long ones, columns, and rows in chunks") {
  CHECK(names(program_of(scan(Op::cumsum, plain({1, 15'749'286}, DType::f32), 0))).empty());  // a copy
  CHECK(names(program_of(scan(Op::cumsum, plain({7'000'000, 3, 3}, DType::f32), 1))) == "cumsum_narrow ");
  CHECK(names(program_of(scan(Op::cumsum, plain({5000, 100}, DType::f32), 1))) == "cumsum ");
  CHECK(names(program_of(scan(Op::cumsum, plain({5000, 3000}, DType::f32), 1))) == "cumsum_rows ");
  CHECK(names(program_of(scan(Op::cumsum, plain({3, 3000}, DType::f32), 1))) ==
        "cumsum_totals cumsum_before cumsum_rows ");
  CHECK(names(program_of(scan(Op::cumsum, plain({3000, 64}, DType::f32), 0))) ==
        "cumsum_totals cumsum_before cumsum_columns ");
  CHECK(names(program_of(scan(Op::cumsum, plain({500, 64}, DType::f32), 0))) == "cumsum_columns ");
  CHECK(names(program_of(scan(Op::cumsum, plain({30'000'000}, DType::f32), 0))) ==
        "cumsum_totals cumsum_more_totals cumsum_before cumsum_before cumsum_rows ");
  CHECK(names(program_of(scan(Op::cumprod, plain({0, 4}, DType::f32), 1))).empty());
  for (const DType dtype : kAll) {
    Corpus corpus;
    corpus.add(scan(Op::cumprod, plain({50, 100}, dtype), 1));
    for (const int64_t length : {1, 3, 8, 32}) corpus.add(scan(Op::cumsum, plain({50, Dim(length)}, dtype), 1));
    corpus.add(scan(Op::cumsum, plain({3, 3000}, dtype), 1));
    corpus.add(scan(Op::cumsum, plain({3000, 64}, dtype), 0));
    corpus.add(scan(Op::cumsum, transposed({40, 30, 5}, dtype), 2));
    INFO(name_of(dtype));
    corpus.check();
  }
}

TEST_CASE("sorting: in warps, in blocks, in tiles") {
  CHECK(names(program_of(argsort(plain({5000, 20}, DType::f32), 1, false))) == "sort_warps ");
  CHECK(names(program_of(argsort(plain({5000, 4096}, DType::f32), 1, false))) == "sort_blocks ");
  CHECK(names(program_of(argsort(plain({2, 5000}, DType::u8), 1, false))) == "sort_count sort_sum sort_move ");
  CHECK(program_of(argsort(plain({2, 5000}, DType::f32), 1, false)).kernels.size() == 12);
  CHECK(program_of(argsort(plain({2, 5000}, DType::f64), 1, false)).kernels.size() == 24);
  CHECK(program_of(argsort(plain({2, 0}, DType::f64), 1, false)).kernels.empty());
  // All passes share their kernels.
  std::set<std::string> sources;
  for (const CudaKernel& cuda_kernel : program_of(argsort(plain({2, 8 * 4096}, DType::i64), 1, true)).kernels)
    sources.insert(cuda_kernel.source());
  CHECK(sources.size() == 3);
  for (const DType dtype : kAll) {
    Corpus corpus;
    for (const int64_t length : {1, 7, 32, 33, 200, 1000, 2000, 4096, 5000}) {
      if (length % 1000 != 0 || dtype == DType::f32)
        corpus.add(argsort(plain({3, Dim(length)}, dtype), 1, length % 2 == 0));
    }
    corpus.add(argsort(transposed({40, 30, 5}, dtype), 2, true));
    corpus.add(argsort(transposed({40, 30, 5}, dtype), 1, false, true));
    INFO(name_of(dtype));
    corpus.check();
  }
}

TEST_CASE("scattering: few updates, owners, atomics, and sorted updates") {
  CHECK(names(program_of(scatter_rows(Op::scatter, DType::f32, 1000, 64, 100))) == "scatter_few ");
  CHECK(names(program_of(scatter_rows(Op::scatter, DType::f32, 1000, 64, 10'000))) ==
        "scatter_clear scatter_find scatter_write ");
  CHECK(names(program_of(scatter_rows(Op::scatter, DType::f32, 100'000'000, 1, 1000))) ==
        "scatter_sort_blocks scatter_write ");
  CHECK(names(program_of(scatter_rows(Op::scatter_add, DType::f32, 1000, 64, 100))) == "scatter_add_few ");
  for (const DType dtype : {DType::i32, DType::i64, DType::u32, DType::u64})
    CHECK(names(program_of(scatter_rows(Op::scatter_add, dtype, 1000, 64, 10'000))) == "scatter_add_atomic ");
  CHECK(names(program_of(scatter_rows(Op::scatter_add, DType::f32, 1000, 64, 4000))) ==
        "scatter_add_sort_blocks scatter_add_wide ");
  CHECK(names(program_of(scatter_rows(Op::scatter_add, DType::f32, 100, 4, 10'000))) ==
        "scatter_add_sort_count scatter_add_sort_sum scatter_add_sort_move scatter_add_narrow ");
  CHECK(program_of(scatter_rows(Op::scatter_add, DType::f32, 255, 4, 10'000)).kernels.size() == 4);
  CHECK(program_of(scatter_rows(Op::scatter_add, DType::f32, 256, 4, 10'000)).kernels.size() ==
        7);  // 255 stands for nowhere
  CHECK(names(program_of(scatter_rows(Op::scatter_add, DType::f32, 100, 0, 10))) == "scatter_add_check ");
  CHECK(names(program_of(scatter_rows(Op::scatter_add, DType::f32, 100, 5, 0))).empty());
  for (const DType dtype : kAll) {
    Corpus corpus;
    for (const Op op : {Op::scatter, Op::scatter_add}) {
      for (const int64_t columns : {1, 3, 16, 17, 70, 300}) {
        for (const int64_t picked : {10, 1000, 5000}) {
          if (picked == 1000 || dtype == DType::f32) corpus.add(scatter_rows(op, dtype, 3000, columns, picked));
        }
      }
      corpus.add(
          scatter(op, plain({6, 9, 4}, dtype), plain({6, 5, 2}, DType::i64), transposed({4, 2, 5, 6}, dtype), 1));
    }
    INFO(name_of(dtype));
    corpus.check();
  }
}

TEST_CASE("nonzero, windows' adjoint and products of integers") {
  CHECK(names(program_of(nonzero(plain({4096}, DType::boolean), 5))) == "nonzero ");
  CHECK(names(program_of(nonzero(plain({4097}, DType::boolean), 5))) == "nonzero_count nonzero_sum nonzero ");
  CHECK(names(program_of(nonzero(plain({4097}, DType::boolean), 0))).empty());
  Corpus corpus;
  corpus.add(nonzero(plain({3, 4}, DType::boolean), 5));
  corpus.add(nonzero(transposed({30, 4, 80}, DType::boolean), 5));
  for (const DType dtype : kAll) {
    for (const int64_t step : {1, 2}) {
      for (const int64_t dilation : {1, 3})
        corpus.add(fold_windows(plain({2, 5, 3, 4}, dtype), 1, 4 * step + 3 * dilation + 1, step, dilation));
    }
    if (is_float(dtype)) continue;
    corpus.add(product(plain({30, 40}, dtype), plain({40, 50}, dtype)));
    corpus.add(product(transposed({30, 40, 2}, dtype), transposed({50, 30, 2}, dtype)));
  }
  corpus.check();
}

TEST_CASE("convolutions and their gradients: tiles, parts of windows, and elements of few channels") {
  const std::vector<int64_t> plane = {1, 1, 2, 1, 1, 1, 0, 1, 2}, line = {32, 1, 1, 1, 2};
  const auto all = [&](DType dtype, const std::function<void(Graph)>& use) {
    const Lying x = plain({2, 16, 40, 41}, dtype), w = plain({24, 16, 3, 3}, dtype), y = plain({2, 24, 40, 21}, dtype);
    use(convolution(Op::conv, x, w, plane));
    use(convolution(Op::conv_input_grad, y, w, plane, {40, 41}));
    use(convolution(Op::conv_weight_grad, x, y, plane, {3, 3}));
    const Lying one = plain({2, 32, 50}, dtype), filters = plain({32, 1, 4}, dtype);
    use(convolution(Op::conv, one, filters, line));
    use(convolution(Op::conv_input_grad, one, filters, line, {50}));
    use(convolution(Op::conv_weight_grad, one, one, line, {4}));
    use(convolution(Op::conv, transposed({41, 40, 16, 2}, dtype), w, plane));
    const Lying picture = plain({2, 32, 20, 21}, dtype), small = plain({32, 1, 3, 5}, dtype);
    const Lying shrunk = plain({2, 32, 10, 11}, dtype), larger = plain({2, 32, 20, 19}, dtype);
    const std::vector<int64_t> steps = {32, 2, 2, 1, 1, 1, 2, 1, 2}, spread = {32, 1, 1, 2, 1, 2, 1, 2, 1};
    use(convolution(Op::conv, picture, small, steps));
    use(convolution(Op::conv_input_grad, shrunk, small, steps, {20, 21}));
    use(convolution(Op::conv_weight_grad, picture, shrunk, steps, {3, 5}));
    use(convolution(Op::conv, picture, small, spread));
    use(convolution(Op::conv_input_grad, larger, small, spread, {20, 21}));
    const Lying many = plain({32, 1, 65}, dtype), few = plain({2, 32, 3}, dtype), length = plain({2, 32, 64}, dtype);
    use(convolution(Op::conv, length, many, line));
    use(convolution(Op::conv_input_grad, few, many, line, {64}));
    use(convolution(Op::conv_weight_grad, length, few, line, {65}));
  };
  std::string text;
  all(DType::f32, [&](Graph graph) { text += names(program_of(std::move(graph))); });
  CHECK(text ==
        "conv conv_input_grad conv_weight_grad conv_weight_grad_add conv conv_input_grad conv_weight_grad conv conv "
        "conv_input_grad conv_weight_grad conv conv_input_grad conv conv_input_grad conv_weight_grad ");
  Corpus corpus;
  for (const DType dtype : kAll) {
    if (dtype != DType::boolean) all(dtype, [&](Graph graph) { corpus.add(std::move(graph)); });
  }
  corpus.add(convolution(Op::conv, plain({2000, 3, 800, 900}, DType::f32), plain({4, 3, 3, 3}, DType::f32),
                         {1, 1, 1, 1, 1, 1, 1, 1, 1}));
  corpus.check();
}

TEST_CASE("indices of ops have 64 bits only where elements are that many") {
  const CudaKernel small = program_of(scan(Op::cumsum, plain({2000, 3000}, DType::f32), 1)).kernels[0];
  const CudaKernel large = program_of(scan(Op::cumsum, plain({2'000'000, 3000}, DType::f32), 1)).kernels[0];
  CHECK(small.text.header.find("typedef int Index") != std::string::npos);
  CHECK(large.text.header.find("typedef long long Index") != std::string::npos);
  CHECK(small.source() != large.source());
  Corpus corpus;
  corpus.add(scan(Op::cumsum, plain({2'000'000, 3000}, DType::f32), 1));
  corpus.add(scan(Op::cumsum, plain({3000, 2'000'000}, DType::f32), 0));
  corpus.add(argsort(plain({2'000'000, 3000}, DType::f32), 1, false));
  corpus.add(argsort(plain({500'000, 6000}, DType::f16), 1, false));
  corpus.add(scatter_rows(Op::scatter_add, DType::f32, 2'000'000, 3000, 10'000));
  corpus.add(scatter_rows(Op::scatter_add, DType::f32, 1'000'000'000, 4, 10'000));
  corpus.add(scatter_rows(Op::scatter, DType::f32, 2'000'000, 3000, 100'000));
  corpus.add(nonzero(plain({2'000'000, 3000}, DType::boolean), 50));
  corpus.add(fold_windows(plain({2'000'000, 1000, 3}, DType::f32), 1, 1002, 1, 1));
  corpus.add(product(plain({100'000, 100}, DType::i32), plain({100, 100'000}, DType::i32)));
  corpus.check();
}

TEST_CASE("what no kernel is generated for runs on the host") {
  const auto is_generated = [](Graph graph) {
    const Plan plan = graph::compile(std::move(graph));
    return has_generated_kernels(plan.kernels.back(), plan);
  };
  CHECK(is_generated(argsort(plain({2'000'000'000}, DType::u8), 0, false)));
  CHECK_FALSE(is_generated(argsort(plain({2'200'000'000}, DType::u8), 0, false)));
  CHECK_FALSE(is_generated(scatter_rows(Op::scatter, DType::u8, 2'200'000'000, 1, 5)));
  CHECK_FALSE(is_generated(product(plain({3, 4}, DType::f32), plain({4, 5}, DType::f32))));
}
