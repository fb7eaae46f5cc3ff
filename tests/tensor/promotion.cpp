#include "tensor/promotion.h"

#include <algorithm>
#include <cmath>

#include "catch.h"
#include "tensor/recording_ops.h"

using namespace tsl;

namespace {

Attrs with_dtype(DType dtype) {
  Attrs attrs;
  attrs.dtype = dtype;
  return attrs;
}

std::string type_of(const Tensor& x) { return std::string(name_of(x.dtype())); }

const Operand kTrue = Scalar::of(true), kInt = Scalar::of(int64_t{3}), kFloat = Scalar::of(2.5);

}  // namespace

TEST_CASE("two tensors promote as in PyTorch, and wide unsigned integers to the least integer that holds both") {
  // torch.promote_types(row, column), in the order of DType; "" where no integer holds the values of both.
  static constexpr std::array<std::array<std::string_view, 13>, 13> table = {{
      {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "u16", "u32", "u64"},
      {"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "u16", "u32", "u64"},
      {"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "i32", "i64", ""},
      {"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "i32", "i64", ""},
      {"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64", "i32", "i64", ""},
      {"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64", "i64", "i64", ""},
      {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64", "f16", "f16", "f16"},
      {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64", "bf16", "bf16", "bf16"},
      {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64", "f32", "f32", "f32"},
      {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
      {"u16", "u16", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64", "u16", "u32", "u64"},
      {"u32", "u32", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64", "u32", "u32", "u64"},
      {"u64", "u64", "", "", "", "", "f16", "bf16", "f32", "f64", "u64", "u64", "u64"},
  }};
  RecordingOps ops;
  for (size_t a = 0; a < table.size(); ++a) {
    for (size_t b = 0; b < table.size(); ++b) {
      const DType left = static_cast<DType>(a), right = static_cast<DType>(b);
      CAPTURE(name_of(left), name_of(right));
      if (table[a][b].empty()) {
        CHECK_THAT(failure_of([&] { promote(left, right); }),
                   Catch::Contains("have no common dtype: no integer holds the values of both"));
        continue;
      }
      REQUIRE(name_of(promote(left, right)) == table[a][b]);
      REQUIRE(type_of(ops.call(Op::add, {ops.make(left, {2}), ops.make(right, {2})})) == table[a][b]);
    }
  }
}

TEST_CASE("a number beside a tensor changes the dtype only if it is of a higher class") {
  // torch.add(torch.zeros(2, dtype=row), scalar).dtype for a bool, an int and a float.
  struct Row {
    DType dtype;
    std::string_view with_bool, with_int, with_float;
  };
  const std::vector<Row> rows = {
      {DType::boolean, "bool", "i64", "f32"}, {DType::u8, "u8", "u8", "f32"},        {DType::i8, "i8", "i8", "f32"},
      {DType::i16, "i16", "i16", "f32"},      {DType::i32, "i32", "i32", "f32"},     {DType::i64, "i64", "i64", "f32"},
      {DType::f16, "f16", "f16", "f16"},      {DType::bf16, "bf16", "bf16", "bf16"}, {DType::f32, "f32", "f32", "f32"},
      {DType::f64, "f64", "f64", "f64"},      {DType::u16, "u16", "u16", "f32"},     {DType::u32, "u32", "u32", "f32"},
      {DType::u64, "u64", "u64", "f32"}};
  RecordingOps ops;
  for (const Row& row : rows) {
    CAPTURE(name_of(row.dtype));
    const Tensor x = ops.make(row.dtype, {2});
    REQUIRE(type_of(ops.call(Op::add, {x, kTrue})) == row.with_bool);
    REQUIRE(type_of(ops.call(Op::add, {kInt, x})) == row.with_int);
    REQUIRE(type_of(ops.call(Op::add, {x, kFloat})) == row.with_float);
  }
}

TEST_CASE("each dtype rule gives its dtypes") {
  RecordingOps ops;
  const Tensor b = ops.make(DType::boolean, {2}), u = ops.make(DType::u8, {2}), i = ops.make(DType::i64, {2}),
               h = ops.make(DType::f16, {2}), f = ops.make(DType::f32, {2}), d = ops.make(DType::f64, {2});
  REQUIRE(type_of(ops.call(Op::exp, {i})) == "f32");
  REQUIRE(type_of(ops.call(Op::exp, {b})) == "f32");
  REQUIRE(type_of(ops.call(Op::exp, {h})) == "f16");
  REQUIRE(type_of(ops.call(Op::div, {i, u})) == "f32");
  REQUIRE(type_of(ops.call(Op::div, {d, kInt})) == "f64");
  REQUIRE(type_of(ops.call(Op::lt, {u, h})) == "bool");
  REQUIRE(type_of(ops.call(Op::isnan, {i})) == "bool");
  REQUIRE(type_of(ops.call(Op::neg, {u})) == "u8");
  REQUIRE(type_of(ops.call(Op::bit_and, {b, b})) == "bool");
  REQUIRE(type_of(ops.call(Op::bit_and, {b, kInt})) == "i64");
  REQUIRE(type_of(ops.call(Op::logical_not, {f})) == "bool");
  REQUIRE(type_of(ops.call(Op::where, {b, i, h})) == "f16");
  REQUIRE(type_of(ops.call(Op::where, {b, u, kInt})) == "u8");
  REQUIRE(type_of(ops.call(Op::where, {b, u, kFloat})) == "f32");
  REQUIRE(type_of(ops.call(Op::where, {b, kInt, kFloat})) == "f32");
  REQUIRE(type_of(ops.call(Op::where, {b, kInt, kInt})) == "i64");
  REQUIRE(type_of(ops.call(Op::where, {kTrue, u, i})) == "i64");
}

TEST_CASE("ops refuse dtypes that mean nothing to them") {
  RecordingOps ops;
  const Tensor b = ops.make(DType::boolean, {2}), f = ops.make(DType::f32, {2}), i = ops.make(DType::i64, {2});
  REQUIRE(failure_of([&] {
            ops.call(Op::bit_and, {i, f});
          }) == "type: bit_and: expected bools or integers, got i64[2] and f32[2]");
  REQUIRE(failure_of([&] {
            ops.call(Op::bit_or, {i, kFloat});
          }) == "type: bit_or: expected bools or integers, got i64[2] and float 2.5");
  REQUIRE(failure_of([&] { ops.call(Op::neg, {b}); }) == "type: neg: expected numbers, got bool[2]");
  REQUIRE(failure_of([&] { ops.call(Op::sub, {b, b}); }) == "type: sub: expected numbers, got bool[2] and bool[2]");
  REQUIRE(type_of(ops.call(Op::mul, {b, b})) == "bool");
  REQUIRE(failure_of([&] { ops.call(Op::where, {i, f, f}); }) == "type: where: the condition must be bool, got i64[2]");
  REQUIRE(failure_of([&] { ops.call(Op::add, {kInt, kInt}); }) == "type: add needs at least one tensor");
  REQUIRE(failure_of([&] { ops.call(Op::add, {f}); }) == "type: add takes 2 operands, got 1");
}

TEST_CASE("casts and expands are inserted where they are needed, and only there") {
  RecordingOps ops;
  using Calls = std::vector<std::string>;
  const Tensor f = ops.make(DType::f32, {2, 3}), h = ops.make(DType::f16, {3}), i = ops.make(DType::i64, {2, 3});
  ops.call(Op::add, {f, f});
  REQUIRE(ops.calls == Calls{"add(f32[2, 3], f32[2, 3]) -> f32[2, 3]"});
  ops.calls.clear();
  ops.call(Op::mul, {f, h});
  REQUIRE(ops.calls == Calls{"cast(f16[3]) -> f32[3]", "view expand(f32[3]) -> f32[2, 3]",
                             "mul(f32[2, 3], f32[2, 3]) -> f32[2, 3]"});
  ops.calls.clear();
  ops.call(Op::lt, {i, kFloat});
  REQUIRE(ops.calls == Calls{"cast(i64[2, 3]) -> f32[2, 3]", "lt(f32[2, 3], float 2.5) -> bool[2, 3]"});
  ops.calls.clear();
  ops.call(Op::mul, {f, kInt});
  REQUIRE(ops.calls == Calls{"mul(f32[2, 3], int 3) -> f32[2, 3]"});
  ops.calls.clear();
  REQUIRE(ops.call(Op::cast, {f}, with_dtype(DType::f32)) == f);
  REQUIRE(expand(ops, f, {2, 3}) == f);
  REQUIRE(reshape(ops, f, {2, -1}) == f);
  REQUIRE(ops.calls.empty());
}

TEST_CASE("a number that its dtype cannot hold is compared in i64, or of u64 in f64, bounds nothing, or is refused") {
  RecordingOps ops;
  using Calls = std::vector<std::string>;
  const Operand large = Scalar::of(int64_t{300}), negative = Scalar::of(int64_t{-1});
  const Tensor u = ops.make(DType::u8, {2});
  ops.call(Op::lt, {u, large});
  REQUIRE(ops.calls == Calls{"cast(u8[2]) -> i64[2]", "lt(i64[2], int 300) -> bool[2]"});
  ops.calls.clear();
  ops.call(Op::minimum, {u, large});
  ops.call(Op::maximum, {negative, u});
  REQUIRE(ops.calls == Calls{"minimum(u8[2], int 255) -> u8[2]", "maximum(int 0, u8[2]) -> u8[2]"});
  ops.calls.clear();
  ops.call(Op::lt, {ops.make(DType::u64, {2}), negative});
  REQUIRE(ops.calls == Calls{"cast(u64[2]) -> f64[2]", "lt(f64[2], int -1) -> bool[2]"});
  const std::string refused = "value: int 300 does not fit u8, which holds 0 to 255";
  for (const Op op : {Op::add, Op::maximum, Op::bit_or, Op::floordiv})
    REQUIRE(failure_of([&] { ops.call(op, {u, large}); }) == refused);
  REQUIRE(failure_of([&] { ops.call(Op::where, {kTrue, u, large}); }) == refused);
  REQUIRE(failure_of([&] { ops.call(Op::fill, {large}, with_dtype(DType::u8)); }) == refused);
  REQUIRE(type_of(ops.call(Op::add, {ops.make(DType::f16, {2}), large})) == "f16");
}

TEST_CASE("each integer dtype holds the numbers of its range") {
  struct Row {
    DType dtype;
    int64_t least;
    uint64_t greatest;
  };
  const std::vector<Row> rows = {{DType::u8, 0, 255},
                                 {DType::u16, 0, 65535},
                                 {DType::u32, 0, 4294967295},
                                 {DType::u64, 0, UINT64_MAX},
                                 {DType::i8, -128, 127},
                                 {DType::i16, -32768, 32767},
                                 {DType::i32, -2147483648, 2147483647},
                                 {DType::i64, INT64_MIN, INT64_MAX}};
  for (const auto& [dtype, least, greatest] : rows) {
    CAPTURE(name_of(dtype));
    REQUIRE(range_of(dtype).least == least);
    REQUIRE(range_of(dtype).greatest == greatest);
    const double low = static_cast<double>(least);
    REQUIRE(range_side(dtype, Scalar::of(least)) == RangeSide::inside);
    const int64_t last = static_cast<int64_t>(std::min<uint64_t>(greatest, INT64_MAX));
    REQUIRE(range_side(dtype, Scalar::of(last)) == RangeSide::inside);
    REQUIRE(range_side(dtype, Scalar::of(low)) == RangeSide::inside);
    REQUIRE(range_side(dtype, Scalar::of(low * 2 - 1)) == RangeSide::below);
    REQUIRE(range_side(dtype, Scalar::of(static_cast<double>(greatest) + 1)) == RangeSide::above);
    REQUIRE(range_side(dtype, Scalar::of(std::nan(""))) != RangeSide::inside);
    if (dtype == DType::i64) continue;
    REQUIRE(range_side(dtype, Scalar::of(least - 1)) == RangeSide::below);
    if (dtype == DType::u64) continue;
    REQUIRE(range_side(dtype, Scalar::of(last + 1)) == RangeSide::above);
    REQUIRE(range_side(dtype, Scalar::of(low - 0.5)) == RangeSide::inside);
    REQUIRE(range_side(dtype, Scalar::of(static_cast<double>(greatest) + 0.5)) == RangeSide::inside);
  }
}

TEST_CASE("only numbers that vary are guarded to fit their dtype") {
  SymbolTable table;
  const Tensor x = RecordingOps().make(DType::i32, {2});
  RecordingOps ops;
  ops.call(Op::add, {x, kInt});
  const Symbol* extent = table.size_input(40);
  ops.call(Op::add, {x, Operand(extent->hint, extent)});
  const Symbol* number = table.input(Scalar::of(int64_t{7}));
  ops.call(Op::add, {ops.make(DType::i64, {2}), Operand(number->hint, number)});
  REQUIRE(table.guards().empty());
  ops.call(Op::add, {x, Operand(number->hint, number)});
  ops.call(Op::lt, {x, Operand(number->hint, number)});
  REQUIRE(table.guards().size() == 2);  // not below, not above
}
