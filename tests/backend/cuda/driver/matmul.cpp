// Matrix products against naive ones. Needs a GPU and cuBLASLt.
#include "backend/cuda/driver/matmul.h"

#include <cmath>
#include <cstring>
#include <random>

#include "backend/cuda/driver/memory.h"
#include "support/gpu.h"
#include "tensor/elements.h"

using namespace tsl;
using namespace tsl::cuda;
using Gpu = tsl::cuda::Device;

namespace {

/// A matrix operand with its elements: small whole numbers, so that every product is exact in every type.
struct Matrix {
  MatrixOperand operand;
  std::vector<double> values;  // as in memory
  double at(int64_t batch, int64_t row, int64_t column) const {
    if (operand.transposed) std::swap(row, column);
    return values[static_cast<size_t>(batch * operand.batch_stride + row * operand.leading + column)];
  }
};

Matrix make_matrix(int64_t rows, int64_t columns, int64_t batch, bool transposed, int64_t padding, bool repeats,
                   std::mt19937& random) {
  if (transposed) std::swap(rows, columns);
  Matrix matrix;
  matrix.operand.leading = columns + padding;
  matrix.operand.transposed = transposed;
  matrix.operand.batch_stride = repeats ? 0 : rows * matrix.operand.leading;
  matrix.values.resize(static_cast<size_t>(rows * matrix.operand.leading * (repeats ? 1 : batch)));
  for (double& value : matrix.values) value = static_cast<double>(random() % 7) - 3;
  return matrix;
}

std::vector<std::byte> encode(const std::vector<double>& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  for (size_t i = 0; i < values.size(); ++i)
    store_element(dtype, bytes.data() + i * size_of(dtype), Scalar::of(values[i]));
  return bytes;
}

struct Fixture {
  Gpu gpu;
  DeviceAllocator allocator{gpu};
  Matmul matmul{gpu, allocator};

  Ref<Storage> upload(const std::vector<std::byte>& bytes) {
    Ref<Storage> storage = allocator.allocate(bytes.size());
    gpu.copy_to_device(address_of(storage->data()), bytes.data(), bytes.size());
    return storage;
  }

  /// The result's memory, filled with -1 where the product writes nothing. The bias lies behind one more element.
  std::vector<std::byte> run(const Product& product, const Matrix& a, const Matrix& b, size_t c_count,
                             const std::vector<double>& bias = {0}) {
    const Ref<Storage> to_add = upload(encode(bias, product.dtype));
    const Ref<Storage> from_a = upload(encode(a.values, product.dtype)),
                       from_b = upload(encode(b.values, product.dtype));
    const Ref<Storage> to = upload(encode(std::vector<double>(c_count, -1), product.dtype));
    matmul.run(product, address_of(from_a->data()), address_of(from_b->data()), address_of(to->data()),
               address_of(to_add->data()) + size_of(product.dtype));
    std::vector<std::byte> bytes(c_count * size_of(product.dtype));
    gpu.copy_to_host(bytes.data(), address_of(to->data()), bytes.size());
    return bytes;
  }
};

double element(const std::vector<std::byte>& bytes, DType dtype, int64_t i) {
  return load_element(dtype, bytes.data() + static_cast<size_t>(i) * size_of(dtype)).real;
}

void compare(Fixture& fixture, Product product, bool transpose_a, bool transpose_b, int64_t padding, bool repeats_b) {
  std::mt19937 random(7);
  const Matrix a = make_matrix(product.m, product.k, product.batch, transpose_a, padding, false, random);
  const Matrix b = make_matrix(product.k, product.n, product.batch, transpose_b, padding, repeats_b, random);
  product.a = a.operand;
  product.b = b.operand;
  product.c.leading = product.n + padding;
  product.c.batch_stride = product.m * product.c.leading;
  const auto count = static_cast<size_t>(product.batch * product.c.batch_stride);
  std::vector<double> bias(static_cast<size_t>(product.n) + 1);
  for (double& value : bias) value = static_cast<double>(random() % 7) - 3;
  const std::vector<std::byte> bytes = fixture.run(product, a, b, count, bias);
  const auto finished = [&](double sum, int64_t column) {
    if (product.epilogue.bias) sum += bias[static_cast<size_t>(column) + 1];
    return product.epilogue.activation == Op::relu ? std::max(sum, 0.0) : sum;
  };
  size_t wrong = 0;
  for (int64_t i = 0; i < product.batch; ++i) {
    for (int64_t row = 0; row < product.m; ++row) {
      for (int64_t column = 0; column < product.c.leading; ++column) {
        double expected = column < product.n ? 0 : -1;
        for (int64_t k = 0; k < product.k && column < product.n; ++k) expected += a.at(i, row, k) * b.at(i, k, column);
        if (column < product.n) expected = finished(expected, column);
        wrong +=
            element(bytes, product.dtype, i * product.c.batch_stride + row * product.c.leading + column) != expected;
      }
    }
  }
  INFO(name_of(product.dtype) << " " << product.m << "x" << product.k << " @ " << product.k << "x" << product.n
                              << ", batch " << product.batch << ", transposed " << transpose_a << transpose_b
                              << ", padding " << padding);
  CHECK(wrong == 0);
  CHECK(fixture.run(product, a, b, count, bias) == bytes);
}

}  // namespace

