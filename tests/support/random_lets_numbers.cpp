// Lets of tensors beside host numbers that no narrow dtype holds exactly, and of complex numbers; see
// random_lets_body.h.
#include <algorithm>

#include "support/random_lets_body.h"

namespace tsl {

namespace {

// {0} is the tensor. Results are of its size, but where the number takes the dtype of the tensor, digits of it are
// lost.
constexpr const char* kSmall[] = {"{0} * 0.1",
                                  "0.1 - {0}",
                                  "{0} + 0.1",
                                  "maximum({0}, 0.1)",
                                  "minimum(0.3, {0})",
                                  "clamp({0}, -0.7, 0.1)",
                                  "where({0} > 0.1, {0}, 0.3)",
                                  "where({0} < 0.1, 0.3, {0} * 0.1)",
                                  "{0} % 0.7",
                                  "0.7 % (abs({0}) + 0.1)",
                                  "0.1 ** abs({0})",
                                  "abs({0}) ** 0.1",
                                  "atan2({0}, 0.1)",
                                  "full_like({0}, 0.1) - {0}",
                                  "0.1 / (abs({0}) + 0.3)",
                                  "pad({0}, 1, value: 0.1)[PART]"};
// Of f32 and f64: 16777217 = 2 ** 24 + 1 is no f32, 9007199254740993 = 2 ** 53 + 1 no f64.
constexpr const char* kGreat[] = {"({0} + 16777217) - 16777216",
                                  "({0} * 16777217) * 5.9604645e-08",
                                  "16777217.0 % (abs({0}) + 0.5)",
                                  "minimum({0}, 16777217)",
                                  "where({0} == 16777217, 0.0, {0})",
                                  "{0} / 16777217 * 16777216",
                                  "({0} - 9007199254740993) + 9007199254740992",
                                  "sqrt(abs({0}) + 16777217) * 0.000244140625"};
// Of ints, which become floats beside 0.1.
constexpr const char* kOfInts[] = {"({0} % 9) * 0.1", "0.1 - ({0} % 9)", "({0} % 9) / 16777217 + 0.1"};

// Of |z| < 1: {0} is z, {1} another one of its shape, {2} an axis.
constexpr const char* kComplex[] = {"{0} * {1}",
                                    "{0} + {1} * 0.1i",
                                    "{0} - complex(0.1, 0.3)",
                                    "{0} / ({1} + 2.0)",
                                    "1.0 / ({0} - 2i)",
                                    "{0} ** 2",
                                    "conj({0}) * {1}",
                                    "exp({0})",
                                    "log({0} + 2.0)",
                                    "sqrt({0})",
                                    "sin({0}) + cosh({1})",
                                    "square({0}) * {1}",
                                    "where(abs({0}) > 0.1, {0}, {1})",
                                    "roll({0}, 1, axis: {2})",
                                    "flip({0}, {2})",
                                    "{0} - mean({0}, axis: {2}, keepdims: true)",
                                    "{0}[::-1]",
                                    "{0} * abs({1})"};

template <size_t n> std::string any_of(Random& random, const char* const (&forms)[n]) {
  return forms[random.below(static_cast<int>(n))];
}

}  // namespace

bool LetsBody::weak_numbers() {
  const std::optional<Let> whole =
      random_.chance(15) ? find([](const Let& l) { return l.dtype == "i64" || l.dtype == "i32" || l.dtype == "u32"; })
                         : std::nullopt;
  if (whole) return declare(fmt::format(fmt::runtime(any_of(random_, kOfInts)), whole->name), "f32", whole->shape, 2);
  const std::optional<Let> a = operand();
  if (!a) return false;
  const bool is_wide = a->dtype == "f32" || a->dtype == "f64";
  if (random_.chance(15)) {
    const std::string number = random_.pick({"0.1", "0.3", "16777217"});
    return declare(fmt::format("{} {} {}", a->name, random_.pick({"<", "==", ">="}), number), "bool", a->shape, 1);
  }
  std::string form = is_wide && random_.chance(35) ? any_of(random_, kGreat) : any_of(random_, kSmall);
  if (const size_t part = form.find("[PART]"); part != std::string::npos) {
    if (a->shape.empty()) return false;
    std::string ranges;
    for (size_t i = 0; i < a->shape.size(); ++i) ranges += i == 0 ? "1:-1" : ", 1:-1";
    form.replace(part, 6, "[" + ranges + "]");
  }
  return declare(fmt::format(fmt::runtime(form), a->name), a->dtype, a->shape, std::max(4.0, a->bound + 2));
}

/// Makes complex numbers below 1 of two lets, computes with them, and declares a real part of the last.
bool LetsBody::complex_values() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const std::optional<Let> b = of_shape(a->shape);
  const std::string dtype = a->dtype == "f64" || (b && b->dtype == "f64") ? "f64" : "f32";
  std::string z = fresh("z"), last = z;
  const std::string imaginary = b ? b->name : random_.pick({"0.1", "16777217.0"});
  out.emplace_back(fmt::format("let {0}_ = complex({1}({2}), {1}({3}))", z, dtype, a->name, imaginary));
  out.emplace_back(fmt::format("let {0} = {0}_ / (abs({0}_) + 1.0)", z));
  for (int n = 1 + random_.below(3); n > 0; --n) {
    const std::string next = fresh("z"), form = "let {3} = " + any_of(random_, kComplex);
    const int axis = axis_of(*a);
    out.emplace_back(fmt::format(fmt::runtime(form), last, z, axis, next));
    if (n > 1) {
      out.emplace_back(fmt::format("let {0}_ = {0} / (abs({0}) + 1.0)", next));
      z = std::exchange(last, next + "_");
    } else {
      last = next;
    }
  }
  const std::string part = random_.pick({"{}.re", "{}.im", "abs({})", "real({0}) - imag({0})", "angle({} + 4.0)"});
  return declare(fmt::format(fmt::runtime(part), last), dtype, a->shape, 16);
}

}  // namespace tsl
