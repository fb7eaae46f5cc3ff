#include "support/random_expressions.h"

#include <fmt/format.h>

namespace tsl {

uint64_t Random::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

int Random::below(int n) {
  const size_t used = n <= 256 ? 1 : 2;  // no choice has more than 65,536 ways
  if (bytes_.size() < used) {
    bytes_ = {};
    return static_cast<int>(next() % static_cast<uint64_t>(n));
  }
  const unsigned drawn = used == 1 ? bytes_[0] : bytes_[0] * 256u + bytes_[1];
  bytes_ = bytes_.subspan(used);
  return static_cast<int>(drawn % static_cast<unsigned>(n));
}

std::string Random::pick(std::initializer_list<std::string_view> texts) {
  return std::string(texts.begin()[below(static_cast<int>(texts.size()))]);
}

bool is_float_name(const std::string& dtype) {
  return dtype == "f16" || dtype == "bf16" || dtype == "f32" || dtype == "f64";
}

std::string to_text(const Extents& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

namespace {

/// Returns an index for one axis: "[:, :, part]" for axis 2.
std::string at_axis(size_t axis, const std::string& part) {
  std::string text = "[";
  for (size_t i = 0; i < axis; ++i) text += ":, ";
  return text + part + "]";
}

Extents without(const Extents& shape, size_t axis) {
  Extents out = shape;
  out.erase(out.begin() + static_cast<ptrdiff_t>(axis));
  return out;
}

Extents with(const Extents& shape, size_t axis, const std::string& extent) {
  Extents out = shape;
  out.insert(out.begin() + static_cast<ptrdiff_t>(axis), extent);
  return out;
}

}  // namespace

std::string Expressions::any_dtype() {
  if (random_.chance(55)) return "f32";
  return random_.pick(
      {"f64", "f64", "f16", "bf16", "i64", "i64", "i32", "u8", "i8", "i16", "u16", "u32", "u64", "bool"});
}

std::string Expressions::float_dtype() { return random_.pick({"f32", "f32", "f32", "f64", "f16", "bf16"}); }

Extents Expressions::any_shape() {
  std::vector<std::string> used;
  for (const Variable& v : scope) {
    for (const std::string& extent : v.type.shape) used.push_back(extent);
  }
  for (const Variable& v : scope) {  // a size that is a host number, such as a loop's variable
    if (v.type.kind == Kind::integer && !v.is_assignable && random_.chance(10))
      used.push_back(fmt::format("({} % 4)", v.name));
  }
  Extents shape;
  for (int axes = random_.below(3); axes > 0; --axes) {
    if (!used.empty() && random_.chance(75)) shape.push_back(used[random_.below(static_cast<int>(used.size()))]);
    else shape.push_back(random_.chance(4) ? "0" : random_.pick({"1", "2", "3", "5"}));
  }
  return shape;
}

std::string Expressions::host_variable(Kind kind) {
  std::vector<const Variable*> fits;
  for (const Variable& v : scope) {
    if (v.type.kind == kind) fits.push_back(&v);
  }
  if (fits.empty()) return "";
  return fits[random_.below(static_cast<int>(fits.size()))]->name;
}

/// Makes a slice whose length depends on the run: "2:-1", "i * 2:(i + 1) * 2", "::-3", ….
std::string Expressions::any_slice(int depth) {
  const std::string i = integer(0), step = random_.pick({"", ":2", ":-1", ":3", ":-2"});
  switch (random_.below(5)) {
    case 0: return fmt::format("{0} * 2:({0} + 1) * 2", i);
    case 1: return fmt::format("{}:{}", i, step);
    case 2: return fmt::format(":{}{}", i, step);
    case 3: return fmt::format("{} * {}:", i, random_.pick({"2", "4", "-3"}));
    default: return fmt::format("{}:{}{}", i, integer(depth - 1), step);
  }
}

/// Makes a vector whose length depends on the run.
std::string Expressions::part(int depth) {
  const std::string x = leaf(random_.chance(60) ? "f32" : "i64", {random_.pick({"5", "2", "7"})});
  switch (random_.below(4)) {
    case 0: return fmt::format("{0}[{0} > {1}]", x, integer(0));
    case 1: return fmt::format("concat([{0}[{1}], {0}[{2}]])", x, any_slice(depth), any_slice(depth));
    default: return fmt::format("{}[{}]", x, any_slice(depth));
  }
}

std::string Expressions::failing() {
  return random_.pick({"(1 // 0)", "[1, 2][7]", "int(\"x\")", "nil.x", "{a: 1}.b", "(\"a\" - 1)", "nil(1)",
                       "(zeros([2]) + zeros([3]))", "arange(3)[tensor([1, 7])]", "(arange(4) // tensor([1, 0, 2, 1]))",
                       "error(\"raised\")", "ones([2])[5]", "reshape(ones([3]), [2])", "(ones([2, 3]) @ ones([2]))",
                       "ones([4611686018427387904, 4])", "tensor([1], dtype: u8) + 300", "max(zeros([0]))"});
}

std::string Expressions::integer(int depth) {
  if (fails_here()) return failing();
  const std::string variable = host_variable(Kind::integer);
  if (random_.chance(1)) return random_.pick({"4611686018427387904", "9223372036854775807", "-9223372036854775807"});
  if (depth <= 0 || random_.chance(30)) {
    return !variable.empty() && random_.chance(70) ? variable : std::to_string(random_.below(9) - 3);
  }
  switch (random_.below(16)) {
    case 0: return fmt::format("({} // {})", integer(depth - 1), random_.pick({"2", "3", "-2", "7"}));
    case 8: return fmt::format("len({})", part(depth - 1));
    case 9: return fmt::format("{}.size", tensor("f32", any_shape(), depth - 1));
    case 10: return fmt::format("int({})", real(depth - 1));
    case 1: return fmt::format("({} % {})", integer(depth - 1), random_.pick({"2", "3", "5", "-4"}));
    case 2: return fmt::format("min({}, {})", integer(depth - 1), integer(depth - 1));
    case 3: return fmt::format("max({}, {})", integer(depth - 1), integer(depth - 1));
    case 4: return fmt::format("abs({})", integer(depth - 1));
    case 5: return fmt::format("int(sum({}))", tensor("bool", any_shape(), depth - 1));
    case 6: {
      const std::string divisor = random_.chance(15) ? integer(depth - 1) : fmt::format("({} + 4)", integer(0));
      return fmt::format("({} // {})", integer(depth - 1), divisor);
    }
    case 7: return fmt::format("(-{})", integer(depth - 1));
    case 11:
      return fmt::format("(if {} {{ {} }} else {{ {} }})", condition(depth - 1), integer(depth - 1),
                         integer(depth - 1));
    case 12:
      return fmt::format("({} {} {})", integer(depth - 1), random_.pick({"<<", ">>"}),
                         random_.pick({"0", "1", "3", "62"}));
    case 13: return fmt::format("(try {{ {} }} catch caught {{ {} }})", integer(depth - 1), integer(depth - 1));
    default: return fmt::format("({} {} {})", integer(depth - 1), random_.pick({"+", "-", "*"}), integer(depth - 1));
  }
}

std::string Expressions::real(int depth) {
  if (fails_here()) return failing();
  const std::string variable = host_variable(Kind::real);
  if (depth <= 0 || random_.chance(30)) {
    return !variable.empty() && random_.chance(70) ? variable
                                                   : random_.pick({"0.5", "-1.25", "0.1", "2.0", "1e-3", "3.0"});
  }
  switch (random_.below(10)) {
    case 0: return fmt::format("float({})", integer(depth - 1));
    case 6: return fmt::format("float({}({}))", random_.pick({"sum", "norm", "prod"}), part(depth - 1));
    case 1:
      return fmt::format("float({}({}))", random_.pick({"sum", "mean"}), tensor(float_dtype(), any_shape(), depth - 1));
    case 2: return fmt::format("({} * {})", integer(depth - 1), real(depth - 1));
    case 3: return fmt::format("{}({})", random_.pick({"tanh", "sin", "abs", "floor", "exp"}), real(depth - 1));
    case 4: return fmt::format("({} / {})", real(depth - 1), random_.pick({"3.0", "-0.7", "2"}));
    case 5: return fmt::format("{}({}, {})", random_.pick({"min", "max"}), real(depth - 1), real(depth - 1));
    default: return fmt::format("({} {} {})", real(depth - 1), random_.pick({"+", "-", "*"}), real(depth - 1));
  }
}

std::string Expressions::condition(int depth) {
  const std::string comparison = random_.pick({">", "<", ">=", "<=", "==", "!="});
  if (depth <= 0) return fmt::format("{} {} {}", integer(0), comparison, integer(0));
  switch (random_.below(10)) {
    case 9:
      return fmt::format("{} {} {} {} {}", integer(depth - 1), comparison, integer(depth - 1),
                         random_.pick({"<", ">=", "!="}), real(depth - 1));
    case 0: return fmt::format("{} {} {}", real(depth - 1), random_.pick({"<", ">"}), real(depth - 1));
    case 1: return fmt::format("any({})", tensor("bool", any_shape(), depth - 1));
    case 2: return fmt::format("all({})", tensor("bool", any_shape(), depth - 1));
    case 3: return fmt::format("({} {} {})", condition(depth - 1), random_.pick({"and", "or"}), condition(depth - 1));
    case 4: return fmt::format("not ({})", condition(depth - 1));
    case 5:
    case 6: {
      const std::string dtype = random_.chance(80) ? "f32" : any_dtype();
      return fmt::format("sum({}) {} {}", tensor(dtype, any_shape(), depth - 1), random_.pick({"<", ">"}), real(0));
    }
    default: return fmt::format("{} {} {}", integer(depth - 1), comparison, integer(depth - 1));
  }
}

std::string Expressions::of(const Typed& type, int depth) {
  switch (type.kind) {
    case Kind::integer: return integer(depth);
    case Kind::real: return real(depth);
    case Kind::tensor: return tensor(type.dtype, type.shape, depth);
    case Kind::tensors: {
      const std::string variable = host_variable(Kind::tensors);
      if (!variable.empty() && random_.chance(50)) return variable;
      return fmt::format("[{}, {}]", tensor(type.dtype, type.shape, depth - 1),
                         tensor(type.dtype, type.shape, depth - 1));
    }
    case Kind::record: {
      const Extents last(type.shape.end() - 1, type.shape.end());
      return fmt::format("{{w: {}, b: {}}}", tensor(type.dtype, type.shape, depth - 1),
                         tensor(type.dtype, last, depth - 1));
    }
  }
  return "nil";
}

std::string Expressions::variable(const std::string& dtype, const Extents& shape) {
  std::vector<std::string> fits, others;
  auto consider = [&](const std::string& name, const std::string& type, const Extents& extents) {
    if (extents == shape) (type == dtype ? fits : others).push_back(name);
  };
  for (const Variable& v : scope) {
    if (v.type.kind == Kind::tensor) consider(v.name, v.type.dtype, v.type.shape);
    if (v.type.kind == Kind::tensors)
      consider(fmt::format("{}[{}]", v.name, random_.below(2)), v.type.dtype, v.type.shape);
    if (v.type.kind != Kind::record) continue;
    consider(v.name + ".w", v.type.dtype, v.type.shape);
    consider(v.name + ".b", v.type.dtype, Extents(v.type.shape.end() - 1, v.type.shape.end()));
  }
  if (!fits.empty()) return fits[random_.below(static_cast<int>(fits.size()))];
  if (!others.empty()) return fmt::format("{}({})", dtype, others[random_.below(static_cast<int>(others.size()))]);
  return "";
}

std::string Expressions::source(const std::string& dtype, const Extents& shape) {
  const std::string dims = to_text(shape);
  const std::string count = shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, " * "));
  if (dtype == "bool") return fmt::format("(rand({}) > 0.5)", dims);
  if (shape.size() == 2 && shape[0] == shape[1] && random_.chance(20))
    return fmt::format("eye({}, dtype: {})", shape[0], dtype);
  if (shape.size() == 1 && random_.chance(8)) return fmt::format("{}(linspace(0.0, 3.0, {}))", dtype, shape[0]);
  if (shape.size() == 1 && random_.chance(8)) return fmt::format("{}(randperm({}))", dtype, shape[0]);
  if (random_.chance(20))
    return fmt::format("full({}, {}, dtype: {})", dims, random_.pick({"0", "1", "2", "3"}), dtype);
  if (!is_float_name(dtype)) {
    if (random_.chance(50)) return fmt::format("randint(0, 9, {}, dtype: {})", dims, dtype);
    return fmt::format("reshape(arange({}, dtype: {}), {})", count, dtype, dims);
  }
  switch (random_.below(4)) {
    case 0: return fmt::format("rand({}, dtype: {})", dims, dtype);
    case 1: return fmt::format("randn({}, dtype: {})", dims, dtype);
    case 2: return fmt::format("full({}, {}, dtype: {})", dims, real(0), dtype);
    default:
      return fmt::format("(reshape(arange({}, dtype: {}), {}) * {})", count, dtype, dims,
                         random_.pick({"0.3", "-0.7", "0.01"}));
  }
}

