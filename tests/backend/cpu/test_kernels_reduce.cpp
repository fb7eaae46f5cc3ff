// Tests reductions against the reduction order of kernels.h, implemented here again in the simplest way.
#include "catch.h"
#include "kernel_fixture.h"

using namespace kernel_test;
using cpu::kReduceBlock;
using cpu::kReduceLanes;
using cpu::ReduceOp;

namespace {

template <class T, class F> T in_order(const std::vector<T>& v, F f) {
  if (v.size() > kReduceBlock) {
    std::vector<T> results;
    for (size_t i = 0; i < v.size(); i += kReduceBlock) {
      const size_t end = std::min(v.size(), i + kReduceBlock);
      results.push_back(
          in_order(std::vector<T>(v.begin() + static_cast<ptrdiff_t>(i), v.begin() + static_cast<ptrdiff_t>(end)), f));
    }
    return in_order(results, f);
  }
  std::vector<T> lanes(v.begin(), v.begin() + static_cast<ptrdiff_t>(std::min(v.size(), kReduceLanes)));
  for (size_t i = kReduceLanes; i < v.size(); ++i) lanes[i % kReduceLanes] = f(lanes[i % kReduceLanes], v[i]);
  for (size_t half = kReduceLanes / 2; half >= 1; half /= 2) {
    for (size_t l = 0; l < half && l + half < lanes.size(); ++l) lanes[l] = f(lanes[l], lanes[l + half]);
    lanes.resize(std::min(lanes.size(), half));
  }
  return lanes[0];
}

std::vector<size_t> lengths() {
  std::vector<size_t> list;
  for (size_t n = 1; n <= 130; ++n) list.push_back(n);
  for (size_t n : {300, 4095, 4096, 4097, 10000, 70000}) list.push_back(n);
  return list;
}

template <class T> T combine(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::sum: return a + b;
    case ReduceOp::prod: return a * b;
    case ReduceOp::max: return math::s_maximum(a, b);
    default: return math::s_minimum(a, b);
  }
}

/// Elements of a dtype as T, and their results in the reduction order.
template <class T> void check_floats(DType dtype, DType accumulator) {
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min}) {
    const bool accumulates = op == ReduceOp::sum || op == ReduceOp::prod;
    const DType result = accumulates ? accumulator : dtype;
    for (size_t n : lengths()) {
      const size_t rows = n <= 300 ? 35 : 2;  // short rows are folded together
      Random random(n);
      Bytes in;
      for (size_t i = 0; i < rows * n; ++i) {
        const double spread = op == ReduceOp::prod ? 1 + (random.unit() - 0.5) * 0.01
                                                   : (random.unit() - 0.5) * std::exp2(20 * random.unit());
        put_cast(in, dtype, n == 77 && i % 50 == 3 ? NAN : i % 13 == 5 ? -0.0 : spread);
      }
      Bytes expected;
      for (size_t r = 0; r < rows; ++r) {
        std::vector<T> row;
        for (size_t i = 0; i < n; ++i) {
          const void* p[1] = {in.data() + (r * n + i) * size_of(dtype)};
          T wide;
          best().cast[index(dtype)][index(accumulator)](&wide, p, 1);
          row.push_back(wide);
        }
        const T value = in_order(row, [&](T a, T b) { return combine(op, a, b); });
        const void* p[1] = {&value};
        Bytes narrowed(size_of(result));
        best().cast[index(accumulator)][index(result)](narrowed.data(), p, 1);
        expected.insert(expected.end(), narrowed.begin(), narrowed.end());
      }
      for (Isa isa : isas()) {
        INFO(name_of(dtype) << " op " << static_cast<int>(op) << " n=" << n << " isa " << static_cast<int>(isa));
        const auto kernels = cpu::kernels(isa).reduce[static_cast<int>(op)][index(dtype)];
        Bytes got(rows * size_of(result));
        kernels.rows(got.data(), in.data(), rows, n);
        CHECK(first_difference(result, expected, got) == -1);
        if (n > kReduceBlock) continue;
        const size_t stride = rows + 2;
        Bytes turned(n * stride * size_of(dtype));
        for (size_t r = 0; r < rows; ++r) {
          for (size_t i = 0; i < n; ++i) {
            std::memcpy(turned.data() + (i * stride + r) * size_of(dtype), in.data() + (r * n + i) * size_of(dtype),
                        size_of(dtype));
          }
        }
        kernels.columns(got.data(), turned.data(), n, rows, stride);
        CHECK(first_difference(result, expected, got) == -1);
      }
    }
  }
}

/// exp and log of the best instruction set, which test_kernels_values.cpp compares with the others.
template <class T> T mapped(Op op, DType dtype, T x) {
  const void* in[1] = {&x};
  T out;
  best().map[static_cast<int>(op)][index(dtype)](&out, in, 1);
  return out;
}

