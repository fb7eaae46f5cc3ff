// Compares ops with their simplest definition, computed in f64 (exactly, for integers): every elementwise op,
// reduction, scan and the matrix product, on every dtype and layout.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "engine/engine.h"
#include "support/all_dtypes.h"
#include "support/indices.h"
#include "support/reference_ops.h"
#include "tensor/elements.h"
#include "tensor/op.h"
#include "value/runtime.h"

using namespace tsl;

namespace {

/// Returns the dtype of the reference, which is exact for all values used here.
DType reference_dtype(DType dtype) {
  if (dtype == DType::boolean) return dtype;
  return is_float(dtype) ? DType::f64 : DType::i64;
}

Tensor make(Engine& engine, DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor out(dtype, Layout::contiguous(shape),
             engine.runtime().allocator().allocate(std::max<size_t>(values.size(), 1) * 8));
  for (size_t i = 0; i < values.size(); ++i) {
    store_element(dtype, out.data() + i * size_of(dtype), Scalar::of(values[i]));
  }
  return out;
}

std::vector<double> elements(const Tensor& x) {
  std::vector<double> out;
  for (int64_t at : addresses(x.layout())) {
    const auto* data = static_cast<const std::byte*>(x->storage->data());
    out.push_back(load_element(x.dtype(), data + at * static_cast<int64_t>(size_of(x.dtype()))).as_real());
  }
  return out;
}

/// Returns numbers that every dtype represents, so that the reference has the same operands.
std::vector<double> numbers(DType dtype, int count, int step) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    const int n = i * step % 11;
    if (dtype == DType::boolean) out.push_back(n % 2);
    else if (!is_signed(dtype)) out.push_back(n);
    else if (is_float(dtype)) out.push_back((n - 5) * 0.25 + 0.125);
    else out.push_back(n - 5);
  }
  return out;
}

using View = std::function<Tensor(Ops&, const Tensor&)>;

/// A layout: the shape in memory, and the view of it.
struct Case {
  const char* name;
  Shape shape;
  View view;
};

const std::vector<Case>& layouts() {
  static const std::vector<Case> all = {
      {"contiguous", {3, 4}, [](Ops&, const Tensor& x) { return x; }},
      {"transposed", {4, 3}, [](Ops& ops, const Tensor& x) { return transpose(ops, x); }},
      {"sliced", {6, 9}, [](Ops& ops, const Tensor& x) { return slice(ops, slice(ops, x, 0, 1, 3, 2), 1, 0, 4, 2); }},
      {"reversed",
       {3, 4},
       [](Ops& ops, const Tensor& x) { return slice(ops, slice(ops, x, 0, 2, 3, -1), 1, 3, 4, -1); }},
      {"broadcast",
       {1, 4},
       [](Ops& ops, const Tensor& x) {
         return expand(ops, x, {3, 4});
       }},
      {"empty", {0, 4}, [](Ops&, const Tensor& x) { return x; }},
      {"0-d", {}, [](Ops&, const Tensor& x) { return x; }},
  };
  return all;
}

/// Returns the permitted error, in units of the last place of the dtype.
double allowed_ulps(const OpDef& def) {
  const Category category = def.traits.category;
  if (category == Category::reduction || category == Category::scan || category == Category::matmul) return 16;
  return 4;
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    case DType::f32: return 0x1p-23;
    default: return 0x1p-52;
  }
}

void check_close(const OpDef& def, const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = elements(actual), e = elements(expected);
  REQUIRE(a.size() == e.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ScalarBits rounded = to_bits(Scalar::of(e[i]), actual.dtype());
    const double want = load_element(actual.dtype(), reinterpret_cast<const std::byte*>(rounded.bytes)).as_real();
    INFO("element " << i << ": " << a[i] << ", not " << e[i]);
    if (std::isnan(want) || std::isinf(want) || !is_float(actual.dtype())) {
      CHECK(((std::isnan(a[i]) && std::isnan(want)) || a[i] == want));
    } else {
      CHECK(std::fabs(a[i] - want) <= allowed_ulps(def) * epsilon_of(actual.dtype()) * std::max(std::fabs(want), 0.5));
    }
  }
}