std::string Expressions::leaf(const std::string& dtype, const Extents& shape) {
  if (random_.chance(85)) {
    std::string name = variable(dtype, shape);
    if (!name.empty()) return name;
  }
  return source(dtype, shape);
}

Extents Expressions::broadcastable(const Extents& shape) {
  Extents out = shape;
  if (random_.chance(60)) return out;
  while (!out.empty() && random_.chance(40)) out.erase(out.begin());
  for (std::string& extent : out) {
    if (random_.chance(30)) extent = "1";
  }
  return out;
}

std::string Expressions::tensor(const std::string& dtype, const Extents& shape, int depth) {
  if (fails_here()) return fmt::format("{}({})", dtype, failing());
  if (depth <= 0 || random_.chance(15)) return leaf(dtype, shape);
  switch (random_.below(14)) {
    case 0:
    case 1: return reduction(dtype, shape, depth);
    case 2:
    case 3: return view(dtype, shape, depth);
    case 4: return structure(dtype, shape, depth);
    case 5: return rows(dtype, shape, depth);
    case 6: return product(dtype, shape, depth);
    case 7: return indexed(dtype, shape, depth);
    case 8: return fmt::format("{}({})", dtype, tensor(any_dtype(), shape, depth - 1));
    default: return elementwise(dtype, shape, depth);
  }
}

