// Defines builtins on any values: print, len, conversions.
#include <charconv>
#include <chrono>
#include <cmath>

#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "drawing/braille.h"
#include "tensor/element_error.h"
#include "value/context.h"
#include "value/format.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/signature.h"
#include "value/text_builder.h"
#include "vm/arguments.h"
#include "vm/operators.h"

namespace tsl {

namespace {

// ---- Text ------------------------------------------------------------------------------------------

/// Makes a lazy string of a value that is not known yet.
Value lazy_string_of(const Value& value, std::string_view spec) {
  Ref<LazyString> text = make_ref<LazyString>();
  text->pieces.push_back({value, std::string(spec)});
  return Value(std::move(text));
}

Value text_of(Context& context, const Value& value, std::string_view spec) {
  if (is_text(value)) return value;
  if (!is_known(context, value)) return lazy_string_of(value, spec);
  TextBuilder text;
  add_format(text, context, value, std::string(spec));
  return make_string(text.take());
}

Value run_printed_picture(Context& context, std::span<Value> args) {
  return make_string(printed_picture(context, args[0]));
}

Value run_picture_text(Context& context, std::span<Value> args) {
  const Screen plain;
  return make_string(braille_text(drawing_of(context, args[0]), plain.columns, plain.has_color));
}

Value print_builtin(Context& context, Args args) {
  const std::string spec(expect_bool(context, args[0], "full") ? kFullSpec : kStrSpec);
  const std::span<Value> values = args.values.subspan(1);
  bool known = true;
  for (Value& v : values)  // bounded: by the arguments of a call
    if (is_picture(v)) v = context.runtime().effect(run_printed_picture, {v});
  for (const Value& v : values) known = known && is_known(context, v);  // bounded: by the arguments of a call
  if (known && values.size() == 1 && spec == kStrSpec && !context.runtime().is_tracing()) {
    context.runtime().effect_print(values[0]);  // which writes a long text piece by piece
    return Value();
  }
  if (known) {
    TextBuilder line;
    for (size_t i = 0; i < values.size(); ++i) {  // bounded: the builder polls
      if (i > 0) line += ' ';
      add_format(line, context, values[i], spec);
    }
    context.runtime().effect_print(make_string(line.take()));
    return Value();
  }
  Ref<LazyString> line = make_ref<LazyString>();
  for (size_t i = 0; i < values.size(); ++i) {  // bounded: by the arguments of a call
    if (i > 0) line->pieces.push_back({make_string(" "), ""});
    line->pieces.push_back({values[i], spec});
  }
  context.runtime().effect_print(Value(std::move(line)));
  return Value();
}

Value str_builtin(Context& context, Args args) {
  if (is_picture(args[0])) return context.runtime().effect(run_picture_text, {args[0]});
  return text_of(context, args[0], expect_bool(context, args[1], "full") ? kFullSpec : kStrSpec);
}
Value repr_builtin(Context& context, Args args) {
  return is_known(context, args[0]) ? make_string(to_repr(context, args[0])) : lazy_string_of(args[0], kReprSpec);
}
Value type_builtin(Context&, Args args) {
  return make_string(is_complex_dtype(args[0]) ? "dtype" : type_name(args[0]));
}

Value complex_of_builtin(Context& context, Args args) {
  return make_complex(context, std::move(args[0]), std::move(args[1]));
}

Value len_builtin(Context& context, Args args) {
  const Value& v = args[0];
  if (v.is(Tag::list)) {
    const List& list = unopened(v);
    const auto count = static_cast<int64_t>(list.items.size());
    return list.prefix ? from_dim(Dim(list.prefix->length) + Dim(count)) : Value(count);
  }
  if (v.is(Tag::tuple)) return static_cast<int64_t>(v.as<Tuple>().items.size());
  if (v.is(Tag::map)) return from_dim(unopened_map(v).length());
  if (v.is(Tag::record)) return static_cast<int64_t>(count_entries(v));
  if (is_text(v)) return static_cast<int64_t>(expect_text(context, v, "len").code_points().count());
  if (v.is(Tag::range)) return from_dim(count_between(dim_of(v.as<Range>().begin), dim_of(v.as<Range>().end)));
  if (!v.is(Tag::tensor)) fail(ErrorName::wrong_argument_type, "{} has no length", type_name(v));
  if (v.tensor().rank() == 0) {
    fail_with(ErrorName::wrong_argument_type, fmt::format("{} has no length: it has no axis", describe(v.tensor())),
              {"`x.item()` reads the number in it"});
  }
  return from_dim(v.tensor().shape()[0]);
}

// ---- Conversions -----------------------------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Says how to read a number that is no int.
std::vector<std::string> hints_for_number(std::string_view digits, std::string_view type) {
  const std::string_view convert = type == "an int" ? "int" : "float";
  double number = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = status == std::errc() && end == digits.data() + digits.size();
  if (type == "an int" && is_number) return {"`float(s)` reads it, `int(float(s))` drops the fraction"};
  return {fmt::format("`try {{ {}(s) }} catch e {{ … }}` handles text that is no number", convert)};
}

template <class Number> Number parse(const std::string& text, const char* type) {  // type with its article
  std::string_view digits = trimmed(text);
  if (!digits.empty() && digits[0] == '+' && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  Number number{};
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (status == std::errc::result_out_of_range)
    fail(ErrorName::number_out_of_range, "'{}' is too large for {}", text, type);
  if (status != std::errc() || end != digits.data() + digits.size())
    fail_with(ErrorName::text_not_a_number, fmt::format("'{}' is not {}", text, type), hints_for_number(digits, type));
  return number;
}

Value int_builtin(Context& context, Args args) {
  if (is_text(args[0])) return parse<int64_t>(expect_string(context, args[0], "int"), "an int");
  const Value number = args[0].is(Tag::tensor) ? read_item(context, args[0].tensor()) : args[0];
  if (!is_host_number(number)) fail(ErrorName::wrong_argument_type, "cannot make an int of {}", type_name(args[0]));
  if (scalar_of(number).type == ScalarType::real) {  // also rejects NaN
    constexpr double kEnd = 0x1p63;
    const auto is = [&](ScalarOp op, double bound) { return truth(context, apply_scalar(op, number, Value(bound))); };
    if (!is(ScalarOp::ge, -kEnd) || !is(ScalarOp::lt, kEnd))
      fail(ErrorName::number_out_of_range, "{} is not an int", to_string(context, number));
  }
  return apply_scalar(ScalarOp::to_integer, number);
}

Value float_builtin(Context& context, Args args) {
  if (is_text(args[0])) return parse<double>(expect_string(context, args[0], "float"), "a float");
  const Value number = args[0].is(Tag::tensor) ? read_item(context, args[0].tensor()) : args[0];
  if (!is_host_number(number)) fail(ErrorName::wrong_argument_type, "cannot make a float of {}", type_name(args[0]));
  return apply_scalar(ScalarOp::to_real, number);
}

Value item_builtin(Context& context, Args args) {
  if (is_host_number(args[0])) return args[0];
  return read_item(context, expect_tensor(context, args[0], "item"));
}

Value run_tolist(Context& context, std::span<Value> args) { return to_nested_lists(context, args[0].tensor()); }

Value tolist_builtin(Context& context, Args args) {
  const Tensor tensor = expect_tensor(context, args[0], "tolist");
  if (!tensor.deferred()) return to_nested_lists(context, tensor);
  return context.runtime().effect(run_tolist, {Value(tensor)});
}

// ---- Errors, time, randomness ----------------------------------------------------------------------

/// Reads the kind of an error, of those that a program may raise: the others describe the machine or the program's
/// text.
constexpr ErrorKind kRaisedKinds[] = {ErrorKind::type, ErrorKind::shape, ErrorKind::index, ErrorKind::value,
                                      ErrorKind::user};

/// Returns the first row of a kind, or null if it is none of TSL's.
const ErrorRow* row_of_kind(std::string_view kind) {
  const std::span<const ErrorRow> rows = error_catalogue();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](auto& each) { return name_of(each.kind) == kind; });
  return row == rows.end() ? nullptr : &*row;
}

/// Says whether a program may call a kind of its own this.
bool may_be_own_kind(std::string_view kind) {
  return !kind.empty() && !row_of_kind(kind) && std::all_of(kind.begin(), kind.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// Returns an error of the kind that a program names: one of TSL's, or its own.
Error error_of_kind(std::string_view kind) {
  const ErrorRow* const row = row_of_kind(kind);
  if (!row) {
    if (!may_be_own_kind(kind))
      fail(ErrorName::unknown_choice, "the kind of an error has letters, digits, '_' and '-', unlike '{}'", kind);
    Error error{ErrorName::user_error, "", {}, {}, {}};
    error.own_kind = kind;
    return error;
  }
  if (std::find(std::begin(kRaisedKinds), std::end(kRaisedKinds), row->kind) == std::end(kRaisedKinds)) {
    fail(ErrorName::unknown_choice,
         "an error may be of the kinds type, shape, index, value and user, or of one of your own, not of '{}'", kind);
  }
  return {raised_error(row->kind), "", {}, {}, {}};
}

/// Says whether an error of this name ends the program for its host, past every `try`: an exit, an interrupt, or one of
/// the host's limits.
bool ends_program(ErrorName name) {
  constexpr ErrorName kLimits[] = {ErrorName::time_limit, ErrorName::step_limit, ErrorName::value_memory_limit,
                                   ErrorName::element_limit};
  return kind_of(name) == ErrorKind::exit || kind_of(name) == ErrorKind::interrupt ||
         std::find(std::begin(kLimits), std::end(kLimits), name) != std::end(kLimits);
}

/// Returns the text of a field of a record, or null if it has none.
const Value* text_field(Context& context, const Value& record, std::string_view name) {
  const Value* field = record.as<Record>().find(context.names().intern(name));
  return field && is_text(*field) ? field : nullptr;
}

/// Makes an error again of the record that `catch` has got; nothing if it is none, such as one of an error that no
/// `try` catches.
std::optional<Error> caught_error(Context& context, const Value& caught) {
  if (!caught.is(Tag::record)) return std::nullopt;
  const Value* texts[4];
  constexpr std::string_view kFields[4] = {"kind", "name", "message", "file"};
  for (size_t i = 0; i < 4; ++i) {  // bounded: four fields
    texts[i] = text_field(context, caught, kFields[i]);
    if (!texts[i]) return std::nullopt;
  }
  const auto text = [&](size_t i) { return expect_string(context, *texts[i], "a field of an error"); };
  const std::string name = text(1), kind = text(0);
  const std::span<const ErrorRow> rows = error_catalogue();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const ErrorRow& each) { return each.name == name; });
  if (row == rows.end()) return std::nullopt;
  Error error{static_cast<ErrorName>(row - rows.begin()), text(2), {}, {}, {}};
  if (ends_program(error.name)) return std::nullopt;
  if (kind != name_of(row->kind)) {
    if (error.name != ErrorName::user_error || !may_be_own_kind(kind)) return std::nullopt;
    error.own_kind = kind;
  }
  const Value* line = caught.as<Record>().find(context.names().intern("line"));
  const uint32_t source = context.sources().find(text(3));
  if (source == 0 || !line || !is_host_int(*line)) return error;
  const Source& file = context.sources().get(source);
  const int64_t number = pinned(*line, "place of an error").integer;
  if (number < 1 || number > file.line_of(static_cast<uint32_t>(file.text().size()))) return error;
  const uint32_t begin = file.line_start(static_cast<uint32_t>(number));
  const std::string_view written = file.line(static_cast<uint32_t>(number));
  const size_t indent = std::min(written.find_first_not_of(" \t"), written.size());
  error.span = {source, begin + static_cast<uint32_t>(indent), begin + static_cast<uint32_t>(written.size())};
  return error;
}

Value error_builtin(Context& context, Args args) {
  if (!args[4].is(Tag::tensor) && !truth(context, args[4])) return Value();
  if (std::optional<Error> caught = caught_error(context, args[0])) throw Failure(std::move(*caught));
  Error error = error_of_kind(expect_string(context, args[1], "the kind of an error"));
  error.message = to_string(context, args[0]);
  if (!args[2].is_nil()) error.parameter = expect_string(context, args[2], "the parameter of an error");
  if (!args[3].is_nil()) error.hints.push_back(expect_string(context, args[3], "the hint of an error"));
  if (!args[4].is(Tag::tensor)) throw Failure(std::move(error));
  refuse(context.ops(), args[4].tensor(), std::move(error));
  return Value();
}

/// Describes one side of a comparison: "a = 1.004"; "" for a value that is written out.
std::string describe_side(Context& context, const Value& source, const Value& value) {
  const std::string text = to_repr(context, value);
  const std::string& written = source.as<String>().text;
  return written == text ? "" : fmt::format("{} = {}", written, text);
}

/// Fails for `assert(a < b)`. The compiler's message holds, after a mark, the compared values and the texts of the
/// comparison and of its sides.
[[noreturn]] void fail_comparison(Context& context, const std::vector<Value>& parts) {
  const std::string left = describe_side(context, parts[4], parts[1]),
                    right = describe_side(context, parts[5], parts[2]);
  const char* joint = left.empty() || right.empty() ? "" : " and ";
  const char* where = left.empty() && right.empty() ? "" : ", where ";
  fail_with(ErrorName::assertion_failed,
            fmt::format("assertion failed: {}{}{}{}{}", parts[3].as<String>().text, where, left, joint, right));
}

/// Fails for `assert(allclose(a, b))`. The compiler's message holds, after a mark, the difference and the condition.
[[noreturn]] void fail_difference(Context& context, const std::vector<Value>& parts) {
  fail_with(ErrorName::assertion_failed,
            fmt::format("assertion failed: {}, {}", to_string(context, parts[2]), to_string(context, parts[1])));
}

Value assert_builtin(Context& context, Args args) {
  if (truth(context, args[0])) return Value();
  if (args[1].is(Tag::tuple) && !args[1].as<Tuple>().items.empty() && args[1].as<Tuple>().items[0].is(Tag::absent)) {
    const std::vector<Value>& parts = args[1].as<Tuple>().items;
    constexpr size_t kPartsOfDifference = 3;
    if (parts.size() == kPartsOfDifference) fail_difference(context, parts);
    fail_comparison(context, parts);
  }
  fail_with(ErrorName::assertion_failed, args[1].is_nil() ? "assertion failed" : to_string(context, args[1]));
}

Value read_clock(Context&, std::span<Value>) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Value clock_builtin(Context& context, Args) {
  require_permission(context.permissions().clock, "the clock");
  return context.runtime().effect(read_clock, {});
}

Value read_counters(Context& context, std::span<Value> args) {
  const bool is_default = args[0].is_nil();
  const Counters device = context.runtime().counters(is_default ? context.runtime().default_device()
                                                                : expect_device(context, args[0], "the device"));
  const TraceCounts tracing = context.runtime().trace_counts();
  const std::pair<const char*, uint64_t> rows[] = {
      {"kernels", device.kernels},
      {"graph_launches", device.graph_launches},
      {"bytes_to_device", device.bytes_to_device},
      {"bytes_to_host", device.bytes_to_host},
      {"bytes_on_device", device.bytes_on_device},
      {"driver_allocations", device.driver_allocations},
      {"kernels_compiled", device.kernels_compiled},
      {"kernels_from_disk", device.kernels_from_disk},
      {"memory", device.memory},
      {"memory_peak", device.memory_peak},
      {"memory_cached", device.memory_cached},
      {"traces", tracing.traces},
      {"retraces", tracing.retraces},
  };
  std::vector<std::pair<Name, Value>> entries;
  for (const auto& [name, count] : rows)  // bounded: as many as listed above
    entries.emplace_back(context.names().intern(name), Value(static_cast<int64_t>(count)));
  return make_record(std::move(entries));
}

Value counters_builtin(Context& context, Args args) { return context.runtime().effect(read_counters, {args[0]}); }

/// Tells what was compiled for a function: as of a file, the answer depends on when it is asked.
Value explain_now(Context& context, std::span<Value> args) {
  return make_string(context.runtime().explain(args[0], args[1].boolean()));
}

Value explain_builtin(Context& context, Args args) { return context.runtime().effect(explain_now, {args[0], args[1]}); }

Value seed_builtin(Context& context, Args args) {
  context.runtime().seed(static_cast<uint64_t>(expect_int(context, args[0], "the seed")));
  return Value();
}

Value random_state_builtin(Context& context, Args) { return context.runtime().random_state(); }

Value set_random_state_builtin(Context& context, Args args) {
  const bool is_pair = args[0].is(Tag::tuple) && args[0].as<Tuple>().items.size() == 2;
  std::vector<Value> state;
  if (is_pair) state = args[0].as<Tuple>().items;
  const auto is_int = [](const Value& v) { return std::string_view(type_name(v)) == "int"; };  // or a symbol for one
  if (!is_pair || !is_int(state[0]) || !is_int(state[1]))
    fail_argument(ErrorName::wrong_argument_type, "state",
                  "a random state is a tuple of two ints, as random_state() gives");
  context.runtime().set_random_state(make_tuple(std::move(state)));
  return Value();
}

Value args_builtin(Context& context, Args) {
  std::vector<Value> items;
  // bounded: by what a command line takes
  for (const std::string& arg : context.script_args()) items.push_back(make_string(arg));
  return make_list(std::move(items));
}

constexpr Builtin kValueRows[] = {
    with_effect({"print", "print(...values: any, full: bool = false)",
                 "writes values to the output, with spaces between them and a newline after; all elements of large "
                 "tensors if it is to be full",
                 print_builtin, "host"}),
    {"len", "len(x: iterable)", "how many items, characters or keys x has; of a tensor, the first extent", len_builtin,
     "host"},
    {"str", "str(x: any, full: bool = false)", "x as text, with all elements of a large tensor if it is to be full",
     str_builtin, "host"},
    {"repr", "repr(x: any)", "x as text, as it looks inside a list: strings are quoted", repr_builtin, "host"},
    {"int", "int(x: number | bool | str | tensor)", "a number, one-element tensor or str as an int; drops a fraction",
     int_builtin, "host"},
    {"float", "float(x: number | bool | str | tensor)", "a number, one-element tensor or str as a float", float_builtin,
     "host"},
    {"type", "type(x: any)", "the name of x's type: \"int\", \"list\", \"tensor\", …", type_builtin, "host"},
    {"_complex_of", "_complex_of(re: any, im: any)", "the complex number, or tensor, of its parts, for the library",
     complex_of_builtin, "host"},
    {"item", "item(x: tensor | number | bool)", "the element of a one-element tensor as a host number", item_builtin,
     "host"},
    {"tolist", "tolist(x: tensor)", "a tensor as nested lists of host numbers", tolist_builtin, "host"},
    with_effect({"error",
                 "error(message: any, kind: str = \"user\", parameter: str | nil = nil, "
                 "hint: str | nil = nil, where: bool = true)",
                 "raises an error, of a kind of TSL or of your own, with a hint that says what to do instead; of what "
                 "`catch` has got, that error "
                 "again; in the standard library, parameter names the argument that is wrong. `where` a bool tensor: "
                 "only if an element is true, and then when the device has computed it, as integer division by zero",
                 error_builtin, "host"}),
    with_effect({"assert", "assert(condition: bool, message: any = nil)",
                 "raises an error unless the condition is true", assert_builtin, "host"}),
    {"clock", "clock()", "seconds since some fixed moment", clock_builtin, "host"},
    {"counters", "counters(device: str | nil = nil)",
     "what a device (by default, the one that tensors are made on) and the tracer have done so far: kernels launched, "
     "bytes copied, "
     "memory in use, traces, …",
     counters_builtin, "host"},
    {"explain", "explain(f: fn | nil = nil, all: bool = false)",
     "what was compiled so far for a function and the loops in it, or for the whole program, as a str: traces, guards, "
     "kernels, …; at most a screen for each, or all of it",
     explain_builtin, "host"},
    with_effect({"seed", "seed(n: integer)",
                 "restarts the random numbers; without it each run begins with the seed 0, or that of --seed",
                 seed_builtin, "host"}),
    {"random_state", "random_state()", "where the random numbers go on, for `set_random_state` and checkpoints",
     random_state_builtin, "host"},
    with_effect({"set_random_state", "set_random_state(state: tuple)",
                 "lets the random numbers go on where they did when `random_state()` gave the state",
                 set_random_state_builtin, "host"}),
    {"args", "args()", "the script's arguments on the command line", args_builtin, "host"},
};

}  // namespace

std::span<const Builtin> value_builtins() { return kValueRows; }

}  // namespace tsl