/// Calls the op on both sides. Both must succeed, or both fail.
void compare(const OpDef& def, DType dtype, const Attrs& attrs, int operands) {
  Engine engine;
  ReferenceOps reference;
  for (const Case& layout : layouts()) {
    INFO(def.name << " of " << name_of(dtype) << ", " << layout.name);
    std::vector<Operand> ours, theirs;
    for (int i = 0; i < operands; ++i) {
      const DType type = def.op == Op::where && i == 0 ? DType::boolean : dtype;
      const std::vector<double> values =
          numbers(type, static_cast<int>(element_count(layout.shape).hint()), i == 0 ? 5 : 7);
      ours.push_back(layout.view(engine.ops(), make(engine, type, layout.shape, values)));
      theirs.push_back(layout.view(reference, reference.make(reference_dtype(type), layout.shape, values)));
    }
    const bool divides = def.op == Op::floordiv || def.op == Op::mod;
    if (divides && !is_float(dtype) && operands > 1) {  // not by zero
      ours[1] = engine.ops().call(
          Op::add, {engine.ops().call(Op::mul, {ours[1], Scalar::of(int64_t{2})}), Scalar::of(int64_t{1})});
      theirs[1] = reference.call(
          Op::add, {reference.call(Op::mul, {theirs[1], Scalar::of(int64_t{2})}), Scalar::of(int64_t{1})});
    }
    Tensor actual, expected;
    bool refused = false;
    try {
      actual = engine.ops().call(def.op, ours, attrs);
    } catch (const Failure&) { refused = true; }
    if (refused) {
      CHECK_THROWS_AS(reference.call(def.op, theirs, attrs), Failure);
      continue;
    }
    expected = reference.call(def.op, theirs, attrs);
    check_close(def, actual, expected);
  }
}

/// An integer may overflow where the reference does not; since those ops are exact, small numbers suffice.
bool is_representative(const OpDef& def, DType dtype) {
  const bool is_small = is_integer(dtype) && size_of(dtype) < 4;
  if (def.op == Op::pow && !is_float(dtype)) return false;  // negative exponents of integers
  if (is_small && def.op == Op::cumprod) return false;
  if (def.op == Op::argmax || def.op == Op::argmin) return false;  // the reference has none; see below
  if (is_integer(dtype) && !is_signed(dtype) && (def.op == Op::neg || def.op == Op::sub || def.op == Op::bit_not))
    return false;                                        // wraps around
  if (def.dtype_rule == DTypeRule::shift) return false;  // an int has 64 bits, and no negative count; see the oracle
  if (dtype == DType::boolean && (def.op == Op::floordiv || def.op == Op::mod)) return false;
  return def.op != Op::cast && def.op != Op::copy;
}

}  // namespace

TEST_CASE("elementwise ops compute what their definitions say", "[reference]") {
  for (const OpDef& def : op_table()) {
    if (!is_elementwise(def)) continue;
    for (DType dtype : all_dtypes()) {
      if (is_representative(def, dtype)) compare(def, dtype, {}, def.arity);
    }
  }
}

TEST_CASE("reductions and scans compute what their definitions say", "[reference]") {
  for (const OpDef& def : op_table()) {
    if (!is_reduction(def) && def.traits.category != Category::scan) continue;
    for (DType dtype : all_dtypes()) {
      if (!is_representative(def, dtype)) continue;
      for (int64_t axis : {0, 1}) {
        Attrs attrs;
        if (is_reduction(def)) attrs.axes = {axis};
        else attrs.axis = axis;
        compare(def, dtype, attrs, 1);
      }
    }
  }
}

TEST_CASE("argmax and argmin give the first place of the extreme", "[reference]") {
  Engine engine;
  for (DType dtype : all_dtypes()) {
    for (const Case& layout : layouts()) {
      if (layout.shape.rank() != 2 || layout.shape[0].hint() == 0) continue;
      const int count = static_cast<int>(element_count(layout.shape).hint());
      const Tensor x = layout.view(engine.ops(), make(engine, dtype, layout.shape, numbers(dtype, count, 4)));
      const std::vector<double> in = elements(x);
      Attrs attrs;
      attrs.axes = {1};
      const std::vector<double> greatest = elements(engine.ops().call(Op::argmax, {x}, attrs));
      const std::vector<double> least = elements(engine.ops().call(Op::argmin, {x}, attrs));
      for (size_t row = 0; row < greatest.size(); ++row) {
        INFO(name_of(dtype) << ", " << layout.name << ", row " << row);
        const auto begin = in.begin() + static_cast<ptrdiff_t>(row * 4), end = begin + 4;
        CHECK(greatest[row] == static_cast<double>(std::max_element(begin, end) - begin));
        CHECK(least[row] == static_cast<double>(std::min_element(begin, end) - begin));
      }
    }
  }
}

TEST_CASE("the matrix product computes what its definition says", "[reference]") {
  for (DType dtype : all_dtypes()) {
    Engine engine;
    ReferenceOps reference;
    for (const Case& layout : layouts()) {
      if (layout.shape.rank() != 2) continue;
      INFO(name_of(dtype) << ", " << layout.name);
      const std::vector<double> values = numbers(dtype, static_cast<int>(element_count(layout.shape).hint()), 5);
      const Tensor x = layout.view(engine.ops(), make(engine, dtype, layout.shape, values));
      const Tensor y = layout.view(reference, reference.make(reference_dtype(dtype), layout.shape, values));
      if (dtype == DType::boolean) continue;
      check_close(op_def(Op::matmul), matmul(engine.ops(), x, transpose(engine.ops(), x)),
                  matmul(reference, y, transpose(reference, y)));
    }
  }
}