/// Makes an op of constants beside the same op of the same numbers in another dtype.
std::string Expressions::of_constants(const std::string& dtype, const Extents& shape) {
  std::string mask = variable("bool", shape);
  if (mask.empty() || random_.chance(20)) {
    const std::string count = shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, " * "));
    mask = fmt::format("(reshape(arange({}), {}) % 2 == 0)", count, to_text(shape));
  }
  const std::string form = random_.pick({"where({0}, {1}(1), {1}(2))", "where({0}, full({2}, 2, dtype: {1}), {1}(0))",
                                         "where({0}, ones({2}, dtype: {1}), 0)", "{1}({0})", "full({2}, 3, dtype: {1})",
                                         "clamp(full({2}, 3, dtype: {1}), 1, 2)"});
  const auto of = [&](const std::string& type) { return fmt::format(fmt::runtime(form), mask, type, to_text(shape)); };
  return fmt::format("({} {} {}({}))", of(dtype), dtype == "bool" ? "^" : "+", dtype, of(any_dtype()));
}

std::string Expressions::elementwise(const std::string& dtype, const Extents& shape, int depth) {
  if (random_.chance(4)) return of_constants(dtype, shape);
  if (random_.chance(12)) {
    const std::string condition = tensor("bool", broadcastable(shape), depth - 1);
    const std::string otherwise = dtype != "bool" && random_.chance(30)
                                      ? random_.pick({"0", "1", "2"})
                                      : tensor(dtype, broadcastable(shape), depth - 1);
    return fmt::format("where({}, {}, {})", condition, tensor(dtype, shape, depth - 1), otherwise);
  }
  if (dtype == "bool") return boolean(shape, depth);
  return is_float_name(dtype) ? floating(dtype, shape, depth) : whole(dtype, shape, depth);
}

