// Lets that are views, copies or writes of others; see random_lets_body.h.
#include <algorithm>

#include "support/random_lets_body.h"

namespace tsl {

namespace {

LetShape with(const LetShape& shape, int axis, LetExtent extent) {
  LetShape out = shape;
  out[static_cast<size_t>(axis)] = std::move(extent);
  return out;
}

/// Applies a function to an extent: its text has {} for the extent.
template <class Function> LetExtent computed(const LetExtent& extent, const char* text, Function&& function) {
  LetExtent out{fmt::format(fmt::runtime(text), extent.text), extent.values};
  std::transform(out.values.begin(), out.values.end(), out.values.begin(), function);
  return out;
}

/// Computed extents of computed ones would have long texts.
bool is_simple(const LetExtent& extent) { return extent.text.size() < 12; }

}  // namespace

bool LetsBody::rolled() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  const std::string shift = random_.pick({"1", "1", "-1", "2", "3", "-5"});
  return declare(fmt::format("roll({}, {}, axis: {})", a->name, shift, axis), a->dtype, a->shape, a->bound);
}

bool LetsBody::reversed() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  LetShape shape = a->shape;
  std::string text = a->name + at_axis(axis, "::-1");
  if (random_.chance(15)) text = fmt::format("flip({}, axis: {})", a->name, axis);
  if (random_.chance(35)) {
    const Let b = partner(*a, shape);
    const std::string op = random_.pick({"+", "*", "-", "%"});
    text =
        random_.chance(40) ? fmt::format("maximum({}, {})", text, b.name) : fmt::format("{} {} {}", text, op, b.name);
    return declare(text, promoted(a->dtype, b.dtype), shape, a->bound * b.bound + a->bound + b.bound);
  }
  return declare(text, a->dtype, shape, a->bound);
}

/// Reads two lets together twice, once through a view: what is written for one result may be needed for another.
bool LetsBody::read_twice() {
  std::optional<Let> a = random_.chance(75) ? of_kernel() : std::nullopt;
  if (!a) a = operand(1);
  if (!a) return false;
  std::optional<Let> b = random_.chance(60) ? of_kernel(&a->shape) : std::nullopt;
  if (!b || b->name == a->name) b = of_shape(a->shape);
  return b && read_both(*a, *b);
}

bool LetsBody::read_both(const Let& first, const Let& second) {
  const Let *a = &first, *b = &second;
  const int axis = axis_of(*a);
  const std::string dtype = promoted(a->dtype, b->dtype);
  const double bound = a->bound * b->bound + a->bound + b->bound;
  const std::string op = random_.pick({"*", "+", "-"}), plain = fmt::format("{} {} {}", a->name, op, b->name);
  const std::string view = a->name + at_axis(axis, "::-1");
  switch (random_.below(5)) {
    case 0:
      declare(fmt::format("roll({}, 1, axis: {}) {} {}", a->name, axis, op, b->name), dtype, a->shape, bound);
      return declare(plain, dtype, a->shape, bound);
    case 1: return declare(fmt::format("{} {} ({})", view, op, plain), dtype, a->shape, bound * (a->bound + 1));
    case 2:
      declare(fmt::format("maximum({}, {})", view, b->name), dtype, a->shape, bound);
      return declare(plain, dtype, a->shape, bound);
    default:
      declare(plain, dtype, a->shape, bound);
      return declare(fmt::format("{} {} {}", view, op, b->name), dtype, a->shape, bound);
  }
}

/// Makes a copy of one let between an op on another and a reduction of its rows, and reads both results together.
bool LetsBody::interleaved() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const std::optional<Let> b = of_shape(a->shape);
  const Let& other = b ? *b : *a;
  const int axis = axis_of(*a);
  const bool may_multiply =
      a->bound <= 4 && a->shape.size() == 2 && most_elements({a->shape[0], a->shape[0], a->shape[1]}) < 500'000;
  const bool is_first = random_.chance(30);
  const auto copy = [&] {
    const std::string form = random_.pick({"roll({0}, 1, axis: {1})", "roll({0}, -3, axis: {1})",
                                           "concat([{0}{2}, {0}{3}], axis: {1})", "cumsum({0}, axis: {1}) * 0.0625"});
    declare(fmt::format(fmt::runtime(form), other.name, axis, at_axis(axis, "1:"), at_axis(axis, ":1")), other.dtype,
            other.shape, other.bound);
    return scope.back();
  };
  Let copied = is_first ? copy() : *a;
  const std::string heavy = may_multiply && random_.chance(50) ? fmt::format("{0} @ {0}.T @ {0}", a->name)
                                                               : fmt::format("cumsum({}, axis: {})", a->name, axis);
  declare(heavy + random_.pick({" * 0.1", " * 0.01", " + 1.0", ""}), a->dtype, a->shape, a->bound);
  const std::string middle = scope.back().name;
  if (!is_first) copied = copy();
  const std::string rows = random_.pick({"softmax", "layer_norm", "rms_norm", "softmax", "log_softmax"});
  declare(rows + "(" + middle + ")", a->dtype, a->shape, 10);
  const Let row = scope.back();
  return random_.chance(70) ? read_both(row, copied) : read_both(copied, row);
}

