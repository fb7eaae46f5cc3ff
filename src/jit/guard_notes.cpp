#include "jit/guard_notes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "bytecode/bytecode.h"
#include "value/value.h"

namespace tsl::jit {

namespace {

// The cost of a check in nanoseconds: what each of 2000 more inputs of the kind adds to a call that runs from a plan,
// on an EPYC core. docs/explain.md shows how to measure it.
constexpr double kConstantCost = 7, kNumberCost = 8, kContainerCost = 6;
constexpr double kTensorCost = 5, kAxisCost = 1;
constexpr double kSymbolCost = 6;  // of each operation in a condition

constexpr size_t kMaxExcerpt = 60;
constexpr size_t kMaxValue = 40;
// Deeper expressions are cut: a sum over a loop may have thousands of terms.
constexpr int kMaxTextDepth = 6;

std::string cut(std::string text, size_t length) {
  if (text.size() <= length) return text;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;  // not inside a character
  return text.substr(0, length) + "…";
}

std::string number_text(Scalar number) {
  switch (number.type) {
    case ScalarType::boolean: return number.boolean ? "true" : "false";
    case ScalarType::integer: return fmt::format("{}", number.integer);
    case ScalarType::real: return tsl::number_text(number.real);
  }
  return "";
}

std::string with_article(const std::string& noun) {
  return (noun.find_first_of("aeiouAEIOU") == 0 ? "an " : "a ") + noun;
}

/// Formats a value that is a constant of a trace: short values by their text, others by their type.
std::string value_text(const Value& value) {
  if (value.is(Tag::nil)) return "nil";
  if (value.is(Tag::boolean)) return value.boolean() ? "true" : "false";
  if (value.is(Tag::integer)) return fmt::format("the int {}", value.integer());
  if (value.is(Tag::real)) return fmt::format("the float {}", tsl::number_text(value.real()));
  if (value.is(Tag::string)) return fmt::format("\"{}\"", cut(value.as<String>().text, kMaxValue));
  if (value.is(Tag::absent)) return "missing";
  if (value.is(Tag::dtype)) return std::string(name_of(value.dtype()));
  if (value.is(Tag::function)) return fmt::format("the function {}", value.as<Function>().info->display_name());
  if (value.is(Tag::tensor)) {
    const TensorData& data = *value.tensor_data();
    return fmt::format("{}", describe(data.dtype, without_symbols(data.layout).shape));
  }
  if (value.is(Tag::list)) return fmt::format("a list of {}", value.as<List>().items.size());
  if (value.is(Tag::tuple)) return fmt::format("a tuple of {}", value.as<Tuple>().items.size());
  return with_article(type_name(value));
}

/// Formats a tensor's type as a guard sees it: "f32[_, 3]", where any extent from 2 up fits "_".
std::string type_text(const InputGuard& guard) {
  std::vector<std::string> extents;
  for (int i = 0; i < guard.layout.rank(); ++i) {
    const Dim& extent = guard.layout.shape[i];
    extents.push_back(extent.symbol() ? "_" : std::to_string(extent.hint()));
  }
  return fmt::format("{}[{}]", name_of(guard.dtype), fmt::join(extents, ", "));
}

std::string strides_text(const Layout& layout) {
  std::vector<int64_t> strides;
  for (Dim stride : layout.strides) strides.push_back(stride.hint());
  return fmt::format("[{}]", fmt::join(strides, ", "));
}

const char* kind_text(InputGuard::Kind kind) {
  switch (kind) {
    case InputGuard::Kind::constant: return "constant";
    case InputGuard::Kind::number: return "number";
    case InputGuard::Kind::foreign: return "foreign value";
    case InputGuard::Kind::tensor: return "tensor";
    case InputGuard::Kind::record: return "record";
    case InputGuard::Kind::map:
    case InputGuard::Kind::varying_map: return "map";
    case InputGuard::Kind::list:
    case InputGuard::Kind::varying_list: return "list";
    case InputGuard::Kind::tuple: return "tuple";
  }
  return "";
}

/// Names a part of a container: "p.w", "xs[3]", "m[\"a\"]".
std::string part_name(const InputGuard& container, const std::string& name, size_t i) {
  if (container.kind == InputGuard::Kind::record) return fmt::format("{}.{}", name, *container.keys->names[i]);
  const bool is_map = container.kind == InputGuard::Kind::map;
  return fmt::format("{}[{}]", name, is_map ? key_label(container.map_keys->all()[i]) : std::to_string(i));
}

/// Calls visit(guard, name) for an input's guards from `guard` on, which are those of one value. Returns the next.
template <class Visit> const InputGuard* walk(const InputGuard* guard, const std::string& name, Visit&& visit) {
  const InputGuard& at = *guard++;
  visit(at, name);
  for (uint32_t i = 0; i < at.count; ++i) { guard = walk(guard, part_name(at, name, i), visit); }
  return guard;
}

std::string condition_text(const InputGuard& guard) {
  switch (guard.kind) {
    case InputGuard::Kind::constant: return "is " + value_text(guard.constant);
    case InputGuard::Kind::number: return guard.type == ScalarType::integer ? "is an int" : "is a float";
    case InputGuard::Kind::foreign: return "is " + with_article(guard.foreign->name);
    case InputGuard::Kind::tensor: {
      std::string text = "is tensor " + type_text(guard);
      if (!guard.device.is_host()) text += " on " + to_string(guard.device);
      if (!guard.is_dense && !without_symbols(guard.layout).is_contiguous())
        text += " with strides " + strides_text(guard.layout);
      return text;
    }
    case InputGuard::Kind::record: {
      if (guard.keys->is_complex) return "is complex";
      std::vector<std::string> keys;
      for (Name key : guard.keys->names) keys.push_back(*key);
      return cut(fmt::format("is a record of {}", fmt::join(keys, ", ")), kMaxExcerpt);
    }
    case InputGuard::Kind::varying_list: return "is a list of any length";
    case InputGuard::Kind::varying_map: return "is a map of any keys";
    case InputGuard::Kind::map:
    case InputGuard::Kind::list:
    case InputGuard::Kind::tuple: return fmt::format("is a {} of {}", kind_text(guard.kind), guard.count);
  }
  return "";
}

double cost_of(const InputGuard& guard) {
  switch (guard.kind) {
    case InputGuard::Kind::constant: return kConstantCost;
    case InputGuard::Kind::number:
    case InputGuard::Kind::foreign: return kNumberCost;
    case InputGuard::Kind::tensor: return kTensorCost + kAxisCost * guard.layout.rank();
    case InputGuard::Kind::record:
    case InputGuard::Kind::map:
    case InputGuard::Kind::list:
    case InputGuard::Kind::varying_list:
    case InputGuard::Kind::varying_map:
    case InputGuard::Kind::tuple: return kContainerCost;
  }
  return 0;
}

/// Counts the operations of a condition, up to a limit.
int operations(const Symbol& symbol, int depth = 0) {
  if (symbol.kind != Symbol::Kind::expression || depth > kMaxTextDepth) return 0;
  return 1 + operations(*symbol.a, depth + 1) + (symbol.b ? operations(*symbol.b, depth + 1) : 0);
}

}  // namespace

const char* name_of(SegmentEndKind kind) {
  switch (kind) {
    case SegmentEndKind::host_read: return "host read";
    case SegmentEndKind::effect: return "effect";
    case SegmentEndKind::other_device: return "another device";
    case SegmentEndKind::copy: return "copy to another device";
    case SegmentEndKind::too_many_nodes: return "too many nodes";
    case SegmentEndKind::fallible: return "an op that may fail, after sums over ranks";
    case SegmentEndKind::end: return "end";
  }
  return "";
}

std::string excerpt(const SourceMap& sources, Span span) {
  if (!span.valid()) return "";
  std::string text = sources.text(span);
  if (const size_t end = text.find('\n'); end != std::string::npos) text = text.substr(0, end) + "…";
  return cut(std::move(text), kMaxExcerpt);
}

namespace {

std::string variable_text(const VariableNote& variable, const SourceMap& sources) {
  return variable.origin.valid() ? fmt::format("{} ({})", variable.name, sources.location(variable.origin))
                                 : variable.name;
}

}  // namespace

std::string to_text(const TraceReason& reason, const SourceMap& sources) {
  std::string text = reason.text;
  if (!reason.after.empty())
    text = fmt::format("{} was {}, is {}", variable_text(reason.variable, sources), reason.before, reason.after);
  if (!reason.condition.empty() && reason.condition != reason.text) text += "; " + reason.condition;
  if (reason.needed.valid()) {
    const std::string needed = excerpt(sources, reason.needed);
    const bool is_condition = reason.condition.find("`" + needed + "`") != std::string::npos;
    text += is_condition ? fmt::format(" ({})", sources.location(reason.needed))
                         : fmt::format("; `{}` needs it ({})", needed, sources.location(reason.needed));
  }
  if (reason.interpreted > 0)
    text += fmt::format("; the next {} calls that fit no trace path are interpreted", reason.interpreted);
  return text;
}

std::string to_text(const GuardNote& guard, const SourceMap& sources) {
  std::string text;
  if (guard.reason.empty()) {
    text = fmt::format("{} {}", variable_text(guard.variable, sources), guard.condition);
  } else {
    text = fmt::format("{}: {}", guard.condition, guard.reason);
    const std::string needed = excerpt(sources, guard.needed);
    if (guard.needed.valid() && guard.condition.find("`" + needed + "`") == std::string::npos)
      text += fmt::format(" in `{}`", needed);
    if (guard.needed.valid()) text += fmt::format(" ({})", sources.location(guard.needed));
  }
  return text + fmt::format(", about {} ns", guard.nanoseconds);
}

// ---- Names -------------------------------------------------------------------------------------------------------

void SymbolNames::add(const Segment& segment) {
  add(interface_of(segment).sources);
  for (const Read& read : segment.reads) names_[read.symbol] = {excerpt(sources_, read.span), read.span};
}

void SymbolNames::add(const std::vector<InputSource>& inputs) {
  for (const InputSource& input : inputs) {
    if (input.guards.empty()) continue;
    walk(input.guards.data(), input.name, [&](const InputGuard& guard, const std::string& name) {
      const bool is_foreign = guard.kind == InputGuard::Kind::foreign;
      if (is_foreign) foreign_[guard.symbol] = guard.foreign;
      if (is_foreign || guard.kind == InputGuard::Kind::number) names_[guard.symbol] = {name, input.origin};
      if (guard.kind == InputGuard::Kind::varying_list || guard.kind == InputGuard::Kind::varying_map)
        names_[guard.symbol] = {fmt::format("len({})", name), input.origin};
      if (guard.kind != InputGuard::Kind::tensor) return;
      for (int i = 0; i < guard.layout.rank(); ++i) {
        if (const Symbol* symbol = guard.layout.shape[i].symbol())
          names_[symbol->id] = {fmt::format("{}.shape[{}]", name, i), input.origin};
      }
    });
  }
}

VariableNote SymbolNames::variable(const Symbol& symbol) const {
  const auto found = names_.find(symbol.id);
  return found != names_.end() && !found->second.name.empty() ? found->second : VariableNote{"a number", {}};
}

std::string SymbolNames::value_text(const Symbol& symbol, Scalar value) const {
  const auto type = foreign_.find(symbol.id);
  if (type == foreign_.end()) return number_text(value);
  return value == symbol.hint ? with_article(type->second->name) : "another one";
}

namespace {

/// Returns the operator of an op: " + "; "" for one that is written as a call.
std::string_view operator_of(ScalarOp op) {
  constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
      {"add", " + "}, {"sub", " - "},  {"mul", " * "}, {"div", " / "}, {"floordiv", " // "},
      {"mod", " % "}, {"pow", " ** "}, {"lt", " < "},  {"le", " <= "}, {"gt", " > "},
      {"ge", " >= "}, {"eq", " == "},  {"ne", " != "}};
  for (const auto& [name, text] : kOperators) {
    if (name == name_of(op)) return text;
  }
  return "";
}

/// Formats an expression, given text(symbol, depth) for its operands.
template <class Text> std::string expression_text(const Symbol& symbol, int depth, Text&& text) {
  if (depth > kMaxTextDepth) return "…";
  if (symbol.op == ScalarOp::to_boolean) return text(*symbol.a, depth);
  const std::string a = text(*symbol.a, depth + 1);
  if (!symbol.b) return fmt::format("{}({})", name_of(symbol.op), a);
  const std::string b = text(*symbol.b, depth + 1);
  const std::string_view sign = operator_of(symbol.op);
  if (sign.empty()) return fmt::format("{}({}, {})", name_of(symbol.op), a, b);
  return depth > 0 ? fmt::format("({}{}{})", a, sign, b) : fmt::format("{}{}{}", a, sign, b);
}

/// Finds the first input of an expression whose value in the run is not its hint; else the first input, or null.
const Symbol* changed_input(const Symbol& symbol, const Run& run, int depth = 0) {
  constexpr int kMaxDepth = 100;
  if (symbol.kind == Symbol::Kind::constant || depth > kMaxDepth) return nullptr;
  if (symbol.kind == Symbol::Kind::input) return &symbol;
  const auto has_changed = [&](const Symbol& s) { return !(run.symbols[s.id] == s.hint); };
  const Symbol* a = changed_input(*symbol.a, run, depth + 1);
  if ((a && has_changed(*a)) || !symbol.b) return a;
  const Symbol* b = changed_input(*symbol.b, run, depth + 1);
  return b && has_changed(*b) ? b : a ? a : b;
}

}  // namespace