template <class T> T logsumexp_by_law(DType dtype, const std::vector<T>& v) {
  if (v.size() > kReduceBlock) {
    std::vector<T> results;
    for (size_t i = 0; i < v.size(); i += kReduceBlock) {
      const size_t end = std::min(v.size(), i + kReduceBlock);
      results.push_back(logsumexp_by_law(
          dtype, std::vector<T>(v.begin() + static_cast<ptrdiff_t>(i), v.begin() + static_cast<ptrdiff_t>(end))));
    }
    return logsumexp_by_law(dtype, results);
  }
  const T greatest = in_order(v, [](T a, T b) { return math::s_maximum(a, b); });
  const T shift = std::isfinite(greatest) ? greatest : T(0);
  std::vector<T> powers;
  for (T x : v) powers.push_back(mapped(Op::exp, dtype, x - shift));
  return mapped(Op::log, dtype, in_order(powers, [](T a, T b) { return a + b; })) + shift;
}

/// Checks that results have the reduction order, for rows and columns, on every instruction set, and are close to
/// results in f64.
template <class T> void check_logsumexp(DType dtype) {
  for (size_t n : lengths()) {
    const size_t rows = 4, stride = rows + 2;  // the last row is special
    Random random(n);
    std::vector<T> in(rows * n), turned(n * stride), expected;
    for (size_t i = 0; i < rows * n; ++i) in[i] = static_cast<T>((random.unit() - 0.5) * (i % 11 == 3 ? 300 : 20));
    const T special[] = {-std::numeric_limits<T>::infinity(), std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN()};
    if (n % 4 == 0) std::fill(in.end() - static_cast<ptrdiff_t>(n), in.end(), special[0]);
    else in.back() = special[n % 4 - 1];
    for (size_t r = 0; r < rows; ++r) {
      const std::vector<T> row(in.begin() + static_cast<ptrdiff_t>(r * n),
                               in.begin() + static_cast<ptrdiff_t>((r + 1) * n));
      expected.push_back(logsumexp_by_law(dtype, row));
      for (size_t i = 0; i < n; ++i) turned[i * stride + r] = row[i];
      long double sum = 0, most = *std::max_element(row.begin(), row.end());
      if (r + 1 == rows) continue;
      for (T x : row) sum += std::exp(static_cast<long double>(x) - most);
      CHECK(std::fabs(static_cast<long double>(expected[r]) - (std::log(sum) + most)) <=
            8 * std::numeric_limits<T>::epsilon() * std::max(std::fabs(most), 1.0L));
    }
    Bytes wanted(rows * sizeof(T)), got(rows * sizeof(T));
    std::memcpy(wanted.data(), expected.data(), wanted.size());
    for (Isa isa : isas()) {
      INFO(name_of(dtype) << " n=" << n << " isa " << static_cast<int>(isa));
      const auto kernels = cpu::kernels(isa).reduce[static_cast<int>(ReduceOp::logsumexp)][index(dtype)];
      kernels.rows(got.data(), in.data(), rows, n);
      CHECK(first_difference(dtype, wanted, got) == -1);
      if (n > kReduceBlock) continue;
      kernels.columns(got.data(), turned.data(), n, rows, stride);
      CHECK(first_difference(dtype, wanted, got) == -1);
    }
  }
}

}  // namespace

TEST_CASE("logsumexp follows the reduction order in both forms", "[kernels][reduce]") {
  check_logsumexp<float>(DType::f32);
  check_logsumexp<double>(DType::f64);
}

TEST_CASE("reductions of floats follow the reduction order in both forms", "[kernels][reduce]") {
  check_floats<float>(DType::f32, DType::f32);
  check_floats<double>(DType::f64, DType::f64);
  check_floats<float>(DType::f16, DType::f32);
  check_floats<float>(DType::bf16, DType::f32);
}

TEST_CASE("more than a block of blocks follows the reduction order", "[kernels][reduce]") {
  const size_t n = kReduceBlock * kReduceBlock + 5000;
  std::vector<float> v(n);
  Random random(3);
  for (float& x : v) x = static_cast<float>(random.unit());
  float got = 0;
  best().reduce[static_cast<int>(ReduceOp::sum)][index(DType::f32)].rows(&got, v.data(), 1, n);
  CHECK(got == in_order(v, [](float a, float b) { return a + b; }));
}

