// Compares matrix products with a simple implementation. Needs a GPU and cuBLASLt.
#include "backend/cuda/libraries/matmul.h"

#include <array>
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

/// A matrix operand with its elements: small whole numbers, so that products are exact in every type.
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
  Ref<Storage> workspace = allocator.allocate(uint64_t{64} << 20);  // more than any product needs

  Ref<Storage> upload(const std::vector<std::byte>& bytes) {
    Ref<Storage> storage = allocator.allocate(bytes.size());
    gpu.copy_to_device(address_of(storage->data()), bytes.data(), bytes.size());
    return storage;
  }

  /// The result's memory, filled with -1 to detect elements that are not written. The bias starts one element further
  /// on, the operands `skipped` elements.
  std::vector<std::byte> run(const Gemm& gemm, const Matrix& a, const Matrix& b, size_t c_count,
                             const std::vector<double>& bias = {0}, size_t skipped = 0) {
    const Ref<Storage> to_add = upload(encode(bias, gemm.dtype));
    const Ref<Storage> from_a = upload(encode(a.values, gemm.dtype)), from_b = upload(encode(b.values, gemm.dtype));
    const Ref<Storage> to = upload(encode(std::vector<double>(c_count, -1), gemm.dtype));
    const size_t offset = skipped * size_of(gemm.dtype);
    matmul.run(gemm, address_of(from_a->data()) + offset, address_of(from_b->data()) + offset, address_of(to->data()),
               address_of(workspace->data()), address_of(to_add->data()) + size_of(gemm.dtype));
    std::vector<std::byte> bytes(c_count * size_of(gemm.dtype));
    gpu.copy_to_host(bytes.data(), address_of(to->data()), bytes.size());
    return bytes;
  }
};

double element(const std::vector<std::byte>& bytes, DType dtype, int64_t i) {
  return load_element(dtype, bytes.data() + static_cast<size_t>(i) * size_of(dtype)).real;
}

void compare(Fixture& fixture, Gemm gemm, bool transpose_a, bool transpose_b, int64_t padding, bool repeats_b) {
  std::mt19937 random(7);
  const Matrix a = make_matrix(gemm.m, gemm.k, gemm.batch, transpose_a, padding, false, random);
  const Matrix b = make_matrix(gemm.k, gemm.n, gemm.batch, transpose_b, padding, repeats_b, random);
  gemm.a = a.operand;
  gemm.b = b.operand;
  gemm.c.leading = gemm.n + padding;
  gemm.c.batch_stride = gemm.m * gemm.c.leading;
  const auto count = static_cast<size_t>(gemm.batch * gemm.c.batch_stride);
  std::vector<double> bias(static_cast<size_t>(gemm.n) + 1);
  for (double& value : bias) value = static_cast<double>(random() % 7) - 3;
  const std::vector<std::byte> bytes = fixture.run(gemm, a, b, count, bias);
  const auto finished = [&](double sum, int64_t column) {
    if (gemm.epilogue.bias) sum += bias[static_cast<size_t>(column) + 1];
    return gemm.epilogue.activation == Op::relu ? std::max(sum, 0.0) : sum;
  };
  size_t wrong = 0;
  for (int64_t i = 0; i < gemm.batch; ++i) {
    for (int64_t row = 0; row < gemm.m; ++row) {
      for (int64_t column = 0; column < gemm.c.leading; ++column) {
        double expected = column < gemm.n ? 0 : -1;
        for (int64_t k = 0; k < gemm.k && column < gemm.n; ++k) expected += a.at(i, row, k) * b.at(i, k, column);
        if (column < gemm.n) expected = finished(expected, column);
        wrong += element(bytes, gemm.dtype, i * gemm.c.batch_stride + row * gemm.c.leading + column) != expected;
      }
    }
  }
  INFO(name_of(gemm.dtype) << " " << gemm.m << "x" << gemm.k << " @ " << gemm.k << "x" << gemm.n << ", batch "
                           << gemm.batch << ", transposed " << transpose_a << transpose_b << ", padding " << padding);
  CHECK(wrong == 0);
  CHECK(fixture.run(gemm, a, b, count, bias) == bytes);
}

}  // namespace