TEST_CASE("products equal the naive ones, in every type and layout", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        Product product;
        product.dtype = dtype;
        // With k <= 28 no sum leaves what bf16 holds exactly (256).
        product.m = 17, product.n = 33, product.k = 28;
        compare(fixture, product, transpose_a, transpose_b, 0, false);
        product.m = 64, product.n = 32, product.k = 16, product.batch = 3;
        compare(fixture, product, transpose_a, transpose_b, 0, false);
        compare(fixture, product, transpose_a, transpose_b, 8, true);
        product.m = 1, product.n = 5, product.k = 1;
        compare(fixture, product, transpose_a, transpose_b, 3, false);
      }
    }
  }
  CHECK_FALSE(fixture.matmul.version().empty());
}

TEST_CASE("epilogues add a bias, wherever it lies, and apply relu", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const graph::Epilogue& epilogue :
         {graph::Epilogue{true}, graph::Epilogue{true, Op::relu}, graph::Epilogue{false, Op::relu}}) {
      Product product;
      product.dtype = dtype;
      product.epilogue = epilogue;
      product.m = 17, product.n = 9, product.k = 27;
      compare(fixture, product, false, false, 0, false);
      compare(fixture, product, true, true, 1, false);
      product.m = 64, product.n = 32, product.k = 16, product.batch = 3;
      compare(fixture, product, false, true, 8, true);
      product.a.leading = product.b.leading = product.c.leading = 64;
      CHECK(fixture.matmul.has_epilogue(product));
      product.k = 0;
      CHECK_FALSE(fixture.matmul.has_epilogue(product));
    }
  }
}

TEST_CASE("a sum of nothing is zero, and an empty product is nothing", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Product product;
  product.m = 3, product.n = 4, product.k = 0, product.batch = 2;
  compare(fixture, product, false, false, 0, false);
  compare(fixture, product, false, false, 2, false);
  product.m = 0;
  CHECK_NOTHROW(fixture.matmul.run(product, 0, 0, 0));
}

TEST_CASE("operands need not be aligned, and batches may be many", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Product product;
  product.dtype = DType::bf16;
  product.m = 8, product.n = 8, product.k = 8;
  product.a.leading = product.b.leading = product.c.leading = 8;
  const Ref<Storage> a = fixture.upload(encode(std::vector<double>(100, 1), product.dtype));
  const Ref<Storage> c = fixture.upload(encode(std::vector<double>(100, -1), product.dtype));
  const CUdeviceptr from = address_of(a->data()), to = address_of(c->data());
  fixture.matmul.run(product, from + 2, from + 6, to + 4);
  std::vector<std::byte> bytes(200);
  fixture.gpu.copy_to_host(bytes.data(), to, bytes.size());
  for (int64_t i = 0; i < 100; ++i) CHECK(element(bytes, product.dtype, i) == (i >= 2 && i < 66 ? 8 : -1));

  product = Product();
  product.m = product.n = product.k = 1, product.batch = 70'000;
  compare(fixture, product, false, false, 0, false);
}

TEST_CASE("f32 products are of f32 unless tf32 is asked for", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Product product;
  product.m = product.n = product.k = 64;
  product.a.leading = product.b.leading = product.c.leading = 64;
  std::mt19937 random(9);
  Matrix a = make_matrix(64, 64, 1, false, 0, false, random), b = a;
  const double x = 1 + std::ldexp(1.0, -12);  // f32 holds it, tf32 does not
  for (double& value : a.values) value = x;
  for (double& value : b.values) value = 1;
  CHECK(element(fixture.run(product, a, b, 64 * 64), DType::f32, 0) == 64 * x);
  product.tf32 = true;
  CHECK(element(fixture.run(product, a, b, 64 * 64), DType::f32, 0) == Approx(64).epsilon(1e-3));
}

TEST_CASE("a product that was run once can be recorded", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Product product;
  product.m = product.n = product.k = 32;
  product.a.leading = product.b.leading = product.c.leading = 32;
  const Ref<Storage> a = fixture.upload(encode(std::vector<double>(1024, 2), product.dtype));
  const Ref<Storage> c = fixture.upload(encode(std::vector<double>(1024, -1), product.dtype));
  const CUdeviceptr from = address_of(a->data()), to = address_of(c->data());
  fixture.matmul.run(product, from, from, to);
  fixture.gpu.fill(to, 0, 4096);
  const CUgraph graph = fixture.gpu.capture([&] { fixture.matmul.run(product, from, from, to); });
  CUgraphExec executable = nullptr;
  fixture.gpu.check(fixture.gpu.driver().cuGraphInstantiate(&executable, graph, 0), "instantiating");
  fixture.gpu.launch_graph(executable, "a product");
  std::vector<std::byte> bytes(4096);
  fixture.gpu.copy_to_host(bytes.data(), to, bytes.size());
  CHECK(element(bytes, DType::f32, 1023) == 128);
  fixture.gpu.driver().cuGraphExecDestroy(executable);
  fixture.gpu.driver().cuGraphDestroy(graph);
}