/// Makes real numbers of complex ones.
std::string Expressions::of_complex(const std::string& dtype, const Extents& shape, int depth) {
  const std::string part = dtype == "f64" ? "f64" : "f32", name = dtype == "f64" ? "c128" : "c64";
  const auto z = [&] {
    const std::string re = tensor(part, shape, depth - 1);
    if (random_.chance(20)) return fmt::format("full({}, 0.5 - 2i, dtype: {})", to_text(shape), name);
    if (random_.chance(20)) {  // of a list that mixes real and complex numbers, and of a parameter that is a dtype
      const std::string list =
          random_.pick({"[{0}, {1} * 1i, 2]", "[[2i, {0}], [{1}, {1} * 0.5i]]", "[({0}, 1i), [1, {1}]]"});
      const std::string made = fmt::format(fmt::runtime(list), real(depth - 1), integer(depth - 1));
      if (list[1] == '{' && random_.chance(30)) {
        const std::string number = random_.pick({"sum({})", "prod({})", "mean({})", "cumsum({})[1]", "square({})[2]"});
        return fmt::format("({} * {})", re, fmt::format(fmt::runtime(number), made));
      }
      const std::string form = random_.pick({"tensor({}, {})", "(fn(d: dtype) = tensor({}, d))({})"});
      return fmt::format("({} * {}[1{}])", re, fmt::format(fmt::runtime(form), made, name),
                         list[1] == '{' ? "" : ", 0");
    }
    return random_.chance(30) ? fmt::format("{}({})", name, re)
                              : fmt::format("complex({}, {})", re, tensor(part, shape, depth - 2));
  };
  const std::string form = random_.pick({"({} * {})", "({} - conj({}))", "({} + 1i * {})", "where(true, {}, {})"});
  return fmt::format("{}({}({}))", dtype, random_.pick({"real", "imag"}), fmt::format(fmt::runtime(form), z(), z()));
}

