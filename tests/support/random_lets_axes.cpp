// Lets that combine elements along an axis: reductions, scans, products; see random_lets_body.h.
#include <algorithm>
#include <cmath>

#include "support/random_lets_body.h"

namespace tsl {

namespace {

constexpr int64_t kMostProducts = 3'000'000;  // of a matrix product: some milliseconds

LetExtent one_like(const LetExtent& extent) { return {"1", std::vector<int>(extent.values.size(), 1)}; }

int most(const LetExtent& extent) { return *std::max_element(extent.values.begin(), extent.values.end()); }

}  // namespace

int LetsBody::reduced_axis_of(const Let& let) {
  for (size_t axis = 0; axis < let.shape.size(); ++axis) {
    if (let.shape[axis].text == "1" && random_.chance(60)) return static_cast<int>(axis);
  }
  return axis_of(let);
}

bool LetsBody::reduced() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const bool is_whole = random_.chance(25);
  const int axis = reduced_axis_of(*a);
  const bool keeps = random_.chance(50);
  LetShape shape = a->shape;
  for (int i = static_cast<int>(shape.size()) - 1; i >= 0; --i) {
    if (!is_whole && i != axis) continue;
    if (keeps) shape[static_cast<size_t>(i)] = one_like(shape[static_cast<size_t>(i)]);
    else shape.erase(shape.begin() + i);
  }
  const std::string where = (is_whole ? "" : fmt::format(", axis: {}", axis)) + (keeps ? ", keepdims: true" : "");
  const double count = static_cast<double>(most_elements(a->shape));
  switch (random_.below(9)) {
    case 0:
    case 1: return declare(fmt::format("sum({}{})", a->name, where), a->dtype, shape, a->bound * count);
    case 2:
    case 3: return declare(fmt::format("mean({}{})", a->name, where), a->dtype, shape, a->bound);
    case 4: return declare(fmt::format("max({}{})", a->name, where), a->dtype, shape, a->bound);
    case 5: return declare(fmt::format("min({}{})", a->name, where), a->dtype, shape, a->bound);
    case 6:
      return declare(fmt::format("var({}{}, correction: 0)", a->name, where), a->dtype, shape, a->bound * a->bound);
    case 7: return declare(fmt::format("logsumexp({}{})", a->name, where), a->dtype, shape, a->bound + 10);
    default: return declare(fmt::format("prod(cos({}) * 0.125 + 1.0{})", a->name, where), a->dtype, shape, 101);
  }
}

bool LetsBody::centered() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const std::string reduction = random_.pick({"mean", "max", "sum", "min", "mean", "logsumexp"});
  LetShape reduced, shape = a->shape;
  std::string where;
  if (random_.chance(60)) {
    const int axis = reduced_axis_of(*a);
    where = fmt::format(", axis: {}, keepdims: true", axis);
    reduced = a->shape;
    reduced[static_cast<size_t>(axis)] = one_like(reduced[static_cast<size_t>(axis)]);
  }
  const Let left = random_.chance(50) ? *a : partner(*a, shape);
  const std::string op = random_.pick({"-", "-", "+", "*"});
  const double bound = reduction == "sum" ? a->bound * static_cast<double>(most_elements(a->shape)) : a->bound + 10;
  return declare(fmt::format("{} {} {}({}{})", left.name, op, reduction, a->name, where),
                 promoted(left.dtype, a->dtype), *broadcast(left.shape, reduced),
                 op == "*" ? left.bound * bound : left.bound + bound);
}

bool LetsBody::located() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  LetShape shape = a->shape;
  const bool keeps = random_.chance(50);
  if (keeps) shape[static_cast<size_t>(axis)] = one_like(shape[static_cast<size_t>(axis)]);
  else shape.erase(shape.begin() + axis);
  const std::string where = fmt::format(", axis: {}{}", axis, keeps ? ", keepdims: true" : "");
  if (random_.chance(30)) {
    return declare(fmt::format("{}({} > 0.5{})", random_.pick({"any", "all"}), a->name, where), "bool", shape, 1);
  }
  return declare(fmt::format("{}({}{})", random_.pick({"argmax", "argmin"}), a->name, where), "i64", shape, 1);
}

