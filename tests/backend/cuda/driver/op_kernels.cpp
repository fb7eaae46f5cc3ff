// Ops with kernels of their own give the CPU's bits on a GPU, in every dtype, for all shapes and layouts. Needs a GPU.
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "backend/cpu/backend.h"
#include "backend/cuda/backend.h"
#include "backend/cuda/op_graphs.h"
#include "graph/compile.h"
#include "support/gpu.h"
#include "support/shard.h"
#include "tensor/elements.h"

using namespace tsl;
using namespace tsl::graph;
using exec::Backend;
using exec::Executable;
using exec::RunError;

namespace {

constexpr DType kAll[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16, DType::i32, DType::i64, DType::f16,
                          DType::bf16,    DType::f32, DType::f64, DType::u16, DType::u32, DType::u64};

enum class Values { few, many, special, infinite };  // small whole numbers; any; and zeros, NaN; and infinities

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Scalar value(DType dtype, Values values) {
    if (!is_float(dtype)) {
      const int64_t any = static_cast<int64_t>(random_());
      return Scalar::of(values == Values::few ? any % 5 : any);
    }
    const int64_t kind = below(20);
    if (values >= Values::special && kind < 4)
      return Scalar::of(kind == 0 ? NAN : kind == 1 ? -NAN : kind == 2 ? 0.0 : -0.0);
    if (values == Values::infinite && kind < 6) return Scalar::of(kind == 4 ? INFINITY : -INFINITY);
    if (values == Values::few) return Scalar::of(static_cast<double>(below(5)) - 2);
    return Scalar::of(static_cast<double>(below(2'000'001) - 1'000'000) / 300'000);
  }

 private:
  std::mt19937_64 random_;
};

class Devices {
 public:
  explicit Devices(const exec::BackendOptions& options = {}) : host_(2), gpu_(cuda::open_backend(0, host_, options)) {}

  Tensor tensor(DType dtype, const Shape& shape, const std::function<Scalar(int64_t)>& element) {
    const int64_t count = element_count(shape).hint(), size = static_cast<int64_t>(size_of(dtype));
    const Tensor tensor(dtype, Layout::contiguous(shape),
                        host_.allocator().allocate(static_cast<uint64_t>(count * size)));
    for (int64_t i = 0; i < count; ++i) store_element(dtype, tensor.data() + i * size, element(i));
    return tensor;
  }
  Tensor random(const Lying& lying, Values values, uint32_t seed) {
    Generator generator(seed);
    return tensor(lying.dtype, lying.shape, [&](int64_t) { return generator.value(lying.dtype, values); });
  }
  /// Returns the graph's only output, computed on the CPU.
  Scalar on_host(const Graph& graph, const std::vector<Tensor>& inputs) {
    Tensor out;
    host_.prepare(graph::compile(graph))->run(inputs, {}, {}, {&out, 1});
    return load_element(out.dtype(), out.data());
  }
  Scalar on_gpu(const Graph& graph, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) there.push_back(gpu_->to_device(input));
    Tensor out;
    gpu_->prepare(graph::compile(graph))->run(there, {}, {}, {&out, 1});
    const Tensor here = gpu_->to_host(out);
    return load_element(here.dtype(), here.data());
  }
  Tensor whole(const std::vector<int64_t>& values, const Shape& shape) {
    return tensor(DType::i64, shape, [&](int64_t i) { return Scalar::of(values[static_cast<size_t>(i)]); });
  }

