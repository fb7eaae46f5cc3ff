// Checks which kernels exist, and that every instruction set computes the same bits.
#include "catch.h"
#include "kernel_fixture.h"

using namespace kernel_test;

TEST_CASE("every elementwise op has a kernel for exactly the dtypes of its rule", "[kernels]") {
  for (Isa isa : isas()) {
    for (const Row& row : rows()) {
      for (DType dtype : all_dtypes()) {
        INFO(row.name << " " << name_of(dtype));
        bool expected = true;
        if (row.rule == DTypeRule::floating || row.rule == DTypeRule::predicate) expected = is_float(dtype);
        if (row.rule == DTypeRule::same) expected = dtype != DType::boolean;
        if (row.rule == DTypeRule::bitwise) expected = !is_float(dtype);
        if (row.rule == DTypeRule::shift) expected = is_integer(dtype);
        if (row.rule == DTypeRule::arithmetic && dtype == DType::boolean) {
          expected = row.op == Op::add || row.op == Op::mul || row.op == Op::minimum || row.op == Op::maximum;
        }
        CHECK((cpu::kernels(isa).map[static_cast<int>(row.op)][index(dtype)] != nullptr) == expected);
      }
    }
  }
}

TEST_CASE("the other kernels are there for every dtype that has a meaning", "[kernels]") {
  for (Isa isa : isas()) {
    const KernelTable& table = cpu::kernels(isa);
    for (DType dtype : all_dtypes()) {
      for (DType to : all_dtypes()) CHECK(table.cast[index(dtype)][index(to)]);
      for (int op = 0; op < cpu::kReduceOpCount; ++op) {
        const auto& kernels = table.reduce[op][index(dtype)];
        const bool expected =
            op != static_cast<int>(cpu::ReduceOp::logsumexp) || dtype == DType::f32 || dtype == DType::f64;
        CHECK(((kernels.rows != nullptr) == expected && (kernels.columns != nullptr) == expected));
      }
      CHECK((table.argmax[index(dtype)] && table.argmin[index(dtype)]));
      CHECK((table.cumsum[index(dtype)].rows && table.cumprod[index(dtype)].rows));
      CHECK((table.random.uniform[index(dtype)] != nullptr) == is_float(dtype));
      CHECK((table.random.normal[index(dtype)] != nullptr) == is_float(dtype));
      CHECK((table.iota[index(dtype)] != nullptr) == (dtype != DType::boolean));
    }
    for (DType dtype : all_dtypes()) CHECK((table.sort_keys[index(dtype)] && table.keyed_elements[index(dtype)]));
    for (size_t size : {1, 2, 4, 8}) CHECK((table.load_2d[size] && table.store_2d[size]));
    CHECK(table.random.bits);
  }
}

namespace {

Bytes run_map(cpu::MapKernel kernel, const std::vector<Bytes>& in, size_t n, DType result, bool* ok = nullptr) {
  Bytes out(n * size_of(result));
  const void* pointers[3] = {};
  for (size_t k = 0; k < in.size(); ++k) pointers[k] = in[k].data();
  const bool fine = kernel(out.data(), pointers, n);
  if (ok) *ok = fine;
  return out;
}

std::vector<Bytes> operands_of(const Row& row, DType dtype, size_t n) {
  std::vector<Bytes> in;
  for (int k = 0; k < row.arity; ++k) {
    in.push_back(operands(row.arity == 3 && k == 0 ? DType::boolean : dtype, n, static_cast<uint64_t>(k) + 7));
  }
  return in;
}

}  // namespace

TEST_CASE("instruction sets agree bit for bit: elementwise", "[kernels]") {
  for (const Row& row : rows()) {
    for (DType dtype : all_dtypes()) {
      const auto kernel = cpu::kernels(Isa::generic).map[static_cast<int>(row.op)][index(dtype)];
      if (!kernel) continue;
      const DType result = answers_bool(row) ? DType::boolean : dtype;
      for (size_t n : {1, 7, 33, 4099}) {
        const std::vector<Bytes> in = operands_of(row, dtype, n);
        bool ok_expected = false, ok = false;
        const Bytes expected = run_map(kernel, in, n, result, &ok_expected);
        for (Isa isa : isas()) {
          INFO(row.name << " " << name_of(dtype) << " n=" << n << " isa=" << static_cast<int>(isa));
          const Bytes got = run_map(cpu::kernels(isa).map[static_cast<int>(row.op)][index(dtype)], in, n, result, &ok);
          CHECK(first_difference(result, expected, got) == -1);
          CHECK(ok == ok_expected);
        }
      }
    }
  }
}