std::string SymbolNames::text(const Symbol& symbol) const {
  const auto text = [this](const Symbol& s, int depth, const auto& self) -> std::string {
    if (s.kind == Symbol::Kind::constant) return number_text(s.hint);
    if (s.kind == Symbol::Kind::input) return variable(s).name;
    return expression_text(s, depth, [&](const Symbol& part, int d) { return self(part, d, self); });
  };
  return text(symbol, 0, text);
}

// ---- Guards ------------------------------------------------------------------------------------------------------

namespace {

/// Whether a guard is on a function of the library, which uses it for itself.
bool is_own(const InputGuard& guard) {
  if (!guard.constant.is(Tag::function)) return false;
  const Proto& proto = proto_of(guard.constant.as<Function>());
  return proto.is_internal || proto.is_library;
}

}  // namespace

std::vector<GuardNote> describe_guards(const std::vector<InputSource>& inputs, const std::vector<SymbolGuard>& guards,
                                       const SymbolNames& names) {
  std::vector<GuardNote> out;
  for (const InputSource& input : inputs) {
    if (input.guards.empty()) continue;
    walk(input.guards.data(), input.name, [&](const InputGuard& guard, const std::string& name) {
      if (!is_own(guard)) out.push_back({{name, input.origin}, condition_text(guard), "", {}, cost_of(guard)});
    });
  }
  for (const SymbolGuard& guard : guards) {
    const Symbol& condition = *guard.condition;
    GuardNote& note = out.emplace_back();
    if (condition.kind == Symbol::Kind::input) note.variable = names.variable(condition);
    note.condition = fmt::format("`{}` is {}", names.text(condition), names.value_text(condition, condition.hint));
    note.reason = guard.reason;
    note.needed = guard.span;
    note.nanoseconds = kSymbolCost * (1 + operations(condition));
  }
  return out;
}