  /// Checks that both give the same bits, or the same error; the GPU repeatedly, first launching kernels one by one,
  /// then as graphs. Does nothing if the case belongs to another shard.
  void compare(const Graph& graph, const std::vector<Tensor>& inputs, const std::vector<Scalar>& symbols = {}) {
    if (!shard_.takes_next()) return;
    Tensor expected;
    const RunError error = host_.prepare(graph::compile(graph))->run(inputs, {}, symbols, {&expected, 1});
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) there.push_back(gpu_->to_device(input));
    const std::unique_ptr<Executable> plan = gpu_->prepare(graph::compile(graph));
    for (int run = 0; run < 3; ++run) {
      Tensor got;
      const RunError failed = plan->run(there, {}, symbols, {&got, 1});
      REQUIRE(static_cast<bool>(failed) == static_cast<bool>(error));
      if (error) {
        CHECK(failed.order == error.order);
        CHECK(failed.value == error.value);
      } else {
        CHECK(first_difference(expected, gpu_->to_host(got)) == -1);
      }
    }
  }

 private:
  static int64_t first_difference(const Tensor& a, const Tensor& b) {
    const int64_t count = element_count(a.shape()).hint();
    const size_t size = size_of(a.dtype());
    if (count == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(count) * size) == 0) return -1;
    for (int64_t i = 0; i < count; ++i) {
      const std::byte *x = a.data() + i * static_cast<int64_t>(size), *y = b.data() + i * static_cast<int64_t>(size);
      if (std::memcmp(x, y, size) == 0) continue;
      const Scalar left = load_element(a.dtype(), x), right = load_element(a.dtype(), y);
      if (is_float(a.dtype()) && left.real != left.real && right.real != right.real) continue;
      UNSCOPED_INFO("element " << i << ": " << left.as_real() << " on the CPU, " << right.as_real() << " on the GPU");
      return i;
    }
    return -1;
  }

  Shard shard_;
  cpu::CpuBackend host_;
  std::unique_ptr<Backend> gpu_;
};

/// Returns other layouts: axes permuted, one axis reversed, every second element.
std::vector<Lying> ways_to_lie(const Shape& shape, DType dtype) {
  std::vector<Lying> ways = {plain(shape, dtype)};
  std::vector<int> order;
  Shape turned;
  for (int i = shape.rank(); i-- > 0;) {
    order.push_back(i);
    turned.push_back(shape[i]);
  }
  if (shape.rank() > 1) {
    Lying across = plain(turned, dtype);
    across.view = permute(across.view, order);
    ways.push_back(across);
  }
  const int last = shape.rank() - 1;
  const int64_t extent = shape[last].hint();
  if (extent > 1) {
    Lying backwards = plain(shape, dtype);
    backwards.view = slice(backwards.view, last, extent - 1, extent, -1);
    ways.push_back(backwards);
    Shape doubled = shape;
    doubled[last] = 2 * extent + 1;
    Lying sparse = plain(doubled, dtype);
    sparse.view = slice(sparse.view, last, 1, extent, 2);
    ways.push_back(sparse);
  }
  Lying repeated = plain(Shape{1}, dtype);
  repeated.view = expand(repeated.view, shape);
  ways.push_back(repeated);
  return ways;
}

/// Makes rows of x, an index of them by `pick`, and updates.
struct Scattering {
  Lying x, index, updates;
  int batch = 0;
  std::vector<int64_t> picks;
};

Scattering scattering(const Shape& x, const Shape& index, DType dtype, int batch,
                      const std::function<int64_t(int64_t)>& pick) {
  Scattering out;
  Shape updates = index;
  for (int i = batch + 1; i < x.rank(); ++i) updates.push_back(x[i]);
  out.x = plain(x, dtype);
  out.index = plain(index, DType::i64);
  out.updates = plain(updates, dtype);
  out.batch = batch;
  for (int64_t i = 0; i < element_count(index).hint(); ++i) out.picks.push_back(pick(i));
  return out;
}

void compare_scatter(Devices& devices, const Scattering& s, Op op, Values values) {
  INFO(op_def(op).name << " " << describe(s.x.dtype, s.x.shape) << " " << to_string(s.index.shape) << " batch "
                       << s.batch);
  devices.compare(
      scatter(op, s.x, s.index, s.updates, s.batch),
      {devices.random(s.x, values, 1), devices.whole(s.picks, s.index.shape), devices.random(s.updates, values, 2)});
}