TEST_CASE("results may replace an operand of the same size", "[kernels]") {
  constexpr size_t n = 1000;
  for (const Row& row : rows()) {
    for (DType dtype : all_dtypes()) {
      const auto kernel = best().map[static_cast<int>(row.op)][index(dtype)];
      if (!kernel || (answers_bool(row) && size_of(dtype) > 1)) continue;
      std::vector<Bytes> in = operands_of(row, dtype, n);
      const DType result = answers_bool(row) ? DType::boolean : dtype;
      const Bytes expected = run_map(kernel, in, n, result);
      const void* pointers[3] = {};
      for (size_t k = 0; k < in.size(); ++k) pointers[k] = in[k].data();
      kernel(in.back().data(), pointers, n);
      INFO(row.name << " " << name_of(dtype));
      CHECK(first_difference(result, expected, in.back()) == -1);
    }
  }
}

TEST_CASE("instruction sets agree bit for bit: casts", "[kernels]") {
  constexpr size_t n = 2053;
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      const Bytes in = operands(from, n, 5);
      const Bytes expected = run_map(cpu::kernels(Isa::generic).cast[index(from)][index(to)], {in}, n, to);
      for (Isa isa : isas()) {
        INFO(name_of(from) << " to " << name_of(to));
        CHECK(first_difference(to, expected, run_map(cpu::kernels(isa).cast[index(from)][index(to)], {in}, n, to)) ==
              -1);
      }
    }
  }
}

TEST_CASE("instruction sets agree bit for bit: scans, positions, random numbers, iota", "[kernels]") {
  constexpr size_t n = 1031;
  const KernelTable& generic = cpu::kernels(Isa::generic);
  for (Isa isa : isas()) {
    const KernelTable& table = cpu::kernels(isa);
    for (DType dtype : all_dtypes()) {
      INFO(name_of(dtype));
      const int d = index(dtype);
      const auto agree = [](DType result, size_t count, auto&& run_a, auto&& run_b) {
        Bytes a(count * size_of(result)), b(count * size_of(result));
        run_a(a.data());
        run_b(b.data());
        CHECK(first_difference(result, a, b) == -1);
      };
      const Bytes in = operands(dtype, n, 11);
      const DType scanned = total_of(dtype);
      agree(
          scanned, n, [&](void* y) { generic.cumsum[d].rows(y, in.data(), 1, n); },
          [&](void* y) { table.cumsum[d].rows(y, in.data(), 1, n); });
      agree(
          scanned, n, [&](void* y) { generic.cumprod[d].rows(y, in.data(), 1, n); },
          [&](void* y) { table.cumprod[d].rows(y, in.data(), 1, n); });
      const bool is_long = size_of(dtype) == sizeof(uint64_t);
      const DType key = is_long ? DType::i64 : DType::i32;
      Bytes keys(n * size_of(key));
      table.sort_keys[d](keys.data(), in.data(), n, true);
      agree(
          key, n, [&](void* y) { generic.sort_keys[d](y, in.data(), n, true); },
          [&](void* y) { table.sort_keys[d](y, in.data(), n, true); });
      agree(
          dtype, n, [&](void* y) { generic.keyed_elements[d](y, keys.data(), n, true); },
          [&](void* y) { table.keyed_elements[d](y, keys.data(), n, true); });
      agree(
          DType::i64, 10 * 60,
          [&](void* y) { generic.order_rows[is_long](static_cast<int64_t*>(y), keys.data(), 10, 100, 60); },
          [&](void* y) { table.order_rows[is_long](static_cast<int64_t*>(y), keys.data(), 10, 100, 60); });
      agree(
          DType::i64, 1, [&](void* y) { generic.argmax[d](y, in.data(), 1, n); },
          [&](void* y) { table.argmax[d](y, in.data(), 1, n); });
      agree(
          DType::i64, 1, [&](void* y) { generic.argmin[d](y, in.data(), 1, n); },
          [&](void* y) { table.argmin[d](y, in.data(), 1, n); });
      if (is_float(dtype)) {
        agree(
            dtype, n, [&](void* y) { generic.random.uniform[d](y, 3, 9, 5, n); },
            [&](void* y) { table.random.uniform[d](y, 3, 9, 5, n); });
        agree(
            dtype, n, [&](void* y) { generic.random.normal[d](y, 3, 9, 5, n); },
            [&](void* y) { table.random.normal[d](y, 3, 9, 5, n); });
      }
      if (dtype != DType::boolean) {
        const Scalar start = is_float(dtype) ? Scalar::of(-3.25) : Scalar::of(int64_t{-3});
        const Scalar step = is_float(dtype) ? Scalar::of(0.1) : Scalar::of(int64_t{7});
        agree(
            dtype, n, [&](void* y) { generic.iota[d](y, start, step, 5, n); },
            [&](void* y) { table.iota[d](y, start, step, 5, n); });
      }
    }
  }
}