std::string Expressions::floating(const std::string& dtype, const Extents& shape, int depth) {
  if (random_.chance(4)) return of_complex(dtype, shape, depth);
  auto x = [&] { return tensor(dtype, shape, depth - 1); };
  auto y = [&] { return tensor(dtype, broadcastable(shape), depth - 1); };
  switch (random_.below(14)) {
    case 0:
    case 1: {
      const std::string name = random_.pick({"tanh", "sin", "cos", "sigmoid", "gelu", "softplus", "relu", "silu", "erf",
                                             "abs", "square", "floor", "round", "sign", "atan", "trunc", "ceil"});
      return fmt::format("{}({})", name, x());
    }
    case 2: return fmt::format("{}(abs({}))", random_.pick({"sqrt", "log1p"}), x());
    case 3: return fmt::format("exp(-abs({}))", x());
    case 4: return fmt::format("(-{})", x());
    case 5: return fmt::format("({} / (abs({}) + 0.5))", x(), y());
    case 6: return fmt::format("{}({}, {})", random_.pick({"minimum", "maximum", "atan2"}), x(), y());
    case 7: return fmt::format("({} {} {})", x(), random_.pick({"+", "*", "-", "/"}), real(depth - 1));
    case 8: return fmt::format("({} {} {})", real(depth - 1), random_.pick({"+", "*", "-"}), x());
    case 9: return fmt::format("({} {} {})", x(), random_.pick({"+", "*", "-"}), integer(depth - 1));
    case 10: return fmt::format("({} {} {})", x(), random_.pick({"%", "//"}), random_.pick({"0.75", "2", "-3"}));
    default: return fmt::format("({} {} {})", x(), random_.pick({"+", "*", "-"}), y());
  }
}

std::string Expressions::whole(const std::string& dtype, const Extents& shape, int depth) {
  auto x = [&] { return tensor(dtype, shape, depth - 1); };
  auto y = [&] { return tensor(dtype, broadcastable(shape), depth - 1); };
  switch (random_.below(9)) {
    case 0: return fmt::format("{}({})", random_.pick({"abs", "square", "relu", "sign"}), x());
    case 1: return fmt::format("({} {} {})", x(), random_.pick({"&", "|", "^"}), y());
    case 2: return fmt::format("{}({}, {})", random_.pick({"minimum", "maximum"}), x(), y());
    case 3: return fmt::format("({} {} ({} % 3 + 3))", x(), random_.pick({"//", "%"}), y());
    case 4: return fmt::format("({} {} {})", x(), random_.pick({"//", "%"}), random_.chance(4) ? y() : "3");
    case 5: return fmt::format("({} {} {})", x(), random_.pick({"+", "*", "-"}), integer(depth - 1));
    case 6: return fmt::format("{}({} * 3)", dtype, tensor("f32", shape, depth - 1));
    default: return fmt::format("({} {} {})", x(), random_.pick({"+", "*", "-"}), y());
  }
}