/// Rows that a warp, a block and tiles sort, and none.
const Shape kSortedShapes[] = {{1},       {300, 2},  {50, 5},   {40, 32},  {9, 33},   {7, 100},  {5, 256}, {3, 1000},
                               {2, 2048}, {2, 4096}, {2, 4097}, {3, 9000}, {1, 8192}, {2, 5001}, {0, 4},   {4, 0}};

/// Ways to sort: of few values, by their order alone, and of infinities, with the values; ascending and descending.
constexpr size_t kWaysToSort = 4;

void compare_sort(Devices& devices, const Shape& shape, DType dtype, size_t way) {
  const Values values = way % 2 ? Values::infinite : Values::few;
  const bool descending = way >= 2;
  INFO(describe(dtype, shape) << (descending ? " descending" : ""));
  const Lying x = plain(shape, dtype);
  devices.compare(argsort(x, shape.rank() - 1, descending, values == Values::infinite), {devices.random(x, values, 5)});
}

/// Makes indices of any sign: both select rows.
int64_t either(Generator& generator, int64_t extent) { return generator.below(2 * extent) - extent; }

}  // namespace

TEST_CASE("running sums and products have the CPU's bits", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  const Shape shapes[] = {{1},           {31},         {33},     {100},     {1024},     {1025},      {5000},
                          {3, 1},        {300, 7},     {70, 40}, {9, 1024}, {40, 2000}, {2, 40'000}, {5, 33, 40},
                          {2, 1500, 33}, {3, 2100, 5}, {0, 4},   {4, 0},    {3000, 3},  {999, 1, 2}, {500, 17, 3}};
  for (const Shape& shape : shapes) {
    for (const DType dtype : kAll) {
      for (const Op op : {Op::cumsum, Op::cumprod}) {
        for (int axis = 0; axis < shape.rank(); ++axis) {
          INFO(op_def(op).name << " of " << describe(dtype, shape) << " along " << axis);
          const Lying x = plain(shape, dtype);
          devices.compare(scan(op, x, axis), {devices.random(x, Values::many, 3)});
        }
      }
    }
  }
  for (const DType dtype : {DType::i8, DType::f16, DType::f32, DType::f64}) {
    for (const Lying& x : ways_to_lie({30, 5, 50}, dtype)) {
      for (int axis = 0; axis < 3; ++axis) {
        INFO(describe(dtype, x.shape) << " strides " << to_string(x.view.strides) << " along " << axis);
        devices.compare(scan(Op::cumsum, x, axis), {devices.random(x, Values::infinite, 4)});
      }
    }
  }
}

TEST_CASE("sorting is stable whatever the length", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  // Each of warps, blocks and tiles has four lengths, so that it sorts every dtype in all ways.
  int turn = 0;
  for (const Shape& shape : kSortedShapes) {
    for (size_t i = 0; i < std::size(kAll); ++i) compare_sort(devices, shape, kAll[i], (turn + i) % kWaysToSort);
    ++turn;
  }
  for (const DType dtype : {DType::boolean, DType::i16, DType::bf16, DType::f64}) {
    for (const Lying& x : ways_to_lie({30, 5, 50}, dtype)) {
      for (int axis = 0; axis < 3; ++axis) {
        INFO(describe(dtype, x.shape) << " strides " << to_string(x.view.strides) << " along " << axis);
        devices.compare(argsort(x, axis, axis == 1, true), {devices.random(x, Values::special, 6)});
      }
    }
    const Lying x = plain({5000, 2}, dtype);
    devices.compare(argsort(x, 0, false), {devices.random(x, Values::special, 7)});
  }
}

// Each has kernels of its own, which take minutes to compile.
TEST_CASE("sorting is stable for every length, dtype and way", "[cuda][all]") {
  TSL_NEEDS_GPU();
  Devices devices;
  for (const Shape& shape : kSortedShapes) {
    for (const DType dtype : kAll) {
      for (size_t way = 0; way < kWaysToSort; ++way) compare_sort(devices, shape, dtype, way);
    }
  }
}

TEST_CASE("scattering adds and replaces in order of the index", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  Generator generator(8);
  for (const DType dtype : kAll) {
    for (const Op op : {Op::scatter, Op::scatter_add}) {
      for (const int64_t columns : {1, 2, 5, 16, 17, 40, 150}) {
        for (const int64_t picked : {0, 1, 20, 600, 5000}) {
          for (const int64_t rows : {1, 3, 700}) {
            if (picked * columns > 100'000 && rows != 3) continue;
            const Scattering s = scattering({Dim(rows), Dim(columns)}, {Dim(picked)}, dtype, 0,
                                            [&](int64_t) { return either(generator, rows); });
            compare_scatter(devices, s, op, Values::many);
          }
        }
      }
    }
  }
}

TEST_CASE("scattering within batches and to elements and with updates that lie anyhow", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  Generator generator(9);
  for (const DType dtype : {DType::u8, DType::i32, DType::u32, DType::u64, DType::bf16, DType::f32, DType::f64}) {
    for (const Op op : {Op::scatter, Op::scatter_add}) {
      compare_scatter(devices,
                      scattering({6, 9, 4}, {6, 5, 2}, dtype, 1, [&](int64_t) { return either(generator, 9); }), op,
                      Values::many);
      compare_scatter(devices, scattering({40, 50}, {40, 1}, dtype, 1, [&](int64_t) { return either(generator, 50); }),
                      op, Values::many);
      compare_scatter(devices,
                      scattering({4, 3, 10}, {4, 3, 1000}, dtype, 2, [&](int64_t) { return either(generator, 10); }),
                      op, Values::special);
      // Nearly all updates go to one row.
      const auto mostly_one = [&](int64_t i) { return i % 50 == 0 ? either(generator, 90) : 1; };
      for (const Shape& x : {Shape{90}, Shape{90, 3}, Shape{90, 33}})
        compare_scatter(devices, scattering(x, {4500}, dtype, 0, mostly_one), op, Values::many);
      for (const int64_t picked : {30, 1000}) {
        Scattering s = scattering({12, 6, 5}, {Dim(picked)}, dtype, 0, [&](int64_t) { return either(generator, 12); });
        for (const Lying& updates : ways_to_lie({Dim(picked), 6, 5}, dtype)) {
          s.updates = updates;
          compare_scatter(devices, s, op, Values::many);
        }
        s.index = ways_to_lie({Dim(picked)}, DType::i64)[1];
        compare_scatter(devices, s, op, Values::many);
      }
      // More rows than owners pay off for.
      compare_scatter(devices,
                      scattering({3'000'000}, {2000}, dtype, 0, [&](int64_t) { return either(generator, 3'000'000); }),
                      op, Values::many);
    }
  }
}

TEST_CASE("an index that names no row fails as it does on the CPU", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  for (const Op op : {Op::scatter, Op::scatter_add}) {
    for (const int64_t picked : {5, 600, 5000}) {
      for (const int64_t columns : {0, 1, 40}) {
        for (const int64_t bad : {10, -11, 1'000'000'007}) {
          const auto pick = [&](int64_t i) { return i >= picked / 2 && i % 2 == 0 ? bad + i : i % 10; };
          for (const DType dtype : {DType::i64, DType::f32}) {
            compare_scatter(devices, scattering({10, Dim(columns)}, {Dim(picked)}, dtype, 0, pick), op, Values::few);
          }
        }
      }
    }
    compare_scatter(devices, scattering({0, 4}, {3}, DType::f32, 0, [](int64_t i) { return i; }), op, Values::few);
  }
}

TEST_CASE("the indices of what is true come in order", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  for (const Shape& shape :
       {Shape{1}, Shape{100}, Shape{4096}, Shape{4097}, Shape{30, 40, 5}, Shape{3, 20'000}, Shape{0, 3}}) {
    for (const int64_t one_of : {1, 2, 50, 1'000'000}) {
      for (const Lying& mask : element_count(shape).hint() > 0 ? ways_to_lie(shape, DType::boolean)
                                                               : std::vector<Lying>{plain(shape, DType::boolean)}) {
        Generator generator(10);
        const Tensor data = devices.tensor(DType::boolean, mask.shape,
                                           [&](int64_t) { return Scalar::of(generator.below(one_of) == 0); });
        // The number of updates in the view.
        Graph counting;
        const Arg read = read_lying(counting, mask);
        Attrs attrs;
        for (int i = 0; i < shape.rank(); ++i) attrs.axes.push_back(i);
        give(counting, counting.add(op_def(Op::sum), {read}, attrs, {DType::i64, Shape()}, Span{}, 0));
        const int64_t count = devices.on_host(counting, {data}).integer;
        INFO(to_string(shape) << " strides " << to_string(mask.view.strides) << ": " << count);
        devices.compare(nonzero(mask, count), {data});
      }
    }
  }
}

TEST_CASE("windows add up", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  for (const DType dtype : {DType::i8, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const int64_t step : {1, 2, 5}) {
      for (const int64_t dilation : {1, 3}) {
        for (const int64_t size : {1, 4}) {
          for (const int64_t rest : {0, 1}) {
            const int64_t windows = 7, extent = (windows - 1) * step + (size - 1) * dilation + 1 + rest;
            if (rest >= step) continue;
            for (const Lying& x : ways_to_lie({3, Dim(windows), 5, Dim(size)}, dtype)) {
              INFO(describe(dtype, x.view.shape) << " step " << step << " dilation " << dilation);
              devices.compare(fold_windows(x, 1, extent, step, dilation), {devices.random(x, Values::special, 11)});
            }
            const Lying x = plain({Dim(windows), Dim(size)}, dtype);
            devices.compare(fold_windows(x, 0, extent, step, dilation), {devices.random(x, Values::many, 12)});
          }
        }
      }
    }
  }
}

TEST_CASE("products of integers wrap around", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  for (const DType dtype :
       {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::u16, DType::u32, DType::u64}) {
    for (const auto& [m, k, n] :
         {std::array<int64_t, 3>{1, 1, 1}, {64, 16, 64}, {65, 17, 3}, {5, 200, 70}, {3, 0, 4}}) {
      const Lying a = plain({Dim(m), Dim(k)}, dtype), b = plain({Dim(k), Dim(n)}, dtype);
      INFO(describe(dtype, a.shape) << " @ " << to_string(b.shape));
      devices.compare(product(a, b), {devices.random(a, Values::many, 13), devices.random(b, Values::many, 14)});
    }
    for (const Lying& a : ways_to_lie({2, 20, 30}, dtype)) {
      for (const Lying& b : ways_to_lie({2, 30, 10}, dtype)) {
        devices.compare(product(a, b), {devices.random(a, Values::many, 15), devices.random(b, Values::many, 16)});
      }
    }
  }
}

/// Compares convolutions that have kernels of few pixels, of whole numbers.
void compare_few_pixels(Devices& devices, DType dtype) {
  // Groups, then strides, dilations and paddings before and after.
  const std::vector<int64_t> even = {1, 1, 1, 1, 1, 1, 1, 1, 1}, odd = {1, 2, 1, 1, 3, 2, 3, 0, 1},
                             line = {1, 2, 2, 1, 2};
  const std::tuple<Shape, Shape, std::vector<int64_t>> cases[] = {
      {{1, 300, 7, 7}, {40, 300, 3, 3}, even}, {{2, 37, 11, 13}, {45, 37, 3, 3}, odd},
      {{3, 129, 5, 9}, {17, 129, 1, 1}, odd},  {{2, 40, 12, 21}, {34, 40, 2, 4}, even},
      {{2, 96, 50}, {24, 96, 3}, line},        {{1, 64, 28, 28}, {128, 64, 3, 3}, even}};
  for (const auto& [images, filters, numbers] : cases) {
    INFO(describe(dtype, images) << ", " << to_string(filters));
    const Lying x = plain(images, dtype), w = plain(filters, dtype);
    devices.compare(convolution(Op::conv, x, w, numbers),
                    {devices.random(x, Values::few, 43), devices.random(w, Values::few, 44)});
  }
}

TEST_CASE("convolutions of few pixels of 16 bits are exact of whole numbers", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  compare_few_pixels(devices, DType::bf16);
  compare_few_pixels(devices, DType::f16);
}

TEST_CASE("convolutions of few pixels round f32 to the nearest tf32, and are exact of whole numbers", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices({.tf32 = true});
  compare_few_pixels(devices, DType::f32);
  const Shape one = {1, 256, 1, 1};
  const Graph sum = convolution(Op::conv, plain(one, DType::f32), plain(one, DType::f32), {1, 1, 1, 1, 1, 0, 0, 0, 0});
  const auto all = [&](double x) { return devices.tensor(DType::f32, one, [=](int64_t) { return Scalar::of(x); }); };
  const auto rounded = [&](double x) { return devices.on_gpu(sum, {all(x), all(1)}).real / 256; };
  CHECK(rounded(1 + 0x1p-12) == 1);
  CHECK(rounded(1 + 0x1p-11) == 1 + 0x1p-10);  // ties away from zero
  CHECK(rounded(-1 - 0x1.8p-11) == -1 - 0x1p-10);
}

TEST_CASE("convolutions of whole numbers are exact, and those of integers wrap around", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  // Unlike widths of padding, which cuDNN does not know: TSL's own kernels compute these.
  const std::vector<int64_t> plane = {1, 1, 2, 1, 1, 2, 0, 1, 2}, groups = {4, 2, 2, 1, 2};
  for (const DType dtype : {DType::i8, DType::u16, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Values values = is_float(dtype) ? Values::few : Values::many;
    const Lying w = plain({70, 9, 3, 3}, dtype), filters = plain({8, 3, 2}, dtype), y = plain({3, 70, 11, 7}, dtype);
    const Lying grads = plain({2, 8, 13}, dtype);
    INFO(name_of(dtype));
    for (const Lying& x : ways_to_lie({3, 9, 10, 13}, dtype)) {
      devices.compare(convolution(Op::conv, x, w, plane),
                      {devices.random(x, values, 22), devices.random(w, values, 23)});
      devices.compare(convolution(Op::conv_weight_grad, x, y, plane, {3, 3}),
                      {devices.random(x, values, 24), devices.random(y, values, 25)});
    }
    for (const Lying& from : ways_to_lie({3, 70, 11, 7}, dtype)) {
      devices.compare(convolution(Op::conv_input_grad, from, w, plane, {10, 13}),
                      {devices.random(from, values, 26), devices.random(w, values, 27)});
    }
    const std::vector<int64_t> steps = {6, 2, 2, 1, 1, 1, 2, 1, 2}, spread = {6, 1, 1, 2, 1, 2, 1, 2, 1};
    const Lying small = plain({12, 1, 3, 5}, dtype), fewer = plain({2, 12, 10, 11}, dtype);
    const Lying as_many = plain({2, 12, 20, 19}, dtype);
    for (const Lying& picture : ways_to_lie({2, 6, 20, 21}, dtype)) {
      const Tensor data = devices.random(picture, values, 34), weights = devices.random(small, values, 35);
      devices.compare(convolution(Op::conv, picture, small, steps), {data, weights});
      devices.compare(convolution(Op::conv, picture, small, spread), {data, weights});
      devices.compare(convolution(Op::conv_weight_grad, picture, fewer, steps, {3, 5}),
                      {data, devices.random(fewer, values, 36)});
    }
    for (const Lying& picture : ways_to_lie({2, 12, 20, 19}, dtype)) {
      devices.compare(convolution(Op::conv_input_grad, picture, small, spread, {20, 21}),
                      {devices.random(picture, values, 37), devices.random(small, values, 38)});
    }
    devices.compare(convolution(Op::conv_input_grad, fewer, small, steps, {20, 21}),
                    {devices.random(fewer, values, 39), devices.random(small, values, 40)});
    devices.compare(convolution(Op::conv_weight_grad, plain({2, 6, 20, 21}, dtype), as_many, spread, {3, 5}),
                    {devices.random(plain({2, 6, 20, 21}, dtype), values, 41), devices.random(as_many, values, 42)});
    const Lying lines = plain({2, 12, 25}, dtype);
    devices.compare(convolution(Op::conv, lines, filters, groups),
                    {devices.random(lines, values, 28), devices.random(filters, values, 29)});
    devices.compare(convolution(Op::conv_input_grad, grads, filters, groups, {25}),
                    {devices.random(grads, values, 30), devices.random(filters, values, 31)});
    devices.compare(convolution(Op::conv_weight_grad, lines, grads, groups, {2}),
                    {devices.random(lines, values, 32), devices.random(grads, values, 33)});
  }
}

TEST_CASE("an offset that a run decides is added to where an operand lies", "[cuda]") {
  TSL_NEEDS_GPU();
  Devices devices;
  SymbolTable symbols;
  const Dim offset(symbols.input(Scalar::of(int64_t{0})));
  const auto shifted = [&](const Shape& shape, DType dtype) {
    Lying x = plain({Dim(element_count(shape).hint() + 100)}, dtype);
    x.view = Layout::contiguous(shape);
    x.view.offset = offset;
    return x;
  };
  for (const int64_t at : {0, 1, 77}) {
    const std::vector<Scalar> values = {Scalar::of(at)};
    const Lying x = shifted({20, 50}, DType::f32), index = shifted({700}, DType::i64),
                updates = shifted({700, 8}, DType::f32);
    const Tensor data = devices.random(x, Values::many, 17);
    devices.compare(scan(Op::cumsum, x, 1), {data}, values);
    devices.compare(scan(Op::cumsum, x, 0), {data}, values);
    devices.compare(argsort(x, 1, false), {data}, values);
    devices.compare(fold_windows(x, 0, 69, 1, 1), {data}, values);
    Generator generator(18);
    std::vector<int64_t> picks;
    for (int i = 0; i < 800; ++i) picks.push_back(generator.below(9));
    devices.compare(scatter(Op::scatter_add, plain({9, 8}, DType::f32), index, updates, 0),
                    {devices.random(plain({9, 8}, DType::f32), Values::many, 19), devices.whole(picks, {800}),
                     devices.random(updates, Values::many, 20)},
                    values);
  }
}

TEST_CASE("long rows and many of them", "[cuda][large]") {
  TSL_NEEDS_GPU();
  Devices devices;
  const auto check = [&](Graph graph, const Lying& x, Values values) {
    INFO(describe(x.dtype, x.shape));
    devices.compare(graph, {devices.random(x, values, 21)});
  };
  for (const DType dtype : {DType::f16, DType::f32, DType::i64}) {
    for (const Shape& shape : {Shape{3'000'001}, Shape{3, 400'000}, Shape{2100, 1500}, Shape{20'000, 48}}) {
      const Lying x = plain(shape, dtype);
      for (int axis = 0; axis < shape.rank(); ++axis) {
        check(scan(Op::cumsum, x, axis), x, Values::many);
        check(argsort(x, axis, axis == 0), x, Values::special);
      }
    }
    const Lying mask = plain({1'000'003, 3}, DType::boolean);
    const Tensor all = devices.tensor(DType::boolean, mask.shape, [](int64_t i) { return Scalar::of(i % 3 != 1); });
    devices.compare(nonzero(mask, 2'000'006), {all});
    Generator generator(22);
    for (const int64_t rows : {10, 50'000, 3'000'000}) {
      const auto pick = [&](int64_t) { return either(generator, rows); };
      compare_scatter(devices, scattering({Dim(rows)}, {1'000'000}, dtype, 0, pick), Op::scatter_add, Values::many);
      compare_scatter(devices, scattering({Dim(rows)}, {1'000'000}, dtype, 0, pick), Op::scatter, Values::many);
      if (rows > 100'000) continue;
      compare_scatter(devices, scattering({Dim(rows), 100}, {9000}, dtype, 0, pick), Op::scatter_add, Values::many);
      compare_scatter(devices, scattering({Dim(rows), 6}, {90'000}, dtype, 0, pick), Op::scatter_add, Values::many);
    }
  }
}