TEST_CASE("products equal the naive ones, in every type and layout", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        Gemm gemm;
        gemm.dtype = dtype;
        // With k <= 28, bf16 represents every sum exactly (up to 256).
        gemm.m = 17, gemm.n = 33, gemm.k = 28;
        compare(fixture, gemm, transpose_a, transpose_b, 0, false);
        gemm.m = 64, gemm.n = 32, gemm.k = 16, gemm.batch = 3;
        compare(fixture, gemm, transpose_a, transpose_b, 0, false);
        compare(fixture, gemm, transpose_a, transpose_b, 8, true);
        gemm.m = 1, gemm.n = 5, gemm.k = 1;
        compare(fixture, gemm, transpose_a, transpose_b, 3, false);
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
      Gemm gemm;
      gemm.dtype = dtype;
      gemm.epilogue = epilogue;
      gemm.m = 17, gemm.n = 9, gemm.k = 27;
      compare(fixture, gemm, false, false, 0, false);
      compare(fixture, gemm, true, true, 1, false);
      gemm.m = 64, gemm.n = 32, gemm.k = 16, gemm.batch = 3;
      compare(fixture, gemm, false, true, 8, true);
      gemm.a.leading = gemm.b.leading = gemm.c.leading = 64;
      CHECK(fixture.matmul.has_epilogue(gemm));
      gemm.k = 0;
      CHECK_FALSE(fixture.matmul.has_epilogue(gemm));
    }
  }
}

TEST_CASE("a sum of nothing is zero, and an empty product is nothing", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Gemm gemm;
  gemm.m = 3, gemm.n = 4, gemm.k = 0, gemm.batch = 2;
  compare(fixture, gemm, false, false, 0, false);
  compare(fixture, gemm, false, false, 2, false);
  gemm.m = 0;
  CHECK_NOTHROW(fixture.matmul.run(gemm, 0, 0, 0, 0));
}

TEST_CASE("operands need not be aligned, and batches may be many", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Gemm gemm;
  gemm.dtype = DType::bf16;
  gemm.m = 8, gemm.n = 8, gemm.k = 8;
  gemm.a.leading = gemm.b.leading = gemm.c.leading = 8;
  const Ref<Storage> a = fixture.upload(encode(std::vector<double>(100, 1), gemm.dtype));
  const Ref<Storage> c = fixture.upload(encode(std::vector<double>(100, -1), gemm.dtype));
  const CUdeviceptr from = address_of(a->data()), to = address_of(c->data());
  fixture.matmul.run(gemm, from + 2, from + 6, to + 4, address_of(fixture.workspace->data()));
  std::vector<std::byte> bytes(200);
  fixture.gpu.copy_to_host(bytes.data(), to, bytes.size());
  for (int64_t i = 0; i < 100; ++i) CHECK(element(bytes, gemm.dtype, i) == (i >= 2 && i < 66 ? 8 : -1));

  gemm = Gemm();
  gemm.m = gemm.n = gemm.k = 1, gemm.batch = 70'000;
  compare(fixture, gemm, false, false, 0, false);
}

TEST_CASE("f32 products are of f32 unless tf32 is asked for", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = 64;
  gemm.a.leading = gemm.b.leading = gemm.c.leading = 64;
  std::mt19937 random(9);
  Matrix a = make_matrix(64, 64, 1, false, 0, false, random), b = a;
  const double x = 1 + std::ldexp(1.0, -12);  // f32 holds it, tf32 does not
  for (double& value : a.values) value = x;
  for (double& value : b.values) value = 1;
  CHECK(element(fixture.run(gemm, a, b, 64 * 64), DType::f32, 0) == 64 * x);
  gemm.tf32 = true;
  CHECK(element(fixture.run(gemm, a, b, 64 * 64), DType::f32, 0) == 64);  // the part that tf32 does not hold is lost
}