bool LetsBody::scanned() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  const double count = most(a->shape[static_cast<size_t>(axis)]);
  switch (random_.below(4)) {
    case 0: return declare(fmt::format("cumsum({}, axis: {})", a->name, axis), a->dtype, a->shape, a->bound * count);
    case 1:
      return declare(fmt::format("cumprod(sin({}) * 0.0625 + 1.0, axis: {})", a->name, axis), a->dtype, a->shape, 101);
    default:
      return declare(fmt::format("cumsum({}, axis: {}) * 0.1", a->name, axis), a->dtype, a->shape, a->bound * count);
  }
}

bool LetsBody::multiplied() {
  const std::optional<Let> a = operand(2);
  if (!a) return false;
  const size_t rank = a->shape.size();
  const LetExtent &rows = a->shape[rank - 2], &inner = a->shape[rank - 1];
  std::optional<Let> b = find([&](const Let& l) {
    if (l.dtype != a->dtype || l.bound > 100 || l.shape.empty() || l.shape.size() > 2 || rank != 2) return false;
    return l.shape[0] == inner;
  });
  LetShape shape = a->shape;
  std::string right;
  if (b && random_.chance(75)) {
    right = b->name;
    if (b->shape.size() == 1) shape.pop_back();
    else shape.back() = b->shape[1];
  } else {
    b = of_shape(a->shape);
    if (!b || b->dtype != a->dtype) b = a;
    right = rank == 2 ? b->name + ".T" : fmt::format("permute({}, [0, 2, 1])", b->name);
    shape.back() = rows;
  }
  if (!fits(shape) || most_elements(shape) * most(inner) > kMostProducts) return false;
  return declare(fmt::format("{} @ {}", a->name, right), a->dtype, shape, a->bound * b->bound * most(inner));
}

bool LetsBody::softmaxed() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  const std::string where = random_.chance(40) ? "" : fmt::format(", axis: {}", axis);
  if (random_.chance(25)) {
    return declare(fmt::format("log_softmax({}{})", a->name, where), a->dtype, a->shape, 2 * a->bound + 10);
  }
  const std::string scaled = random_.chance(40) ? fmt::format(" * {}", a->shape[static_cast<size_t>(axis)].text) : "";
  return declare(fmt::format("softmax({}{}){}", a->name, where, scaled), a->dtype, a->shape,
                 scaled.empty() ? 1 : most(a->shape[static_cast<size_t>(axis)]));
}

bool LetsBody::normalized() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const LetExtent& last = a->shape.back();
  const std::optional<Let> weight = random_.chance(60) ? of_shape({last}) : std::nullopt;
  const std::optional<Let> bias = weight && random_.chance(50) ? of_shape({last}) : std::nullopt;
  const double bound = std::min(std::sqrt(most(last)), 20.0) * (weight ? weight->bound : 1) + (bias ? bias->bound : 0);
  std::string dtype = a->dtype;
  if (weight) dtype = promoted(dtype, weight->dtype);
  if (random_.chance(40)) {
    return declare(fmt::format("rms_norm({}{})", a->name, weight ? ", " + weight->name : ""), dtype, a->shape, bound);
  }
  if (bias) dtype = promoted(dtype, bias->dtype);
  return declare(
      fmt::format("layer_norm({}{}{})", a->name, weight ? ", " + weight->name : "", bias ? ", " + bias->name : ""),
      dtype, a->shape, bound);
}

bool LetsBody::sorted() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const int axis = axis_of(*a);
  switch (random_.below(4)) {
    case 0: return declare(fmt::format("argsort({}, axis: {})", a->name, axis), "i64", a->shape, 1);
    case 1: {
      LetShape shape = a->shape;
      shape[static_cast<size_t>(axis)] = one_like(shape[static_cast<size_t>(axis)]);
      return declare(fmt::format("topk({}, 1, axis: {})[0]", a->name, axis), a->dtype, shape, a->bound);
    }
    default: return declare(fmt::format("sort({}, axis: {})", a->name, axis), a->dtype, a->shape, a->bound);
  }
}

}  // namespace tsl