Difference describe_failure(const Segment& segment, const Run& run, const SymbolNames& names) {
  Difference found;
  for (const SymbolGuard& guard : segment.guards) {
    const Symbol& condition = *guard.condition;
    if (run.symbols[condition.id] == condition.hint) {
      ++found.held;
      continue;
    }
    TraceReason& reason = found.reason;
    reason.needed = guard.span;
    if (const Symbol* input = changed_input(condition, run)) {
      reason.variable = names.variable(*input);
      reason.before = names.value_text(*input, input->hint);
      reason.after = names.value_text(*input, run.symbols[input->id]);
      reason.text = fmt::format("{} was {}, is {}", reason.variable.name, reason.before, reason.after);
    }
    if (condition.kind == Symbol::Kind::expression)
      reason.condition = fmt::format("`{}` was {}, is {}", names.text(condition), number_text(condition.hint),
                                     number_text(run.symbols[condition.id]));
    if (reason.text.empty()) reason.text = reason.condition.empty() ? "another branch was taken" : reason.condition;
    return found;
  }
  return found;
}

namespace {

/// Walks a value along its guards until one differs.
class Comparison {
 public:
  explicit Comparison(const InputSource& input) : input_(input), guard_(input.guards.data()) {}

  Difference run(const Value& value) {
    const bool differs = compare(value, input_.name);
    const auto seen = static_cast<size_t>(guard_ - input_.guards.data());
    return {std::move(reason_), differs ? seen - 1 : seen};
  }

