// Elementwise lets; see random_lets_body.h.
#include <algorithm>
#include <cmath>

#include "support/random_lets_body.h"

namespace tsl {

namespace {

std::string filled(const char* form, const Let& a) { return fmt::format(fmt::runtime(form), a.name); }
std::string filled(const char* form, const Let& a, const Let& b) {
  return fmt::format(fmt::runtime(form), a.name, b.name);
}

/// How large a result may be, with operands of at most a and b.
enum class Bound : uint8_t { one, four, same, next, square, sum, product, second };

double bound_of(Bound bound, double a, double b = 0) {
  switch (bound) {
    case Bound::one: return 1.6;
    case Bound::four: return 4 * a + 1;
    case Bound::same: return std::max(a, b);
    case Bound::next: return a + 1;
    case Bound::square: return a * a + a;
    case Bound::sum: return a + b;
    case Bound::product: return a * b + a;
    case Bound::second: return b + 0.5;
  }
  return a;
}

struct Form {
  const char* text;
  Bound bound;
};

constexpr Form kUnary[] = {{"sqrt(abs({}))", Bound::next},
                           {"exp(-abs({}))", Bound::one},
                           {"sin({})", Bound::one},
                           {"cos({})", Bound::one},
                           {"tanh({})", Bound::one},
                           {"sigmoid({})", Bound::one},
                           {"relu({})", Bound::same},
                           {"gelu({})", Bound::same},
                           {"gelu_tanh({})", Bound::same},
                           {"silu({})", Bound::same},
                           {"softplus({})", Bound::next},
                           {"square({})", Bound::square},
                           {"abs({})", Bound::same},
                           {"-{}", Bound::same},
                           {"{} * 0.5", Bound::same},
                           {"{} * 2.0", Bound::four},
                           {"{} + 1.0", Bound::next},
                           {"1.0 / (abs({}) + 1.0)", Bound::one},
                           {"log1p(abs({}))", Bound::next},
                           {"log(abs({}) + 0.25)", Bound::next},
                           {"floor({} * 4.0)", Bound::four},
                           {"round({} * 3.0)", Bound::four},
                           {"round({}, 2)", Bound::same},
                           {"trunc({})", Bound::same},
                           {"sign({})", Bound::one},
                           {"erf({})", Bound::one},
                           {"atan({})", Bound::one},
                           {"{} % 1.5", Bound::one},
                           {"2.0 % (abs({}) + 0.5)", Bound::one},
                           {"{} // 0.5", Bound::four},
                           {"clamp({}, -1.0, 0.75)", Bound::one},
                           {"rsqrt(abs({}) + 0.5)", Bound::one},
                           {"expm1(-abs({}))", Bound::one},
                           {"where({0} > 0.25, {0}, 0.5)", Bound::next},
                           {"maximum({}, 0.125)", Bound::next},
                           {"minimum({}, 0.5)", Bound::next},
                           {"{0} * {0}", Bound::square},
                           {"{0} ** 2", Bound::square},
                           {"{0} * {0} - {0}", Bound::square},
                           {"stop_gradient({})", Bound::same}};

constexpr Form kBinary[] = {{"{} + {}", Bound::sum},
                            {"{} - {}", Bound::sum},
                            {"{} * {}", Bound::product},
                            {"{} + {}", Bound::sum},
                            {"{} - {}", Bound::sum},
                            {"{} * {}", Bound::product},
                            {"{} * {}", Bound::product},
                            {"{} / (abs({}) + 1.0)", Bound::same},
                            {"{} % (abs({}) + 0.5)", Bound::second},
                            {"{} % {}", Bound::second},
                            {"{} // (abs({}) + 0.5)", Bound::four},
                            {"maximum({}, {})", Bound::same},
                            {"minimum({}, {})", Bound::same},
                            {"where({0} > {1}, {0}, {1})", Bound::same},
                            {"where({0} < {1}, {1}, 0.5)", Bound::next},
                            {"where({0} == {1}, {0} * 2.0, {1} - 1.0)", Bound::four},
                            {"atan2({}, {})", Bound::four},
                            {"{0} * {1} + {0}", Bound::product},
                            {"{1} - {0} * 0.25", Bound::sum},
                            {"sigmoid({}) * {}", Bound::same},
                            {"clamp({}, -1.0, abs({}))", Bound::same},
                            {"abs({}) ** sigmoid({})", Bound::next}};

}  // namespace

bool LetsBody::unary() {
  const std::optional<Let> a = operand();
  if (!a) return false;
  const Form& form = kUnary[random_.below(std::size(kUnary))];
  return declare(filled(form.text, *a), a->dtype, a->shape, bound_of(form.bound, a->bound));
}

bool LetsBody::binary() {
  const std::optional<Let> a = operand();
  if (!a) return false;
  LetShape shape;
  const Let b = partner(*a, shape);
  if (random_.chance(8)) {
    const std::string comparison = random_.pick({"<", "<=", ">", ">=", "==", "!="});
    return declare(fmt::format("{} {} {}", a->name, comparison, b.name), "bool", shape, 1);
  }
  const Form& form = kBinary[random_.below(std::size(kBinary))];
  const bool swaps = random_.chance(50);
  const Let &first = swaps ? b : *a, &second = swaps ? *a : b;
  return declare(filled(form.text, first, second), promoted(a->dtype, b.dtype), shape,
                 bound_of(form.bound, first.bound, second.bound));
}

bool LetsBody::ternary() {
  const std::optional<Let> a = operand();
  if (!a) return false;
  LetShape shape;
  const Let b = partner(*a, shape);
  const std::optional<Let> mask = find([&](const Let& l) { return l.dtype == "bool" && l.shape == shape; });
  if (mask) {
    return declare(fmt::format("where({}, {}, {})", mask->name, a->name, b.name), promoted(a->dtype, b.dtype), shape,
                   std::max(a->bound, b.bound));
  }
  const std::optional<Let> c = of_shape(shape);
  if (!c) return false;
  const std::string dtype = promoted(promoted(a->dtype, b.dtype), c->dtype);
  const std::string form = random_.pick({"{} * {} + {}", "{} - {} * {}", "where({} > {}, {}, 0.25)",
                                         "maximum({} + {}, {}) * 0.5", "clamp({}, -abs({}), abs({}))"});
  return declare(fmt::format(fmt::runtime(form), a->name, b.name, c->name), dtype, shape,
                 a->bound + b.bound * std::max(b.bound, c->bound) + a->bound * b.bound);
}

bool LetsBody::cast() {
  const std::optional<Let> a = operand();
  if (!a) return false;
  if (random_.chance(25)) {
    const std::string dtype = random_.pick({"i64", "i32", "u32", "bool"});
    return declare(fmt::format("{}({} * 8.0)", dtype, a->name), dtype, a->shape, 1);
  }
  const std::string dtype = random_.chance(50) ? base_ : random_.pick({"f32", "f32", "f64", "f16", "bf16"});
  return declare(fmt::format("{}({})", dtype, a->name), dtype, a->shape, a->bound);
}

bool LetsBody::from_integers() {
  const std::optional<Let> a = find([](const Let& l) { return !l.is_float(); });
  if (!a) return false;
  if (a->dtype == "bool") {
    if (random_.chance(20)) return declare(a->name + " == false", "bool", a->shape, 1);
    return declare(fmt::format("{}({}) - 0.5", base_, a->name), base_, a->shape, 1);
  }
  switch (random_.below(5)) {
    case 0: return declare(a->name + " % 7", a->dtype, a->shape, 1);
    case 1: return declare(fmt::format("maximum({} - 1, 2)", a->name), a->dtype, a->shape, 1);
    default: return declare(fmt::format("{}({} % 64) * 0.125", base_, a->name), base_, a->shape, 8);
  }
}

bool LetsBody::random_numbers() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  return declare(fmt::format("{}(rand({}))", base_, to_text(a->shape)), base_, a->shape, 1);
}

/// Makes an op of constants in two dtypes, beside one another.
bool LetsBody::constants() {
  const std::optional<Let> mask = find([](const Let& l) { return l.dtype == "bool"; });
  const std::optional<Let> a = mask ? mask : operand(1);
  if (!a) return false;
  const std::string shape = to_text(a->shape);
  const std::string choice = random_.pick({"where({0}, {1}(1), {1}(2))", "where({0}, full({2}, 2, dtype: {1}), 0)",
                                           "where({0}, {1}(3), full({2}, 1, dtype: {1}))", "{1}({0})"});
  const std::string form = mask ? choice : random_.pick({"full({2}, 3, dtype: {1})", "ones({2}, dtype: {1}) * 2"});
  const auto add = [&](const std::string& dtype) {
    return declare(fmt::format(fmt::runtime(form), a->name, dtype, shape), dtype, a->shape, 3);
  };
  const auto any = [&] {
    return random_.pick({"bool", "u8", "i8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"});
  };
  return add(random_.chance(50) ? base_ : any()) && add(any());
}

}  // namespace tsl
