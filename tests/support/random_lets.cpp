#include "support/random_lets.h"

#include <algorithm>

#include "support/random_lets_body.h"

namespace tsl {

namespace {

using Sizes = std::vector<int>;  // of the dimensions

// Extents around those at which kernels of the CPU divide their work: a strip of 128 elements, a block of 4096, rows of
// several blocks, a tile of 2048 or 16384; and primes.
constexpr int kSmall[] = {1, 1, 2, 3, 4, 5, 7, 13, 17, 17, 17};
constexpr int kVectors[] = {127, 128, 129, 1000, 2048, 4095, 4096, 4097, 5003, 8192, 12289, 16384, 16385};
constexpr int kMatrices[][2] = {{1, 127},  {128, 1},  {129, 3},  {3, 128},  {17, 129}, {128, 17}, {31, 131}, {64, 64},
                                {63, 65},  {1, 4095}, {1, 4096}, {1, 4097}, {4097, 1}, {2, 2048}, {2049, 2}, {127, 33},
                                {40, 100}, {5, 1000}, {2, 1361}, {4, 1024}, {257, 16}, {1361, 3}, {1, 2049}, {100, 41}};
constexpr int kLarge[][2] = {{130, 130}, {3, 5000},  {2, 8193},  {1, 16384}, {16385, 1}, {127, 129}, {128, 128},
                             {3, 4096},  {2049, 7},  {4096, 4},  {4097, 3},  {5, 4097},  {9001, 1},  {129, 130},
                             {3, 4099},  {130, 130}, {2, 12289}, {64, 257},  {200, 101}, {17, 1031}};
constexpr int kBoxes[][3] = {{2, 3, 17}, {3, 17, 5},  {1, 17, 129}, {2, 64, 65},  {3, 5, 1361}, {17, 17, 17},
                             {5, 1, 7},  {2, 1, 128}, {3, 31, 41},  {1, 2, 4097}, {2, 65, 64},  {1, 130, 130}};

struct LetsParameter {
  std::string name;
  std::string dtype;
  LetShape shape;
};

/// The function whose calls are written, with what they have declared.
struct LetsFunction {
  std::string name;
  std::vector<LetsParameter> parameters;
  std::vector<Sizes> groups;  // sizes of the dimensions in each group of calls
  bool is_iterated = false;   // its first result has the first parameter's dtype and shape
};

class LetsGenerator {
 public:
  explicit LetsGenerator(Random& random) : random_(random) {}
  Block program();

 private:
  std::string fresh(const char* prefix) { return fmt::format("{}_{}", prefix, ++names_); }
  Sizes sizes(size_t rank, int most);
  std::vector<Sizes> groups(size_t rank);
  int count_of_lets(int64_t elements);
  LetsParameter parameter(const LetsFunction& function, const LetShape& dims, size_t number);
  LetsFunction function(Block& out);
  void append_calls(Block& out, const LetsFunction& function, size_t group);
  std::vector<std::string> variables(Block& out, const LetsFunction& function, size_t group);
  std::string argument(const LetsFunction& function, size_t i, const std::vector<std::string>& names, size_t group);
  std::string call(const LetsFunction& function, const std::vector<std::string>& names, size_t group);