std::string Expressions::boolean(const Extents& shape, int depth) {
  const std::string dtype = random_.pick({"f32", "f32", "f64", "i64", "f16", "u8", "u32", "u64"});
  auto x = [&](const std::string& type) { return tensor(type, shape, depth - 1); };
  switch (random_.below(6)) {
    case 0:
      return fmt::format("({} {} {})", x("bool"), random_.pick({"&", "|", "^"}),
                         tensor("bool", broadcastable(shape), depth - 1));
    case 1:
      return fmt::format("({} {} {})", x(dtype), random_.pick({"<", ">", "==", "!="}),
                         is_float_name(dtype) ? real(0) : integer(0));
    case 2: return fmt::format("isfinite({})", x("f32"));
    case 3: return fmt::format("({} % 2 == 0)", x("i64"));
    default:
      return fmt::format("({} {} {})", x(dtype), random_.pick({"<", ">", "<=", ">=", "==", "!="}),
                         tensor(dtype, broadcastable(shape), depth - 1));
  }
}

std::string Expressions::reduction(const std::string& dtype, const Extents& shape, int depth) {
  const size_t axis = static_cast<size_t>(random_.below(static_cast<int>(shape.size()) + 1));
  if (shape.size() >= 3) return elementwise(dtype, shape, depth);
  std::string extent = random_.pick({"1", "2", "4", "7"});
  if (random_.chance(2)) extent = random_.pick({"129", "1025", "4100"});  // beyond a strip, a tile and a block
  if (!shape.empty() && random_.chance(40)) extent = shape[0];
  const Extents full = with(shape, axis, extent);
  const std::string where = fmt::format(
      "axis: {}", random_.chance(30) ? static_cast<int>(axis) - static_cast<int>(full.size()) : static_cast<int>(axis));
  if (dtype == "bool")
    return fmt::format("{}({}, {})", random_.pick({"any", "all"}), tensor("bool", full, depth - 1), where);
  if (dtype == "i64" && random_.chance(40))
    return fmt::format("{}({}, {})", random_.pick({"argmax", "argmin"}), tensor(any_dtype(), full, depth - 1), where);
  if (is_float_name(dtype)) {
    if (shape.empty() && random_.chance(40)) {
      return fmt::format("{}({})", random_.pick({"sum", "mean", "max", "norm"}), tensor(dtype, any_shape(), depth - 1));
    }
    const std::string name = random_.pick({"sum", "sum", "mean", "max", "min", "logsumexp", "prod"});
    return fmt::format("{}({}, {})", name, tensor(dtype, full, depth - 1), where);
  }
  return fmt::format("{}({}({}, {}))", dtype, random_.pick({"sum", "max", "min", "prod"}),
                     tensor(dtype, full, depth - 1), where);
}

std::string Expressions::view(const std::string& dtype, const Extents& shape, int depth) {
  if (shape.empty()) {
    return fmt::format("{}[{}]", tensor(dtype, {"3"}, depth - 1), random_.pick({"0", "-1", "1", "2"}));
  }
  const size_t axis = static_cast<size_t>(random_.below(static_cast<int>(shape.size())));
  const std::string& extent = shape[axis];
  auto larger = [&](const std::string& more) {
    Extents out = shape;
    out[axis] = fmt::format("({} + {})", extent, more);
    return tensor(dtype, out, depth - 1);
  };
  switch (random_.below(11)) {
    case 9: return sliced(dtype, shape, axis, depth);
    case 0: return tensor(dtype, shape, depth - 1) + at_axis(axis, "::-1");
    case 1: return larger("2") + at_axis(axis, random_.pick({"1:-1", "2:", ":-2"}));
    case 2: return larger(extent) + at_axis(axis, random_.pick({"::2", "1::2"}));
    case 3:
      return fmt::format("roll({}, {}, axis: {})", tensor(dtype, shape, depth - 1), random_.pick({"1", "2", "-1"}),
                         axis);
    case 4: return tensor(dtype, with(shape, axis, "3"), depth - 1) + at_axis(axis, random_.pick({"0", "-1", "1"}));
    case 5: {
      Extents one = shape;
      one[axis] = "1";
      return fmt::format("expand({}, {})", tensor(dtype, one, depth - 1), to_text(shape));
    }
    case 6: {
      Extents given = shape;
      if (random_.chance(30)) given[axis] = "-1";
      return fmt::format("reshape({}, {})", tensor(dtype, {fmt::format("{}", fmt::join(shape, " * "))}, depth - 1),
                         to_text(given));
    }
    default: {
      if (shape.size() < 2) return fmt::format("flip({}, axis: 0)", tensor(dtype, shape, depth - 1));
      Extents swapped = shape;
      std::swap(swapped[0], swapped[1]);
      return fmt::format("transpose({}, 0, 1)", tensor(dtype, swapped, depth - 1));
    }
  }
}