TEST_CASE("wide columns are the columns of narrow ones", "[kernels][reduce]") {
  for (size_t turn = 0; turn < 2 * all_dtypes().size(); ++turn) {
    const DType dtype = all_dtypes()[turn / 2];
    const size_t n = turn % 2 ? 1300 : 41, columns = turn % 2 ? 130 : 700;
    const Bytes in = operands(dtype, n * columns, 2);
    for (int op = 0; op < cpu::kReduceOpCount; ++op) {
      const auto op_named = static_cast<ReduceOp>(op);
      if (op_named == ReduceOp::logsumexp && dtype != DType::f32 && dtype != DType::f64) continue;
      const bool accumulates = op_named == ReduceOp::sum || op_named == ReduceOp::prod;
      const DType result = accumulates ? accumulator_of(dtype) : op_named >= ReduceOp::any ? DType::boolean : dtype;
      Bytes expected(columns * size_of(result));
      const auto& generic = cpu::kernels(Isa::generic).reduce[op][index(dtype)];
      for (size_t c = 0; c < columns; ++c) {
        Bytes column;
        for (size_t i = 0; i < n; ++i) {
          const auto* p = in.data() + (i * columns + c) * size_of(dtype);
          column.insert(column.end(), p, p + size_of(dtype));
        }
        generic.rows(expected.data() + c * size_of(result), column.data(), 1, n);
      }
      for (Isa isa : isas()) {
        INFO(name_of(dtype) << " op " << op);
        Bytes got(columns * size_of(result));
        cpu::kernels(isa).reduce[op][index(dtype)].columns(got.data(), in.data(), n, columns, columns);
        CHECK(first_difference(result, expected, got) == -1);
      }
    }
  }
}

TEST_CASE("reductions of integers and bools", "[kernels][reduce]") {
  const std::vector<int8_t> v = {-128, 127, 3, 5, -7};
  const std::vector<uint8_t> flags = {1, 1, 0, 1, 1};
  const auto run = [&](ReduceOp op, DType dtype, const void* in, auto result) {
    best().reduce[static_cast<int>(op)][index(dtype)].rows(&result, in, 1, 5);
    return result;
  };
  CHECK(run(ReduceOp::sum, DType::i8, v.data(), int64_t{}) == 0);
  CHECK(run(ReduceOp::prod, DType::i8, v.data(), int64_t{}) == int64_t{-128} * 127 * 3 * 5 * -7);
  CHECK(run(ReduceOp::max, DType::i8, v.data(), int8_t{}) == 127);
  CHECK(run(ReduceOp::min, DType::i8, v.data(), int8_t{}) == -128);
  CHECK(run(ReduceOp::any, DType::i8, v.data(), false));
  CHECK(run(ReduceOp::sum, DType::boolean, flags.data(), int64_t{}) == 4);
  CHECK(run(ReduceOp::max, DType::boolean, flags.data(), false));
  CHECK_FALSE(run(ReduceOp::all, DType::boolean, flags.data(), true));
  const std::vector<int64_t> large = {INT64_MAX, 1, 0, 0, 0};
  CHECK(run(ReduceOp::sum, DType::i64, large.data(), int64_t{}) == INT64_MIN);
  const std::vector<float> nans = {0, NAN, 0, 0, 0};
  CHECK(run(ReduceOp::any, DType::f32, nans.data(), false));
}

TEST_CASE("argmax and argmin: the first of equals; the first NaN wins", "[kernels][reduce]") {
  for (DType dtype : all_dtypes()) {
    for (const auto& [rows, n] : std::initializer_list<std::pair<size_t, size_t>>{
             {1, 1}, {1, 5}, {70, 2}, {64, 32}, {130, 33}, {3, 64}, {3, 65}, {2, 1000}, {1, 3000}}) {
      Random random(n);
      std::vector<std::vector<double>> in_rows(rows, std::vector<double>(n));
      for (auto& row : in_rows) {
        for (double& x : row) x = static_cast<double>(random.next() % (dtype == DType::boolean ? 2 : 100));
      }
      for (bool with_nan : {false, true}) {
        if (with_nan && (!is_float(dtype) || n < 5)) continue;
        Bytes in;
        std::vector<int64_t> most(rows, 0), least(rows, 0);
        for (size_t r = 0; r < rows; ++r) {
          std::vector<double>& row = in_rows[r];
          if (with_nan) row[n - 1] = row[n / 2 - r % 2] = NAN;
          for (double x : row) put_cast(in, dtype, x);
          for (size_t i = 0; i < n; ++i) {
            if (row[i] > row[most[r]]) most[r] = static_cast<int64_t>(i);
            if (row[i] < row[least[r]]) least[r] = static_cast<int64_t>(i);
          }
          if (with_nan) most[r] = least[r] = static_cast<int64_t>(n / 2 - r % 2);
        }
        for (Isa isa : isas()) {
          INFO(name_of(dtype) << " rows=" << rows << " n=" << n << " nan=" << with_nan);
          std::vector<int64_t> got(rows, -1);
          cpu::kernels(isa).argmax[index(dtype)](got.data(), in.data(), rows, n);
          CHECK(got == most);
          cpu::kernels(isa).argmin[index(dtype)](got.data(), in.data(), rows, n);
          CHECK(got == least);
        }
      }
    }
  }
}