/// Makes an equal tensor, which may be its operand: by a reduction over an axis of extent 1, or an op with no effect.
bool LetsBody::identical() {
  const auto has_extent_1 = [](const LetExtent& extent) { return most_elements({extent}) == 1; };
  const auto is_narrow = [&](const Let& l) { return std::any_of(l.shape.begin(), l.shape.end(), has_extent_1); };
  std::optional<Let> a = find([&](const Let& l) { return l.is_float() && is_narrow(l); });
  if (a && random_.chance(80)) {
    const auto axis = std::find_if(a->shape.begin(), a->shape.end(), has_extent_1) - a->shape.begin();
    LetShape shape = a->shape;
    shape[static_cast<size_t>(axis)].text = "1";
    const std::string reduction = random_.pick({"sum", "mean", "max", "min", "prod", "logsumexp"});
    return declare(fmt::format("{}({}, axis: {}, keepdims: true)", reduction, a->name, axis), a->dtype, shape,
                   a->bound);
  }
  a = operand(1);
  if (!a) return false;
  const std::string form =
      random_.pick({"{0}[:]", "reshape({0}, {1})", "expand({0}, {1})", "{2}({0})", "concat([{0}])",
                    "roll({0}, 0, axis: 0)", "pad({0}, 0)", "stop_gradient({0})", "{0}[::-1][::-1]"});
  return declare(fmt::format(fmt::runtime(form), a->name, to_text(a->shape), a->dtype), a->dtype, a->shape, a->bound);
}

bool LetsBody::strided() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  const LetExtent& extent = a->shape[static_cast<size_t>(axis)];
  if (random_.chance(35)) {  // one row or column
    LetShape shape = a->shape;
    shape.erase(shape.begin() + axis);
    return declare(a->name + at_axis(axis, random_.pick({"0", "-1"})), a->dtype, shape, a->bound);
  }
  if (extent.text == "1" || !is_simple(extent)) return false;
  const LetShape shape = with(a->shape, axis, computed(extent, "(({} + 1) // 2)", [](int n) { return (n + 1) / 2; }));
  return declare(a->name + at_axis(axis, random_.pick({"::2", "::2", "::-2"})), a->dtype, shape, a->bound);
}

bool LetsBody::transposed() {
  const std::optional<Let> a = operand(2);
  if (!a) return false;
  LetShape shape = a->shape;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const std::string text = shape.size() == 2 ? a->name + ".T" : fmt::format("permute({}, [0, 2, 1])", a->name);
  return declare(text, a->dtype, shape, a->bound);
}

bool LetsBody::reshaped() {
  const std::optional<Let> a = operand(2);
  if (!a || !std::all_of(a->shape.begin(), a->shape.end(), is_simple)) return false;
  if (random_.chance(40)) {
    LetShape shape = a->shape;
    std::swap(shape[0], shape[1]);
    return declare(fmt::format("reshape({}, {})", a->name, to_text(shape)), a->dtype, shape, a->bound);
  }
  LetExtent all = a->shape[0];
  for (size_t i = 1; i < a->shape.size(); ++i) {
    all.text += " * " + a->shape[i].text;
    for (size_t group = 0; group < all.values.size(); ++group) all.values[group] *= a->shape[i].values[group];
  }
  all.text = "(" + all.text + ")";
  return declare(fmt::format("reshape({}, [-1])", a->name), a->dtype, {all}, a->bound);
}

bool LetsBody::expanded() {
  const std::optional<Let> a = operand();
  if (!a) return false;
  const std::optional<Let> wide = find([&](const Let& l) {
    const std::optional<LetShape> shape = broadcast(a->shape, l.shape);
    return shape && *shape == l.shape && !(l.shape == a->shape);
  });
  if (!wide) return false;
  return declare(fmt::format("expand({}, {})", a->name, to_text(wide->shape)), a->dtype, wide->shape, a->bound);
}

bool LetsBody::concatenated() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const std::optional<Let> b = of_shape(a->shape);
  if (!b) return false;
  const int axis = axis_of(*a);
  const std::string dtype = promoted(a->dtype, b->dtype);
  const double bound = std::max(a->bound, b->bound);
  const LetExtent& extent = a->shape[static_cast<size_t>(axis)];
  const std::string other = dtype == b->dtype ? b->name : dtype + "(" + b->name + ")";
  const std::string one = dtype == a->dtype ? a->name : dtype + "(" + a->name + ")";
  const std::string text = fmt::format("concat([{}, {}], axis: {})", one, other, axis);
  if (random_.chance(30)) {
    return declare(
        fmt::format("concat([{0}{1}, {2}{3}], axis: {4})", one, at_axis(axis, "1:"), other, at_axis(axis, ":1"), axis),
        dtype, a->shape, bound);
  }
  const LetShape shape = with(a->shape, axis, computed(extent, "(2 * {})", [](int n) { return 2 * n; }));
  if (!fits(shape)) return false;
  if (random_.chance(50) || !is_simple(extent)) {
    const std::string part = random_.pick({":{}", "{}:", "::2", "::-2"});
    return declare(text + at_axis(axis, fmt::format(fmt::runtime(part), extent.text)), dtype, a->shape, bound);
  }
  return declare(text, dtype, shape, bound);
}

