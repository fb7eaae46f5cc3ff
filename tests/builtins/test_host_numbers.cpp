// Checks that every elementwise op gives the same results for host numbers as for tensors of f64, i64 and bool.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "catch.h"
#include "engine/engine.h"
#include "support/cuda_device.h"
#include "tensor/elements.h"
#include "tensor/op.h"
#include "value/runtime.h"

using namespace tsl;

namespace {

using Scalars = std::vector<Scalar>;

constexpr int kRandomPoints = 2000;
constexpr ScalarType kTypes[] = {ScalarType::boolean, ScalarType::integer, ScalarType::real};

/// The permitted difference of a GPU's f64 functions from the CPU's, as in test_cuda_tiers.cpp: relative to the result,
/// or to 1 if it is less.
constexpr double kFunctionBound = 16 * 0x1p-52;

template <class T> Scalars specials();
template <> Scalars specials<double>() {
  using Limits = std::numeric_limits<double>;
  Scalars values;
  for (double x : {0.0,
                   1.0,
                   0.5,
                   1.5,
                   2.5,
                   3.0,
                   1e-5,
                   40.0,
                   709.0,
                   710.0,
                   746.0,
                   1e15,
                   0x1p52,
                   0x1p53,
                   1e22,
                   1e300,
                   Limits::min(),
                   Limits::denorm_min(),
                   Limits::min() / 3,
                   Limits::max(),
                   Limits::infinity()}) {
    values.push_back(Scalar::of(x));
    values.push_back(Scalar::of(-x));
  }
  values.push_back(Scalar::of(Limits::quiet_NaN()));
  return values;
}
template <> Scalars specials<int64_t>() {
  using Limits = std::numeric_limits<int64_t>;
  Scalars values;
  for (int64_t x : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{-2}, int64_t{63}, int64_t{1} << 53,
                    (int64_t{1} << 53) + 1, Limits::max(), Limits::min(), Limits::min() + 1})
    values.push_back(Scalar::of(x));
  return values;
}

/// Returns moderate numbers, random bits, and all pairs of special values.
Scalars points(ScalarType type, bool second) {
  std::mt19937_64 random(second ? 2 : 1);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Scalars values;
  for (int i = 0; i < kRandomPoints; ++i) {
    const uint64_t bits = random();
    double any;
    std::memcpy(&any, &bits, sizeof any);
    if (type == ScalarType::boolean) values.push_back(Scalar::of(bits % 2 == 0));
    else if (type == ScalarType::integer) values.push_back(Scalar::of(static_cast<int64_t>(bits) >> (i % 2 ? 58 : 0)));
    else values.push_back(Scalar::of(i % 4 == 0 ? any : (unit() - 0.5) * 20));
  }
  const Scalars special = type == ScalarType::real      ? specials<double>()
                          : type == ScalarType::integer ? specials<int64_t>()
                                                        : Scalars{Scalar::of(false), Scalar::of(true)};
  constexpr size_t kMostSpecials = 43;  // so that each special value of one type meets each of another
  for (size_t i = 0; i < kMostSpecials * kMostSpecials; ++i) {
    values.push_back(special[(second ? i / kMostSpecials : i) % special.size()]);
  }
  return values;
}

DType dtype_of(ScalarType type) {
  switch (type) {
    case ScalarType::boolean: return DType::boolean;
    case ScalarType::integer: return DType::i64;
    case ScalarType::real: break;
  }
  return DType::f64;
}

/// Returns the dtype of the tensor that computes the same as the op on host numbers of a type.
DType computing_dtype(const OpDef& def, ScalarType type) {
  switch (def.dtype_rule) {
    case DTypeRule::floating:
    case DTypeRule::predicate: return DType::f64;
    case DTypeRule::compare:
    case DTypeRule::bitwise:
    case DTypeRule::select: return dtype_of(type);
    case DTypeRule::same:
    case DTypeRule::arithmetic:
    case DTypeRule::shift: break;
  }
  const bool keeps_bools = def.op == Op::minimum || def.op == Op::maximum;
  return type == ScalarType::boolean && !keeps_bools ? DType::i64 : dtype_of(type);
}

class Computer {
 public:
  explicit Computer(const char* device) : engine_(options_for(device)) {}

  Scalars on_tensors(const OpDef& def, DType dtype, const Scalars& a, const Scalars& b) {
    std::vector<Operand> operands = {tensor(dtype, a)};
    if (def.arity == 2) operands.emplace_back(tensor(dtype, b));
    const Tensor result = to_device(engine_.ops(), engine_.ops().call(def.op, operands), Device{});
    Scalars values;
    for (size_t i = 0; i < a.size(); ++i)
      values.push_back(load_element(result.dtype(), result.data() + i * size_of(result.dtype())));
    return values;
  }

 private:
  static EngineOptions options_for(const char* device) {
    EngineOptions options;
    options.device = device;
    return options;
  }
  Tensor tensor(DType dtype, const Scalars& values) {
    const Shape shape = {static_cast<int64_t>(values.size())};
    Tensor host = to_device(engine_.ops(), fill(engine_.ops(), shape, dtype, Scalar::of(int64_t{0})), Device{});
    for (size_t i = 0; i < values.size(); ++i) store_element(dtype, host.data() + i * size_of(dtype), values[i]);
    return engine_.runtime().to_device(host);
  }

  Engine engine_;
};

bool is_nan(Scalar x) { return x.type == ScalarType::real && std::isnan(x.real); }