  Random& random_;
  std::string base_;
  std::vector<std::string> kept_;  // results that are printed once more at the end
  int names_ = 0;
};

Sizes LetsGenerator::sizes(size_t rank, int most) {
  const auto any = [&](const auto& from) { return from[random_.below(static_cast<int>(std::size(from)))]; };
  if (most == 0 && rank < 3) {
    const int n = any(kSmall);
    return rank == 1 ? Sizes{n} : Sizes{n, random_.chance(25) ? n : any(kSmall)};
  }
  if (rank == 1) return {any(kVectors)};
  const auto& box = kBoxes[random_.below(std::size(kBoxes))];
  if (rank == 3) return {box[0], box[1], box[2]};
  const auto& pair =
      most == 1 ? kMatrices[random_.below(std::size(kMatrices))] : kLarge[random_.below(std::size(kLarge))];
  return {pair[0], pair[1]};
}

std::vector<Sizes> LetsGenerator::groups(size_t rank) {
  const auto any_most = [&](int small, int middle) {
    const int drawn = random_.below(100);
    return drawn < small ? 0 : drawn < small + middle ? 1 : 2;
  };
  std::vector<Sizes> out{sizes(rank, any_most(40, 25))};
  for (int more = random_.below(3); more > 0; --more) out.push_back(sizes(rank, any_most(60, 25)));
  return out;
}

int LetsGenerator::count_of_lets(int64_t elements) {
  const int drawn = random_.below(100);
  const int most = elements > 8000 ? 14 : elements > 2000 ? 40 : 130;
  const int count = drawn < 55   ? 3 + random_.below(10)
                    : drawn < 85 ? 12 + random_.below(19)
                    : drawn < 97 ? 30 + random_.below(31)
                                 : 60 + random_.below(71);
  return std::min(count, most - random_.below(8));
}

LetsParameter LetsGenerator::parameter(const LetsFunction& function, const LetShape& dims, size_t number) {
  LetsParameter p{fmt::format("x{}", number + 1),
                  random_.chance(88) ? base_ : random_.pick({"f32", "f64", "f16", "bf16"}), dims};
  if (function.parameters.empty() || random_.chance(40)) return p;
  const auto axis = static_cast<size_t>(random_.below(static_cast<int>(dims.size())));
  switch (random_.below(5)) {
    case 0: p.shape = {dims.back()}; break;
    case 1: std::swap(p.shape.back(), p.shape[dims.size() > 1 ? dims.size() - 2 : 0]); break;
    case 2: p.shape = {dims[axis]}; break;
    default: p.shape[axis] = {"1", std::vector<int>(dims[0].values.size(), 1)}; break;
  }
  return p;
}

LetsFunction LetsGenerator::function(Block& out) {
  LetsFunction f;
  f.name = fresh("f");
  const int drawn = random_.below(100);
  const size_t rank = drawn < 20 ? 1 : drawn < 90 ? 2 : 3;
  f.groups = groups(rank);
  LetShape dims;
  static constexpr const char* kNames[] = {"n", "m", "k"};
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back({kNames[d], {}});
    for (const Sizes& group : f.groups) dims.back().values.push_back(group[d]);
  }
  for (int n = 1 + random_.below(4); n > 0; --n) f.parameters.push_back(parameter(f, dims, f.parameters.size()));
  const int64_t elements = most_elements(dims);
  LetsBody body(random_, base_, std::max<int64_t>(2 * elements, 1000));
  std::string parameters;
  for (const LetsParameter& p : f.parameters) {
    body.scope.push_back({p.name, p.dtype, p.shape});
    const std::string dtype = random_.chance(50) ? p.dtype : "";
    parameters += fmt::format("{}{}: {}{}", parameters.empty() ? "" : ", ", p.name, dtype, to_text(p.shape));
  }
  for (int n = count_of_lets(elements); n > 0; --n) body.append();
  std::string results = body.results();
  f.is_iterated = random_.chance(40);
  if (f.is_iterated) {  // the last one of the shape
    const auto fits = [&](const Let& l) { return l.shape == dims && l.is_float() && l.bound <= 100; };
    const Let& first = *std::find_if(body.scope.rbegin(), body.scope.rend(), fits);
    const std::string& dtype = f.parameters[0].dtype;
    results = (first.dtype == dtype ? first.name : dtype + "(" + first.name + ")") + ", " + results;
  }
  body.out.emplace_back("return [" + results + "]");
  out.push_back(Statement({{fmt::format("@compile\nfn {}({})", f.name, parameters), std::move(body.out)}}));
  return f;
}

std::vector<std::string> LetsGenerator::variables(Block& out, const LetsFunction& function, size_t group) {
  std::vector<std::string> names;
  for (const LetsParameter& p : function.parameters) {
    std::string extents;
    for (const LetExtent& extent : p.shape)
      extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent.values[group]);
    const std::string numbers = fmt::format("rand([{}]) * 2.0 - 1.0", extents);
    names.push_back(fresh("a"));
    out.emplace_back(
        fmt::format("var {} = {}", names.back(), p.dtype == "f32" ? numbers : p.dtype + "(" + numbers + ")"));
  }
  return names;
}