bool LetsBody::stacked() {
  const std::optional<Let> a = operand();
  if (!a || a->shape.size() > 2) return false;
  const std::optional<Let> b = of_shape(a->shape);
  if (!b) return false;
  const std::string dtype = promoted(a->dtype, b->dtype);
  const int axis = random_.below(static_cast<int>(a->shape.size()) + 1);
  const std::string other = dtype == b->dtype ? b->name : dtype + "(" + b->name + ")";
  const std::string one = dtype == a->dtype ? a->name : dtype + "(" + a->name + ")";
  const std::string text = fmt::format("stack([{}, {}], axis: {})", one, other, axis);
  LetShape shape = a->shape;
  const size_t groups = scope[0].shape[0].values.size();
  shape.insert(shape.begin() + axis, {"2", std::vector<int>(groups, 2)});
  if (!fits(shape)) return false;
  const double bound = a->bound + b->bound;
  switch (random_.below(3)) {
    case 0: return declare(text, dtype, shape, bound);
    case 1: return declare(fmt::format("sum({}, axis: {})", text, axis), dtype, a->shape, bound);
    default: return declare(text + at_axis(axis, random_.pick({"0", "1"})), dtype, a->shape, bound);
  }
}

bool LetsBody::padded() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  std::string sides;
  const std::string here = random_.pick({"(1, 0)", "(0, 1)"});
  for (int i = 0; i < static_cast<int>(a->shape.size()); ++i) {
    sides += std::string(i == 0 ? "" : ", ") + (i == axis ? here : "(0, 0)");
  }
  const std::string text = fmt::format("pad({}, [{}], {})", a->name, sides, random_.pick({"0", "0.5", "-1.0"}));
  const LetExtent& extent = a->shape[static_cast<size_t>(axis)];
  const LetShape shape = with(a->shape, axis, computed(extent, "({} + 1)", [](int n) { return n + 1; }));
  if (random_.chance(60) || !is_simple(extent) || !fits(shape)) {
    return declare(text + at_axis(axis, random_.pick({":-1", "1:"})), a->dtype, a->shape, a->bound + 1);
  }
  return declare(text, a->dtype, shape, a->bound + 1);
}

bool LetsBody::written() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  std::string name = a->name;
  if (!a->is_var || random_.chance(40)) {
    name = fresh("y");
    out.emplace_back(fmt::format("var {} = {}", name, a->name));
    declare_as(name, a->dtype, a->shape, a->bound, true);
  }
  const std::optional<Let> b = of_shape(a->shape);
  const std::string source = b ? b->name : a->name;
  const int axis = axis_of(*a);
  const auto at = [&](const char* part) { return at_axis(axis, part); };
  for (int n = 1 + random_.below(3); n > 0; --n) {
    switch (random_.below(8)) {
      case 0: out.emplace_back(name + at("0") + " = 0.5"); break;
      case 1: out.emplace_back(name + at("1:3") + " = -0.25"); break;
      case 2: out.emplace_back(name + at("0") + " = " + source + at("-1")); break;
      case 3: out.emplace_back(name + at("1:") + " = " + source + at(":-1")); break;
      case 4: out.emplace_back(name + at("::2") + " += 1.0"); break;
      case 5: out.emplace_back(name + at("-1") + " += " + source + at("0")); break;
      case 6: out.emplace_back(name + at(random_.pick({"::-1", ":"}).c_str()) + " = " + source); break;
      default: out.emplace_back(fmt::format("{0}[{1} > 0.5] = 0.25", name, source)); break;
    }
  }
  return true;
}

bool LetsBody::taken() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  const LetExtent& extent = a->shape[static_cast<size_t>(axis)];
  std::string index = fmt::format("(arange({0}) * {1} + 1) % {0}", extent.text, random_.pick({"3", "5", "7"}));
  const std::optional<Let> key = random_.chance(50) ? of_shape({extent}) : std::nullopt;
  if (key) {
    index = random_.chance(50) ? fmt::format("argsort({})", key->name)
                               : fmt::format("i64(abs({}) * 16.0) % {}", key->name, extent.text);
  }
  const std::string text =
      random_.chance(60) ? a->name + at_axis(axis, index) : fmt::format("take({}, {}, axis: {})", a->name, index, axis);
  return declare(text, a->dtype, a->shape, a->bound);
}

bool LetsBody::gathered() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const std::optional<Let> key = of_shape(a->shape);
  if (!key) return false;
  const int axis = axis_of(*a);
  const std::string order = fmt::format("argsort({}, axis: {})", key->name, axis);
  if (random_.chance(50))
    return declare(fmt::format("gather({}, {}, {})", a->name, axis, order), a->dtype, a->shape, a->bound);
  return declare(fmt::format("scatter_add(zeros_like({0}), {1}, {2}, {0})", a->name, axis, order), a->dtype, a->shape,
                 a->bound);
}

}  // namespace tsl
