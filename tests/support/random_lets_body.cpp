#include "support/random_lets_body.h"

#include <algorithm>

namespace tsl {

namespace {

constexpr double kGreatest = 100;  // bound of operands: their product is finite in f16

bool has_kernel(const std::string& text) {
  const auto has = [&](const char* call) { return text.find(call) != std::string::npos; };
  return has("roll(") || has("cum") || has("softmax(") || has("_norm(") || has(" @ ") || has("concat(") || has("sort(");
}

}  // namespace

int64_t most_elements(const LetShape& shape) {
  int64_t most = 1;
  for (size_t group = 0; !shape.empty() && group < shape[0].values.size(); ++group) {
    int64_t count = 1;
    for (const LetExtent& extent : shape) count *= extent.values[group];
    most = std::max(most, count);
  }
  return most;
}

std::string to_text(const LetShape& shape) {
  std::string text;
  for (const LetExtent& extent : shape) text += (text.empty() ? "" : ", ") + extent.text;
  return "[" + text + "]";
}

std::string promoted(const std::string& a, const std::string& b) {
  if (a == b) return a;
  const bool is_float = is_float_name(a);
  if (is_float != is_float_name(b)) return is_float ? a : b;
  if (is_float) return a == "f64" || b == "f64" ? "f64" : "f32";
  if (a == "bool" || b == "bool") return a == "bool" ? b : a;
  return "i64";  // also of i32 and u32
}

std::string at_axis(int axis, const std::string& part) {
  std::string text = "[";
  for (int i = 0; i < axis; ++i) text += ":, ";
  return text + part + "]";
}

std::optional<Let> LetsBody::find(const std::function<bool(const Let&)>& fits) {
  std::vector<size_t> all, unused;
  for (size_t i = 0; i < scope.size(); ++i) {
    if (!fits(scope[i])) continue;
    all.push_back(i);
    if (scope[i].uses == 0) unused.push_back(i);
  }
  if (all.empty()) return std::nullopt;
  const int way = random_.below(10);
  const auto of = [&](const std::vector<size_t>& from, size_t last) {
    const size_t count = std::min(from.size(), last);
    return from[from.size() - count + static_cast<size_t>(random_.below(static_cast<int>(count)))];
  };
  const size_t chosen = way < 5 && !unused.empty() ? of(unused, unused.size()) : of(all, way < 8 ? 4 : all.size());
  ++scope[chosen].uses;
  return scope[chosen];
}

std::optional<Let> LetsBody::operand(size_t least_rank) {
  return find([&](const Let& let) {
    return let.is_float() && let.bound <= kGreatest && let.shape.size() >= least_rank &&
           (!let.shape.empty() || random_.chance(30));
  });
}

std::optional<Let> LetsBody::of_kernel(const LetShape* shape) {
  return find([&](const Let& let) {
    return let.has_kernel && let.is_float() && let.bound <= kGreatest &&
           (shape ? let.shape == *shape : !let.shape.empty());
  });
}

std::optional<Let> LetsBody::of_shape(const LetShape& shape) {
  return find([&](const Let& let) { return let.is_float() && let.bound <= kGreatest && let.shape == shape; });
}

std::optional<LetShape> LetsBody::broadcast(const LetShape& a, const LetShape& b) const {
  LetShape shape = a.size() >= b.size() ? a : b;
  const LetShape& shorter = a.size() >= b.size() ? b : a;
  const size_t offset = shape.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    LetExtent& extent = shape[offset + i];
    if (extent == shorter[i] || shorter[i].text == "1") continue;
    if (extent.text != "1") return std::nullopt;
    extent = shorter[i];
  }
  if (!fits(shape)) return std::nullopt;
  return shape;
}

Let LetsBody::partner(const Let& a, LetShape& shape) {
  const bool is_same = random_.chance(55);
  const std::optional<Let> b = find([&](const Let& let) {
    if (!let.is_float() || let.bound > kGreatest) return false;
    return is_same ? let.shape == a.shape : !(let.shape == a.shape) && broadcast(a.shape, let.shape).has_value();
  });
  const Let& found = b ? *b : a;
  shape = *broadcast(a.shape, found.shape);
  return found;
}