/// Compares results; with `bound` 0 bit by bit, where all NaNs are equal.
bool agree(Scalar host, Scalar tensor, double bound) {
  if (host == tensor || (is_nan(host) && is_nan(tensor))) return true;
  if (bound == 0 || host.type != ScalarType::real || tensor.type != ScalarType::real) return false;
  if (host.real == tensor.real) return true;
  const double size = std::max({1.0, std::fabs(host.real), std::fabs(tensor.real)});
  return std::isfinite(size) && std::fabs(host.real - tensor.real) <= bound * size;
}

/// Ints have no quotient by 0, and no integer power with a negative exponent.
bool has_tensor_form(const OpDef& def, DType dtype, Scalar b) {
  if (dtype != DType::i64) return true;
  if (def.op == Op::pow) return b.as_integer() >= 0;
  return !may_fail(def) || b.as_integer() != 0;
}

/// Compares in numbers that hold every int and every float; a tensor would convert the int to a float first.
bool compare_exactly(Op op, Scalar a, Scalar b) {
  const auto exact = [](Scalar x) {
    return x.type == ScalarType::real ? static_cast<long double>(x.real) : static_cast<long double>(x.as_integer());
  };
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const long double x = exact(a), y = exact(b);
  if (op == Op::eq) return x == y;
  if (op == Op::ne) return x != y;
  if (op == Op::lt) return x < y;
  if (op == Op::le) return x <= y;
  return op == Op::gt ? x > y : x >= y;
}

/// Whether the op compares an int or a bool with a float, which numbers of the host do by value.
bool compares_exactly(const OpDef& def, ScalarType a, ScalarType b) {
  return def.dtype_rule == DTypeRule::compare && def.arity == 2 && (a == ScalarType::real) != (b == ScalarType::real);
}

void check_comparison(const OpDef& def, ScalarType type_a, ScalarType type_b) {
  INFO(def.name << " of " << name_of(dtype_of(type_a)) << " and " << name_of(dtype_of(type_b)));
  Scalars a = points(type_a, false), b = points(type_b, true);
  for (const double real : {0x1p53, 0x1p62, 0x1p63, -0x1p63, 0.5, -0.0, 1e300}) {
    for (const int64_t integer : {int64_t{1} << 53, (int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN, int64_t{0}}) {
      a.push_back(type_a == ScalarType::real ? Scalar::of(real) : Scalar::of(integer));
      b.push_back(type_b == ScalarType::real ? Scalar::of(real) : Scalar::of(integer));
    }
  }
  for (size_t i = 0; i < a.size(); ++i) {
    INFO("of " << a[i].as_real() << " and " << b[i].as_real());
    CHECK(apply(*def.scalar, a[i], b[i]).boolean == compare_exactly(def.op, a[i], b[i]));
  }
}

void check_types(Computer& computer, const OpDef& def, ScalarType type_a, ScalarType type_b, double bound) {
  if (compares_exactly(def, type_a, type_b)) return check_comparison(def, type_a, type_b);
  const ScalarOp op = *def.scalar;
  const DType dtype = computing_dtype(def, def.arity == 2 ? std::max(type_a, type_b) : type_a);
  INFO(def.name << " of " << name_of(dtype_of(type_a)) << " and " << name_of(dtype_of(type_b)));
  const bool takes_floats = def.dtype_rule != DTypeRule::bitwise && def.dtype_rule != DTypeRule::shift;
  if (!takes_floats && dtype == DType::f64) {
    CHECK_THROWS_AS(apply(op, points(type_a, false)[0], points(type_b, true)[0]), Failure);
    return;
  }
  Scalars a = points(type_a, false), b = points(type_b, true);
  for (size_t i = 0; i < a.size(); ++i) {
    if (!has_tensor_form(def, dtype, b[i])) b[i] = Scalar::of(int64_t{3});
  }
  const Scalars tensor = computer.on_tensors(def, dtype, a, b);
  int failures = 0;
  for (size_t i = 0; i < a.size() && failures < 3; ++i) {
    if (fails_on_ints(op, a[i], b[i])) continue;  // tensors wrap around
    const Scalar host = apply(op, a[i], def.arity == 2 ? b[i] : Scalar());
    if (agree(host, tensor[i], bound)) continue;
    ++failures;
    INFO("of " << a[i].as_real() << " and " << b[i].as_real() << ": " << host.as_real() << " on the host, "
               << tensor[i].as_real() << " in a tensor");
    CHECK(false);
  }
}

void check_all_ops(const char* device, double bound) {
  Computer computer(device);
  for (const OpDef& def : op_table()) {
    if (!def.scalar) continue;
    REQUIRE(name_of(*def.scalar) == def.name);
    for (ScalarType a : kTypes) {
      if (def.arity == 1) check_types(computer, def, a, a, bound);
      else
        for (ScalarType b : kTypes) check_types(computer, def, a, b, bound);
    }
  }
}

}  // namespace

TEST_CASE("host numbers compute what tensors compute, bit for bit", "[reference]") { check_all_ops("cpu", 0); }

TEST_CASE("host numbers compute what tensors on a GPU compute, within the bound of its functions", "[cuda]") {
  TSL_NEEDS_GPU();
  check_all_ops("cuda", kFunctionBound);
}

TEST_CASE("all elementwise ops but where have a form on host numbers", "[reference]") {
  for (const OpDef& def : op_table()) {
    const bool has_row = def.traits.operands == OperandRule::promoted;
    INFO(def.name);
    CHECK(def.scalar.has_value() == (has_row && def.op != Op::where));
  }
}
