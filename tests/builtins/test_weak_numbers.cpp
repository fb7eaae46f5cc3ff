// Checks that host numbers and lists beside a tensor of f64 are computed in f64, by every function of several numbers.
#include <set>

#include "support/openblas.h"
#include "support/session.h"
#include "value/builtin.h"
#include "value/signature.h"
#include "weak_arguments.h"

using namespace tsl;

namespace {

/// Functions that choose, move, compare, draw or show elements, and whose other arguments are not computed with x.
const std::set<std::string> kAlone = {"bit_and", "bit_or",           "bit_xor", "left_shift", "right_shift",
                                      "choice",  "gather",           "take",    "nn.rnn",     "nn.gru",
                                      "nn.lstm", "optim.accumulate", "gcd",     "lcm",        "nn.batches"};

/// Definitions for the calls. of_x(), of_p() and of_none() call the members of a distribution; shown() writes all
/// digits, and dtypes that no argument has.
const char* const kDefinitions = R"(
import nn
import optim
import science
let v = tensor([0.1, 2.5, 16777217.0], dtype: f64)
let m = tensor([[0.1, 2.5], [0.3, 0.7]], dtype: f64)
let s = reshape(arange(9, dtype: f64) / 7.0 + 0.1, [1, 1, 3, 3])
let i = tensor([0, 2, 1])
fn w(x) = tensor(x, dtype: f64)
fn shown(x) {
  let kind = type(x)
  if kind == "tensor" { return (if x.dtype in [f64, i64, bool] { "" } else { str(x.dtype) }) + str(x.tolist()) }
  if kind == "complex" { return shown([x.re, x.im]) }
  if kind == "list" or kind == "tuple" { return "[" + join(map(shown, x), ", ") + "]" }
  if kind == "record" { return shown(values(x)) }
  return str(x)
}
fn members(d, names) = map(fn(name) = d[name], filter(fn(name) = name in keys(d), names))
fn of_x(d, x) = map(fn(f) = f(x), members(d, ["log_prob", "cdf", "sf", "logcdf", "logsf"]))
fn of_p(d, p) = map(fn(f) = f(p), members(d, ["icdf", "isf"]))
fn of_none(d) = [d.sample([2])] + members(d, ["mean", "variance", "entropy"])
seed(1)
)";

struct Part {
  std::string text;
  bool is_slot;
};

/// Splits a call at its arguments in <…>.
std::vector<Part> parts_of(const std::string& call) {
  std::vector<Part> parts;
  for (size_t at = 0; at < call.size();) {
    const bool is_slot = call[at] == '<';
    const size_t end = std::min(call.find(is_slot ? '>' : '<', at + 1), call.size());
    parts.push_back({call.substr(at + is_slot, end - at - is_slot), is_slot});
    at = end + is_slot;
  }
  return parts;
}

/// Returns the call with argument `wide` as a tensor of f64, and the others of the host; all as tensors for -1.
std::string weak_call(const std::vector<Part>& parts, int wide) {
  std::string call;
  int slot = 0;
  for (const Part& part : parts) {
    const bool is_tensor = part.is_slot && (wide < 0 || slot == wide);
    call += is_tensor ? "w(" + part.text + ")" : part.text;
    slot += part.is_slot;
  }
  return call;
}

/// Returns the calls that a row stands for: "all(d, x)" calls each member of a distribution d.
std::vector<std::string> calls_of(const std::string& row) {
  if (!row.starts_with("all(")) return {row};
  const size_t comma = row.rfind(", <");
  const std::string d = row.substr(4, comma - 4), x = row.substr(comma + 2, row.size() - comma - 3);
  return {"of_x(" + d + ", " + x + ")", "of_p(" + d + ", <0.3>)", "of_none(" + d + ")"};
}

std::string weak_result(Session& s, const std::string& call) {
  INFO(call);
  return s.eval(std::string(kDefinitions) + "shown(" + call + ")");
}

bool takes(Session& s, const ParameterInfo& parameter, const char* value) {
  return fits(parameter, s.engine.run("value.tsl", value));
}

/// Whether a function computes with several numbers: two parameters take numbers, lists or tensors, and no texts.
bool is_of_several_numbers(Session& s, const Signature& signature) {
  int numbers = 0, tensors = 0, both = 0;
  std::vector<ParameterInfo> parameters = signature.parameters;
  if (signature.rest) parameters.push_back(*signature.rest);
  for (const ParameterInfo& parameter : parameters) {
    if (takes(s, parameter, "\"a\"")) continue;
    const bool is_number = takes(s, parameter, "1.5") || takes(s, parameter, "[1.5]");
    const bool is_tensor = takes(s, parameter, "tensor(1.5)");
    numbers += is_number;
    tensors += is_tensor;
    both += is_number || is_tensor;
  }
  return numbers > 0 && tensors > 0 && both > 1;
}

}  // namespace

TEST_CASE("host numbers beside a tensor of f64 are computed in f64") {
  Session s;
  WithoutOpenBlas left_out;
  const auto check = [&](const std::string& name, const std::string& call) {
    const std::vector<Part> parts = parts_of(call);
    const std::string expected = weak_result(s, weak_call(parts, -1));
    INFO(name << ": " << call << " gives " << expected);
    CHECK(expected.find("f32") == std::string::npos);
    const auto slots = std::count_if(parts.begin(), parts.end(), [](const Part& part) { return part.is_slot; });
    for (int slot = 0; slot < slots; ++slot) {
      INFO(weak_call(parts, slot));
      CHECK(weak_result(s, weak_call(parts, slot)) == expected);
    }
  };
  for (const auto& [name, rows] : kWeakCalls) {
    for (const std::string& row : rows) {
      for (const std::string& call : calls_of(row)) left_out.run([&, &name = name] { check(name, call); });
    }
  }
}

TEST_CASE("calls with host numbers are known for each function of several numbers") {
  Session s;
  const auto check = [&](const std::string& name, const Signature& signature) {
    INFO(name);
    CHECK((kWeakCalls.count(name) || kAlone.count(name) || !is_of_several_numbers(s, signature)));
  };
  for (const std::string& name : s.engine.builtins().names()) {
    const Value& value = *s.engine.builtins().find(s.engine.names().intern(name));
    if (value.is(Tag::function)) check(name, value.as<Function>().info->signature);
    if (value.is(Tag::builtin)) check(name, s.engine.builtins().signature(value.as<BuiltinFunction>()));
  }
  for (const char* module : {"nn", "optim", "science"}) {
    const Value value = s.engine.run("modules.tsl", std::string("import ") + module + "\n" + module);
    for (const auto& [name, cell] : value.as<Module>().exports) {
      const bool is_public = (*name)[0] != '_' && cell->value.is(Tag::function);
      const std::string full = std::string(module) + "." + *name;
      const bool is_builtin = kWeakCalls.count(*name) > 0;
      if (is_public && !is_builtin) check(full, cell->value.as<Function>().info->signature);
    }
  }
}