bool LetsBody::declare_as(const std::string& name, const std::string& dtype, const LetShape& shape, double bound,
                          bool is_var) {
  scope.push_back({name, dtype, shape, bound, is_var});
  if (!is_float_name(dtype) || bound <= kGreatest) return true;
  switch (random_.below(5)) {
    case 0: return declare(name + " % 3.0", dtype, shape, 3);
    case 1: return declare("tanh(" + name + ")", dtype, shape, 1);
    case 2: return declare("clamp(" + name + ", -4.0, 3.5)", dtype, shape, 4);
    default: return declare(fmt::format("{} * {:.6f}", name, std::max(3 / bound, 1e-6)), dtype, shape, 3);
  }
}

bool LetsBody::declare(const std::string& text, const std::string& dtype, const LetShape& shape, double bound) {
  const std::string name = fresh();
  out.emplace_back("let " + name + " = " + text);
  const size_t number = scope.size();
  declare_as(name, dtype, shape, bound, false);
  scope[number].has_kernel = has_kernel(text);
  return true;
}

void LetsBody::append() {
  struct Weighted {
    Part part;
    int weight;
  };
  static constexpr Weighted kParts[] = {
      {&LetsBody::unary, 13},       {&LetsBody::binary, 22},       {&LetsBody::ternary, 6},
      {&LetsBody::cast, 5},         {&LetsBody::from_integers, 3}, {&LetsBody::random_numbers, 1},
      {&LetsBody::rolled, 10},      {&LetsBody::reversed, 5},      {&LetsBody::read_twice, 10},
      {&LetsBody::interleaved, 4},  {&LetsBody::identical, 4},     {&LetsBody::strided, 3},
      {&LetsBody::transposed, 3},   {&LetsBody::reshaped, 2},      {&LetsBody::expanded, 3},
      {&LetsBody::concatenated, 4}, {&LetsBody::stacked, 3},       {&LetsBody::padded, 3},
      {&LetsBody::written, 6},      {&LetsBody::taken, 4},         {&LetsBody::gathered, 1},
      {&LetsBody::reduced, 9},      {&LetsBody::centered, 6},      {&LetsBody::located, 2},
      {&LetsBody::scanned, 7},      {&LetsBody::multiplied, 7},    {&LetsBody::softmaxed, 8},
      {&LetsBody::normalized, 6},   {&LetsBody::sorted, 2},        {&LetsBody::printed, 1},
      {&LetsBody::branched, 1},     {&LetsBody::looped, 1},        {&LetsBody::constants, 3},
      {&LetsBody::weak_numbers, 5}, {&LetsBody::complex_values, 3}};
  int sum = 0;
  for (const Weighted& w : kParts) sum += w.weight;
  while (true) {
    int drawn = random_.below(sum);
    const Weighted* w = kParts;
    while (drawn >= w->weight) drawn -= (w++)->weight;
    if ((this->*w->part)()) return;
  }
}

void LetsBody::join_unused(size_t most) {
  std::vector<std::string> unused;
  for (const Let& let : scope) {
    if (let.uses == 0 && let.is_float() && let.bound <= kGreatest) unused.push_back(let.name);
  }
  for (size_t i = 0; i + most < unused.size(); ++i) {
    const std::optional<Let> a = find([&](const Let& l) { return l.name == unused[i]; });
    LetShape shape;
    const Let b = partner(*a, shape);
    const std::string op = random_.pick({"+", "-", "*"});
    declare(fmt::format("{} {} {}", a->name, op, b.name), promoted(a->dtype, b.dtype), shape,
            a->bound * b.bound + a->bound + b.bound);
  }
}

std::string LetsBody::results() {
  const int most = 1 + random_.below(random_.chance(50) ? 3 : 6);
  if (random_.chance(30)) identical();
  join_unused(static_cast<size_t>(most) + 2);
  std::string text;
  for (int n = most; n > 0; --n) {
    const bool wants_unused = random_.chance(75);
    std::optional<Let> let = find([&](const Let& l) { return !wants_unused || l.uses == 0; });
    if (!let) let = find([](const Let&) { return true; });
    const bool is_view = !let->shape.empty() && random_.chance(10);
    text += (text.empty() ? "" : ", ") + let->name + (is_view ? random_.pick({"[::-1]", "[0]", "[::2]"}) : "");
    if (random_.chance(4)) text += ", " + let->name;
  }
  return text;
}

}  // namespace tsl