/// Makes a part of known length at an offset that is a host number: a batch, a piece, windows.
std::string Expressions::sliced(const std::string& dtype, const Extents& shape, size_t axis, int depth) {
  const std::string extent = fmt::format("({})", shape[axis]), at = fmt::format("({} % 3)", integer(0));
  Extents whole = shape;
  const int way = random_.below(4);
  if (way == 2 && shape.size() == 1 && dtype != "bool") {
    return fmt::format("{}(windows({}, 0, 3).sum(axis: -1))", dtype,
                       tensor(dtype, {fmt::format("({} + 2)", extent)}, depth - 1));
  }
  if (way == 3) {
    whole[axis] = fmt::format("({} + 2)", extent);
    return fmt::format("split({}, [{}, 2], axis: {})[0]", tensor(dtype, whole, depth - 1), extent, axis);
  }
  whole[axis] = fmt::format("(3 * {})", extent);
  return tensor(dtype, whole, depth - 1) + at_axis(axis, fmt::format("{0} * {1}:({0} + 1) * {1}", at, extent));
}

std::string Expressions::structure(const std::string& dtype, const Extents& shape, int depth) {
  if (shape.empty()) return elementwise(dtype, shape, depth);
  const size_t axis = static_cast<size_t>(random_.below(static_cast<int>(shape.size())));
  if (shape[axis] == "2" && random_.chance(60)) {
    const Extents part = without(shape, axis);
    return fmt::format("stack([{}, {}], axis: {})", tensor(dtype, part, depth - 1), tensor(dtype, part, depth - 1),
                       axis);
  }
  if (dtype != "bool" && random_.chance(15)) return scattered(dtype, shape, axis, depth);
  if (random_.chance(15)) return padded(dtype, shape, axis, depth);
  if (dtype == "i64" && random_.chance(20)) {
    return fmt::format("argsort({}, axis: {}, descending: {})", tensor(any_dtype(), shape, depth - 1), axis,
                       random_.pick({"true", "false"}));
  }
  if (random_.chance(30)) {
    const std::string name = dtype == "bool" ? "flip" : random_.pick({"cumsum", "cumprod", "sort"});
    return fmt::format("{}({}({}, axis: {}))", dtype, name, tensor(dtype, shape, depth - 1), axis);
  }
  if (shape.size() == 2 && random_.chance(20))
    return fmt::format("{}({})", random_.pick({"tril", "triu"}), tensor(dtype, shape, depth - 1));
  if (axis == 0 && is_float_name(dtype) && random_.chance(10)) {
    return fmt::format("topk({}, {}, axis: 0)[0]",
                       tensor(dtype, with(without(shape, 0), 0, fmt::format("({} + 1)", shape[0])), depth - 1),
                       shape[0]);
  }
  Extents two = shape;
  two[axis] = "2";
  return fmt::format("concat([{}, {}], axis: {}){}", tensor(dtype, shape, depth - 1), tensor(dtype, two, depth - 1),
                     axis, at_axis(axis, random_.pick({"2:", ":-2", "1:-1"})));
}

/// Adds some elements to others that an index names.
std::string Expressions::scattered(const std::string& dtype, const Extents& shape, size_t axis, int depth) {
  Extents some = shape;
  some[axis] = random_.pick({"1", "3", "4"});
  const std::string index = fmt::format("({} % max({}, 1))", tensor("i64", some, depth - 1), shape[axis]);
  return fmt::format("scatter_add({}, {}, {}, {})", tensor(dtype, shape, depth - 1), axis, index,
                     tensor(dtype, some, depth - 1));
}