/// Writes an argument: a variable, a temporary, a view, or something of another argument.
std::string LetsGenerator::argument(const LetsFunction& function, size_t i, const std::vector<std::string>& names,
                                    size_t group) {
  const LetsParameter& p = function.parameters[i];
  const auto has_values = [&](const LetShape& shape, bool turned) {
    if (shape.size() != p.shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const size_t from = turned ? shape.size() - 1 - d : d;
      if (shape[from].values[group] != p.shape[d].values[group]) return false;
    }
    return true;
  };
  const std::string& name = names[i];
  const auto other = static_cast<size_t>(random_.below(static_cast<int>(names.size())));
  const LetsParameter& o = function.parameters[other];
  if (random_.chance(35) && o.dtype == p.dtype) {
    if (p.shape.size() == 2 && has_values(o.shape, true)) return names[other] + ".T";
    if (has_values(o.shape, false)) return names[other] + (random_.chance(30) ? "[::-1]" : "");
  }
  const int way = random_.below(20);
  if (way < 9) return name + random_.pick({" * 1.0", " + 0.0", " * 0.5"});
  if (way == 9) return name + "[::-1]";
  if (way == 10 && random_.chance(40)) return "roll(" + name + ", 1)";
  if (way == 11 && p.shape.size() == 2) return "concat([" + name + ", " + name + "], axis: 1)[:, ::2]";
  return name;
}

std::string LetsGenerator::call(const LetsFunction& function, const std::vector<std::string>& names, size_t group) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : ", ") + argument(function, i, names, group);
  return function.name + "(" + text + ")";
}

void LetsGenerator::append_calls(Block& out, const LetsFunction& function, size_t group) {
  const std::vector<std::string> names = variables(out, function, group);
  for (int n = 1 + random_.below(3); n > 0; --n) {
    const int way = random_.below(10);
    const std::string text = call(function, names, group);
    Block body;
    if (way < 3) {
      body.emplace_back("print(bits_of(" + text + "))");
      out.push_back(Statement({{fmt::format("for {} in 0..3", fresh("i")), std::move(body)}}));
    } else if (way < 6) {
      out.emplace_back("print(bits_of(" + text + "))");
    } else if (way < 8 || !function.is_iterated) {
      kept_.push_back(fresh("r"));
      out.emplace_back(fmt::format("let {} = {}", kept_.back(), text));
      out.emplace_back(fmt::format("print(bits_of({}))", kept_.back()));
    } else {
      body.emplace_back(fmt::format("{} = {}({}", names[0], function.name, names[0]));
      for (size_t i = 1; i < names.size(); ++i) body.back().line += ", " + argument(function, i, names, group);
      body.back().line += ")[0]";
      if (random_.chance(50)) body.emplace_back(fmt::format("print(bits_of({}))", names[0]));
      out.push_back(Statement({{fmt::format("for {} in 0..{}", fresh("i"), 2 + random_.below(3)), std::move(body)}}));
    }
  }
  kept_.insert(kept_.end(), names.begin(), names.end());
}

Block LetsGenerator::program() {
  base_ = random_.pick({"f32", "f32", "f32", "f64", "f16", "bf16"});
  Block out;
  std::vector<LetsFunction> functions;
  for (int n = 1 + random_.below(random_.chance(50) ? 2 : 3); n > 0; --n) functions.push_back(function(out));
  out.emplace_back(fmt::format("seed({})", random_.below(1000)));
  for (const LetsFunction& f : functions) {
    for (size_t group = 0; group < f.groups.size(); ++group) append_calls(out, f, group);
    if (random_.chance(50)) append_calls(out, f, 0);
  }
  for (const std::string& name : kept_) out.emplace_back(fmt::format("print(bits_of({}))", name));
  return out;
}

}  // namespace

Block random_lets(Random& random) { return LetsGenerator(random).program(); }

Block random_lets(uint64_t seed) {
  Random random(seed);
  return random_lets(random);
}

}  // namespace tsl
