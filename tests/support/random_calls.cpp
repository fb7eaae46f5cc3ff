#include "support/random_calls.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/engine.h"
#include "value/builtin.h"
#include "value/signature.h"

namespace tsl {

namespace {

/// Builtins with side effects, or with results that differ each time.
const char* const kLeftOut[] = {"load",       "save",        "read_text",  "write_text", "clock",       "counters",
                                "args",       "help",        "input",      "explain",    "profile",     "bench",
                                "read_lines", "append_text", "exists",     "list_files", "eprint",      "exit",
                                "env",        "now",         "parse_args", "load_rows",  "load_shapes", "line_starts",
                                "begin_rows", "end_rows",    "begin_save", "end_save"};

constexpr const char* kNames[] = {"a", "b", "c", "d"};

/// Returns the names of each builtin's parameters but the first.
std::map<std::string, std::vector<std::string>> parameters_of_builtins() {
  Engine engine;
  std::map<std::string, std::vector<std::string>> found;
  Builtins& builtins = engine.builtins();
  for (const std::string& name : builtins.names()) {
    const Value* const value = builtins.find(builtins.name_of(name));
    const Signature* signature = nullptr;
    if (value && value->is(Tag::builtin)) signature = &builtins.signature(*value->as<BuiltinFunction>().builtin);
    if (value && value->is(Tag::function)) signature = &value->as<Function>().info->signature;
    if (!signature) continue;
    for (size_t i = 1; i < signature->parameters.size(); ++i) found[name].push_back(*signature->parameters[i].name);
  }
  return found;
}

}  // namespace

std::vector<std::string> builtins_to_call() {
  Engine engine;
  std::vector<std::string> names = engine.builtins().names();
  const auto is_left_out = [](const std::string& name) {
    return std::find(std::begin(kLeftOut), std::end(kLeftOut), name) != std::end(kLeftOut);
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_left_out), names.end());
  std::sort(names.begin(), names.end());  // the same seed gives the same calls
  return names;
}

std::string RandomCalls::next(int number) {
  const std::string body = expression();
  std::string text = fmt::format("@compile\nfn f{}({}) {}\n", number, names(", "), body);
  const std::string first = values(), second = random_.chance(50) ? first : values();
  text += fmt::format(
      "try {{\n  print({0}, f{0}({1}))\n  print(f{0}({1}))\n  print(f{0}({2}))\n}} catch e {{ print({0}, e.name, "
      "e.message) }}\n",
      number, first, second);
  return text;
}

std::string RandomCalls::names(const char* separator) const {
  return fmt::format("{}", fmt::join(kNames, kNames + count_, separator));
}

std::string RandomCalls::values() {
  std::string text;
  for (int i = 0; i < count_; ++i) text += (i ? ", " : "") + value(0);
  return text;
}

std::string RandomCalls::expression() {
  const int kind = random_.below(100);
  if (kind < 15) {
    count_ = 2;
    return "= a " + random_.pick({"+", "-", "*", "/", "//", "%", "**", "@", "==", "<", ">=", "and", "or", "in"}) + " b";
  }
  count_ = 4;
  if (kind < 25)
    return "= " +
           random_.pick({"a[b]", "a[b, c]", "a[b:c]", "a[b:, c]", "a[..., b]", "a[b:c:d]", "a[nil, b]", "a[::b]"});
  if (kind < 32) {
    return "{ var x = a\n  " +
           random_.pick({"x[b] = c", "x[b] += c", "x[b:c] = d", "x[:, b] = c", "x.a = c", "x[b][c] = 1"}) +
           "\n  return x }";
  }
  return "= " + call();
}

std::string RandomCalls::call() {
  const std::string& name = builtins_[static_cast<size_t>(random_.below(static_cast<int>(builtins_.size())))];
  count_ = 1 + random_.below(4);
  std::string arguments = names(", ");
  if (count_ > 1 && random_.chance(25)) {
    const size_t last = arguments.size() - 1;
    static const std::map<std::string, std::vector<std::string>> parameters = parameters_of_builtins();
    const auto known = parameters.find(name);
    const bool is_known = known != parameters.end() && random_.chance(80);
    arguments.insert(
        last, is_known
                  ? known->second[static_cast<size_t>(random_.below(static_cast<int>(known->second.size())))] + ": "
                  : random_.pick({"axis: ", "dtype: ", "size: ", "step: "}));
  }
  std::string text = random_.chance(10) && count_ > 1 && arguments.find(':') == std::string::npos
                         ? fmt::format("a.{}({})", name, arguments.substr(3))
                         : fmt::format("{}({})", name, arguments);
  if (random_.chance(15)) text = "str(" + text + ")";
  if (random_.chance(10)) text = "f\"{" + text + "}\"";
  return text;
}

std::string RandomCalls::tensor() {
  const std::string shape =
      random_.pick({"[]", "[0]", "[1]", "[3]", "[4]", "[2, 3]", "[3, 2]", "[2, 1, 3]", "[1, 0, 2]", "[2, 2, 2]"});
  const std::string dtype = random_.pick({"bool", "u8", "i32", "i64", "u32", "u64", "f16", "f32", "f64"});
  const std::string numbers = fmt::format("reshape(arange(size({0})), {0})", shape);
  if (!is_float_name(dtype)) return fmt::format("{}({} % {})", dtype, numbers, 2 + random_.below(4));
  return fmt::format("{}({} * 0.7 - 1.2)", dtype, numbers);
}

std::string RandomCalls::value(int depth) {
  const int kind = random_.below(100);
  if (kind < 42) return tensor();
  if (kind < 57)
    return random_.pick({"-1", "0", "1", "2", "3", "-2", "5", "9", "64", "1000000000000", "-9223372036854775807"});
  if (kind < 65) return random_.pick({"0.5", "-1.5", "2.0", "1e300", "0.0", "-0.0", "1e-9"});
  if (kind < 69) return random_.pick({"true", "false"});
  if (kind < 72) return "nil";
  if (kind < 76) return random_.pick({"\"ab\"", "\"\"", "\"i,j->ij\"", "\"ij,jk->ik\"", "\"ii->i\"", "\"aéb\""});
  if (kind < 79) return random_.pick({"bool", "u8", "i32", "i64", "u32", "u64", "f16", "f32", "f64"});
  if (kind < 83)
    return random_.pick({"fn(x) = x", "fn(x) = x * x", "fn(a, b) = a + b", "fn() = 1", "len", "sum", "fn(x) = x > 0"});
  if (kind < 86) return random_.pick({"0..3", "1..=2", "5..2"});
  if (depth > 2) return "1";
  std::vector<std::string> items;
  for (int n = random_.below(4); n > 0; --n)
    items.push_back(kind < 92 ? random_.pick({"-1", "0", "1", "2", "6"}) : value(depth + 1));
  if (kind < 96) return fmt::format("[{}]", fmt::join(items, ", "));
  if (kind < 98) return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
  for (size_t i = 0; i < items.size(); ++i) items[i] = fmt::format("{}: {}", kNames[i], items[i]);
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

}  // namespace tsl