/// Pads one axis, and removes the margin or as much of the other end.
std::string Expressions::padded(const std::string& dtype, const Extents& shape, size_t axis, int depth) {
  std::vector<std::string> margins(shape.size(), "(0, 0)");
  margins[axis] = "(1, 2)";
  const std::string value = dtype == "bool" ? "true" : random_.pick({"0", "1", "3"});
  return fmt::format("pad({}, [{}], value: {}){}", tensor(dtype, shape, depth - 1), fmt::join(margins, ", "), value,
                     at_axis(axis, random_.pick({"1:-2", ":-3", "3:"})));
}

std::string Expressions::rows(const std::string& dtype, const Extents& shape, int depth) {
  if (shape.empty() || !is_float_name(dtype)) return elementwise(dtype, shape, depth);
  const std::string axis = random_.chance(70) ? "-1" : "0";
  const std::string x = tensor(dtype, shape, depth - 1);
  switch (random_.below(5)) {
    case 0: return fmt::format("log_softmax({}, axis: {})", x, axis);
    case 1: return fmt::format("layer_norm({})", x);
    case 2: return fmt::format("rms_norm({})", x);
    case 3: {
      const std::string y = leaf(dtype, shape);
      return fmt::format("({0} - {1}({0}, axis: {2}, keepdims: true))", y, random_.pick({"sum", "mean", "max", "min"}),
                         axis);
    }
    default: return fmt::format("softmax({}, axis: {})", x, axis);
  }
}

std::string Expressions::product(const std::string& dtype, const Extents& shape, int depth) {
  if (shape.size() != 2 || !is_float_name(dtype)) return elementwise(dtype, shape, depth);
  const std::string inner = random_.chance(60) ? random_.pick({"1", "2", "3", "8"}) : shape[random_.below(2)];
  if (random_.chance(15)) {
    return fmt::format("einsum(\"ij,kj->ik\", {}, {})", tensor(dtype, {shape[0], inner}, depth - 1),
                       tensor(dtype, {shape[1], inner}, depth - 1));
  }
  if (random_.chance(10)) {
    const std::string weights = tensor(dtype, {shape[0], fmt::format("(3 * {})", inner)}, depth - 1);
    return fmt::format("conv(unsqueeze({}, 0), reshape({}, {}, {}, 3), padding: {})[0]",
                       tensor(dtype, {inner, shape[1]}, depth - 1), weights, shape[0], inner,
                       random_.pick({"1", "[(2, 0)]"}));
  }
  return fmt::format("({} @ {})", tensor(dtype, {shape[0], inner}, depth - 1),
                     tensor(dtype, {inner, shape[1]}, depth - 1));
}

std::string Expressions::indexed(const std::string& dtype, const Extents& shape, int depth) {
  if (shape.empty()) { return fmt::format("{}[{} % 3]", tensor(dtype, {"3"}, depth - 1), integer(depth - 1)); }
  const std::string extent = random_.pick({"2", "3", "4"});
  const std::string bound = random_.chance(97) ? extent : "5";  // sometimes out of range
  const size_t axis = static_cast<size_t>(random_.below(static_cast<int>(shape.size())));
  const std::string index = fmt::format("({} % {})", tensor("i64", {shape[axis]}, depth - 1), bound);
  Extents table = shape;
  table[axis] = extent;
  if (axis == 0 && random_.chance(60)) return fmt::format("{}[{}]", tensor(dtype, table, depth - 1), index);
  if (shape.size() == 2 && axis == 1 && random_.chance(20)) {
    return fmt::format("{}(one_hot({} % {}, {}))", dtype, tensor("i64", {shape[0]}, depth - 1), bound, shape[1]);
  }
  return fmt::format("take({}, {}, axis: {})", tensor(dtype, table, depth - 1), index, axis);
}

std::string Expressions::loss(const std::string& name, const Typed& type, int depth) {
  scope.push_back({name, type, false});
  scope.push_back({name, type, false});  // twice, so that it is used
  const std::string text = fmt::format("sum({} * {})", tensor(type.dtype, type.shape, depth),
                                       random_.chance(70) ? name : source(type.dtype, type.shape));
  scope.resize(scope.size() - 2);
  return text;
}

}  // namespace tsl