TEST_CASE("a product that was run once can be recorded", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = 32;
  gemm.a.leading = gemm.b.leading = gemm.c.leading = 32;
  const Ref<Storage> a = fixture.upload(encode(std::vector<double>(1024, 2), gemm.dtype));
  const Ref<Storage> c = fixture.upload(encode(std::vector<double>(1024, -1), gemm.dtype));
  const CUdeviceptr from = address_of(a->data()), to = address_of(c->data());
  fixture.matmul.run(gemm, from, from, to, address_of(fixture.workspace->data()));
  fixture.gpu.fill(to, 0, 4096);
  const CUgraph graph =
      fixture.gpu.capture([&] { fixture.matmul.run(gemm, from, from, to, address_of(fixture.workspace->data())); });
  CUgraphExec executable = nullptr;
  fixture.gpu.check(fixture.gpu.driver().cuGraphInstantiate(&executable, graph, 0), "instantiating");
  fixture.gpu.launch_graph(executable, "a product");
  std::vector<std::byte> bytes(4096);
  fixture.gpu.copy_to_host(bytes.data(), to, bytes.size());
  CHECK(element(bytes, DType::f32, 1023) == 128);
  fixture.gpu.driver().cuGraphExecDestroy(executable);
  fixture.gpu.driver().cuGraphDestroy(graph);
}

TEST_CASE("the bits of a product do not depend on addresses, gaps and repeats", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{16, 16, 16}, {64, 32, 200}, {17, 9, 33}, {1, 64, 300}}) {
      for (const bool transpose_b : {false, true}) {
        Gemm gemm;
        gemm.dtype = dtype, gemm.m = m, gemm.n = n, gemm.k = k, gemm.batch = 3;
        Matrix a = make_matrix(m, k, 3, false, 0, false, random),
               b = make_matrix(k, n, 3, transpose_b, 0, true, random);
        for (double& value : a.values) value = normal(random);
        for (double& value : b.values) value = normal(random);
        gemm.a = a.operand, gemm.b = b.operand;
        gemm.c.leading = n, gemm.c.batch_stride = m * n;
        const auto count = static_cast<size_t>(3 * m * n);
        const std::vector<std::byte> repeated = fixture.run(gemm, a, b, count);
        // The matrix that is repeated, three times in a row; a with gaps; and each from an address that is not aligned.
        Matrix copies = b;
        for (int i = 0; i < 2; ++i) copies.values.insert(copies.values.end(), b.values.begin(), b.values.end());
        Gemm plain = gemm;
        plain.b.batch_stride = k * n;
        CAPTURE(name_of(dtype), m, n, k, transpose_b);
        const std::vector<std::byte> expected = fixture.run(plain, a, copies, count);
        CHECK(repeated == expected);
        Matrix gaps = a;
        gaps.values.clear();
        for (int64_t row = 0; row < 3 * m; ++row) {
          const auto from = a.values.begin() + row * k;
          gaps.values.insert(gaps.values.end(), from, from + k);
          gaps.values.insert(gaps.values.end(), 8, 0.0);
        }
        Gemm apart = plain;
        apart.a.leading = k + 8, apart.a.batch_stride = m * (k + 8);
        CHECK(fixture.run(apart, gaps, copies, count) == expected);
        a.values.insert(a.values.begin(), 0);
        copies.values.insert(copies.values.begin(), 0);
        CHECK(fixture.run(plain, a, copies, count, {0}, 1) == expected);
      }
    }
  }
}

TEST_CASE("dimensions that cuBLASLt cannot count are refused", "[cuda]") {
  TSL_NEEDS_GPU();
  Fixture fixture;
  Gemm gemm;
  gemm.m = gemm.n = 1, gemm.k = int64_t{1} << 31;
  gemm.a.leading = gemm.k, gemm.b.leading = gemm.c.leading = 1;
  CHECK_THROWS_WITH(fixture.matmul.run(gemm, 0, 0, 0, 0), Catch::Contains("beyond 2^31 - 1"));
}