 private:
  bool differs(const std::string& name, std::string before, std::string after) {
    reason_.variable = {name, input_.origin};
    reason_.text = fmt::format("{} was {}, is {}", name, before, after);
    reason_.before = std::move(before);
    reason_.after = std::move(after);
    return true;
  }

  bool items_differ(const std::vector<Value>& values, const InputGuard& guard, const std::string& name) {
    if (values.size() != guard.count)
      return differs(name, fmt::format("a {} of {}", kind_text(guard.kind), guard.count),
                     fmt::format("a {} of {}", kind_text(guard.kind), values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      if (compare(values[i], part_name(guard, name, i))) return true;
    }
    return false;
  }

  bool tensor_differs(const Value& value, const InputGuard& guard, const std::string& name) {
    const TensorData& data = *value.tensor_data();
    if (!(data.device == guard.device))
      return differs(name, "on " + to_string(guard.device), "on " + to_string(data.device));
    if (matches(data, guard)) return false;
    const std::string before = type_text(guard), after = describe(data.dtype, data.layout.shape);
    if (data.dtype != guard.dtype || !extents_fit(data.layout, guard.layout)) return differs(name, before, after);
    return differs(name, fmt::format("{} with strides {}", before, strides_text(guard.layout)),
                   fmt::format("{} with strides {}", after, strides_text(data.layout)));
  }

  static bool extents_fit(const Layout& layout, const Layout& guard) {
    if (layout.rank() != guard.rank()) return false;
    for (int i = 0; i < guard.rank(); ++i) {
      const Dim& extent = guard.shape[i];
      const int64_t now = layout.shape[i].hint();
      if (extent.symbol() ? now < kMinSymbolicExtent : now != extent.hint()) return false;
    }
    return true;
  }

  bool constant_differs(const Value& value, const InputGuard& guard, const std::string& name) {
    if (same_constant(value, guard.constant)) return false;
    const std::string before = value_text(guard.constant), after = value_text(value);
    return differs(name, before, before == after ? "another one" : after);
  }

  /// Returns whether the value, or a part of it, differs; then `reason_` says how.
  bool compare(const Value& value, const std::string& name) {
    const InputGuard& guard = *guard_++;
    switch (guard.kind) {
      case InputGuard::Kind::constant: return constant_differs(value, guard, name);
      case InputGuard::Kind::number: {
        const char* type = guard.type == ScalarType::integer ? "int" : "float";
        return std::string(type_name(value)) != type && differs(name, with_article(type), value_text(value));
      }
      case InputGuard::Kind::foreign:
        return value.is(Tag::foreign) && value.as<Foreign>().type == guard.foreign
                   ? false
                   : differs(name, with_article(guard.foreign->name), value_text(value));
      case InputGuard::Kind::tensor:
        return value.is(Tag::tensor) ? tensor_differs(value, guard, name)
                                     : differs(name, type_text(guard), value_text(value));
      case InputGuard::Kind::record:
        if (!value.is(Tag::record)) return differs(name, "a record", value_text(value));
        if (value.as<Record>().has_complex_keys() != guard.keys->is_complex)
          return guard.keys->is_complex ? differs(name, "complex", "a record") : differs(name, "a record", "complex");
        if (!value.as<Record>().has_keys(guard.keys)) return differs(name, "a record with other keys", "a record");
        return items_differ(value.as<Record>().values, guard, name);
      case InputGuard::Kind::map:
        if (!value.is(Tag::map)) return differs(name, "a map", value_text(value));
        if (!value.as<Map>().keys->are_identical(*guard.map_keys))
          return differs(name, "a map with other keys", "a map");
        return items_differ(value.as<Map>().values, guard, name);
      case InputGuard::Kind::list:
        return value.is(Tag::list) ? items_differ(value.as<List>().items, guard, name)
                                   : differs(name, "a list", value_text(value));
      case InputGuard::Kind::varying_list: return !value.is(Tag::list) && differs(name, "a list", value_text(value));
      case InputGuard::Kind::varying_map: return !value.is(Tag::map) && differs(name, "a map", value_text(value));
      case InputGuard::Kind::tuple:
        return value.is(Tag::tuple) ? items_differ(value.as<Tuple>().items, guard, name)
                                    : differs(name, "a tuple", value_text(value));
    }
    return false;
  }

  const InputSource& input_;
  const InputGuard* guard_;
  TraceReason reason_;
};

}  // namespace

Difference describe_difference(const Value& value, const InputSource& input) {
  return input.guards.empty() ? Difference() : Comparison(input).run(value);
}

}  // namespace tsl::jit
