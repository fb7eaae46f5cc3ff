#include "vm/complex.h"

#include <algorithm>
#include <vector>

#include "base/count_work.h"
#include "base/error_names.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/numbers.h"
#include "vm/indexing.h"

namespace tsl {

namespace {

/// The functions whose results are those of the parts: they are linear, and their other arguments are no numbers to
/// compute with. In alphabetical order.
constexpr std::string_view kByParts[] = {
    "cumsum",    "detach", "diag",    "diagflat",      "diagonal",  "diff",    "expand", "flatten",
    "flip",      "gather", "mean",    "moveaxis",      "pad",       "permute", "repeat", "reshape",
    "roll",      "rot90",  "squeeze", "stop_gradient", "sum",       "take",    "tile",   "trace",
    "transpose", "tril",   "triu",    "unflatten",     "unsqueeze", "windows",
};

/// The functions that make real numbers in a dtype: the real parts, if it is that of complex ones. In alphabetical
/// order.
constexpr std::string_view kOfReals[] = {
    "arange", "bartlett", "blackman", "empty",   "eye",  "fftfreq",  "firwin", "hamming", "hann",
    "kaiser", "linspace", "logspace", "one_hot", "ones", "rfftfreq", "tri",    "zeros",
};

bool is_by_parts(std::string_view name) { return std::binary_search(std::begin(kByParts), std::end(kByParts), name); }
bool is_of_reals(std::string_view name) { return std::binary_search(std::begin(kOfReals), std::end(kOfReals), name); }

/// Calls a function with bound arguments: by name from the first on that was not given.
Value call_given(Context& context, const Value& callee, const Signature& signature, std::span<const Value> args) {
  std::vector<Value> given;
  CallShape shape;
  const size_t parameters = std::min(args.size(), signature.parameters.size());
  bool has_gap = false;
  for (size_t i = 0; i < parameters; ++i) {
    if (args[i].is(Tag::absent)) {
      has_gap = true;
      continue;
    }
    given.push_back(args[i]);
    if (has_gap) shape.names.push_back(signature.parameters[i].name);
    else ++shape.positional;
  }
  for (size_t i = parameters; i < args.size() && !has_gap; ++i, ++shape.positional) given.push_back(args[i]);
  return context.call(callee, given, shape.names.empty() ? nullptr : &shape);
}

/// Returns the parts of a complex number, or of those in lists as deep as a tensor has axes.
Value part_of_argument(const Value& argument, bool is_imaginary, int depth = 0) {  // bounded recursion: by kMaxRank
  if (!is_items(argument) || depth > kMaxRank) return complex_part(argument, is_imaginary);
  const std::vector<Value>& from = argument.as<Sequence>().items;
  Collector items;
  count_work(64 * static_cast<int64_t>(from.size() + 1));
  for (const Value& item : from) items.add(part_of_argument(item, is_imaginary, depth + 1));
  return argument.is(Tag::list) ? make_list(items.take()) : make_tuple(items.take());
}

/// Makes complex numbers of results of the parts: lists are joined item by item. Items without parts stay as they are.
Value joined(Context& context, Value re, Value im) {
  if (is_host_number(re) && is_host_number(im)) {
    const auto part = [](const Value& number) { return apply_scalar(ScalarOp::to_real, number); };
    return make_complex(context, part(re), part(im));
  }
  const auto is_part = [](const Value& v) { return v.is(Tag::tensor) || is_host_number(v); };
  if (is_part(re) && is_part(im)) return make_complex(context, std::move(re), std::move(im));
  if (!is_items(re) || !is_items(im)) return re;
  const std::vector<Value>&real = re.as<Sequence>().items, &imaginary = im.as<Sequence>().items;
  if (real.size() != imaginary.size()) return re;
  Collector items;
  count_work(64 * static_cast<int64_t>(real.size() + 1));
  for (size_t i = 0; i < real.size(); ++i) items.add(joined(context, real[i], imaginary[i]));
  return re.is(Tag::list) ? make_list(items.take()) : make_tuple(items.take());
}

const Value* complex_form(Context& context, std::string_view name) {
  return context.builtins().find(context.names().intern(std::string(kComplexForm).append(name)));
}

/// Whether a value is complex, or a list or tuple whose first item is, at any depth that a tensor may have.
bool begins_complex(const Value& v) {
  const Value* item = &v;
  for (int depth = 0; depth <= kMaxRank && is_items(*item) && !item->as<Sequence>().items.empty(); ++depth)
    item = &item->as<Sequence>().items.front();
  return is_complex(*item);
}

/// Whether a value is complex, or a list or tuple that holds such an item, at any depth that a tensor may have.
bool holds_complex(const Value& v, int depth = 0) {  // bounded recursion: by kMaxRank
  if (!is_items(v)) return is_complex(v);
  const std::vector<Value>& items = v.as<Sequence>().items;
  count_work(static_cast<int64_t>(items.size()) + 1);
  return depth <= kMaxRank &&
         std::any_of(items.begin(), items.end(), [=](const Value& item) { return holds_complex(item, depth + 1); });
}

/// Whether an argument is a list or tuple whose items a function maps, as elementwise ones do.
bool is_mapped(const ParameterInfo& parameter, const Value& argument) {
  return is_items(argument) && parameter.accepts_tag(argument) && !parameter.takes_arrays;
}

/// Whether a parameter takes dtypes, and no other functions beside c64 and c128.
bool takes_dtypes(const ParameterInfo& parameter) {
  if (!parameter.type || !fits(parameter, Value(DType::f32))) return false;
  const std::vector<TypeAlternative>& types = parameter.type->alternatives;
  return std::none_of(types.begin(), types.end(), [](const TypeAlternative& each) {
    return each.kind && (each.kind->tags & tag_bit(Tag::function)) != 0;
  });
}

/// Returns where c64 or c128 is given as a dtype; the number of arguments if it is not.
size_t complex_dtype_in(const Signature& signature, std::span<const Value> args) {
  const size_t count = std::min(args.size(), signature.parameters.size());
  for (size_t i = 0; i < count; ++i) {
    if (is_complex_dtype(args[i]) && takes_dtypes(signature.parameters[i])) return i;
  }
  return args.size();
}

/// Whether a complex argument is where the function takes no floats.
bool is_misplaced(const ParameterInfo& parameter, const Value& argument) {
  if (!parameter.type || parameter.accepts_tag(argument) || !holds_complex(argument)) return false;
  return !fits(parameter, argument) && !fits(parameter, part_of_argument(argument, false));
}

/// Calls a function that makes real numbers in the dtype of the parts of complex ones, and makes these of them.
Value call_for_reals(Context& context, const Value& callee, const Signature& signature, std::span<const Value> args,
                     size_t dtype) {
  std::vector<Value> given(args.begin(), args.end());
  given[dtype] = Value(*complex_part_named(*args[dtype].as<Function>().info->name));
  Value re = call_given(context, callee, signature, given);
  const Value complex = *context.builtins().find(context.names().intern("complex"));
  return context.call(complex, {&re, 1});
}

}  // namespace

bool has_complex(const Signature& signature, std::span<const Value> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const Value& v = args[i];
    if (v.is(Tag::tensor)) continue;
    if (v.is(Tag::function) ? is_complex_dtype(v) : begins_complex(v)) return true;
    if (!is_items(v) || i >= signature.parameters.size()) continue;
    if ((signature.knows_complex_lists || signature.parameters[i].takes_arrays) && holds_complex(v)) return true;
  }
  return false;
}

std::optional<size_t> complex_list_in(const Signature& signature, std::span<const Value> args) {
  if (signature.knows_complex_lists || is_by_parts(signature.function)) return std::nullopt;
  const size_t count = std::min(args.size(), signature.parameters.size());
  for (size_t i = 0; i < count; ++i)
    if (is_items(args[i]) && signature.parameters[i].takes_arrays && holds_complex(args[i])) return i;
  return std::nullopt;
}

bool has_complex_form(Context& context, const Signature& signature, std::span<const Value> args) {
  const std::string& name = signature.function;
  const size_t parameters = signature.dim_registers.empty() ? std::min(args.size(), signature.parameters.size()) : 0;
  for (size_t i = 0; i < parameters; ++i)
    if (is_misplaced(signature.parameters[i], args[i])) return false;
  if (is_by_parts(name)) return std::any_of(args.begin(), args.end(), [](const Value& v) { return holds_complex(v); });
  const bool has_dtype = complex_dtype_in(signature, args) < args.size();
  if (has_dtype && is_of_reals(name)) return true;
  if (has_dtype || signature.knows_complex_lists) return complex_form(context, name);
  for (size_t i = 0; i < parameters; ++i)
    if (is_mapped(signature.parameters[i], args[i])) return false;
  return std::any_of(args.begin(), args.end(), is_complex) && complex_form(context, name);
}

void refuse_complex_dtype(const Signature& signature, std::span<const Value> args) {
  const size_t i = complex_dtype_in(signature, args);
  if (i == args.size()) return;
  const ParameterInfo& parameter = signature.parameters[i];
  fail_argument(ErrorName::wrong_argument_type, *parameter.name,
                fmt::format("'{}' of {} must be {}, not the complex dtype {}", *parameter.name, signature.function,
                            describe(*parameter.type), *args[i].as<Function>().info->name),
                {hint_for_kind("dtype")});
}

Value call_for_complex(Context& context, const Value& callee, const Signature& signature, std::span<const Value> args) {
  if (is_by_parts(signature.function)) {
    std::vector<Value> parts(args.begin(), args.end());
    Value results[2];
    for (const bool is_imaginary : {false, true}) {
      for (size_t i = 0; i < args.size(); ++i) {
        if (holds_complex(args[i])) parts[i] = part_of_argument(args[i], is_imaginary);
      }
      results[is_imaginary ? 1 : 0] = call_given(context, callee, signature, parts);
    }
    return joined(context, std::move(results[0]), std::move(results[1]));
  }
  const bool is_complex_result = is_of_reals(signature.function) && std::none_of(args.begin(), args.end(), is_complex);
  const size_t dtype = is_complex_result ? complex_dtype_in(signature, args) : args.size();
  if (dtype < args.size()) return call_for_reals(context, callee, signature, args, dtype);
  return call_given(context, Value(*complex_form(context, signature.function)), signature, args);
}

std::optional<Value> call_complex_form(Context& context, std::string_view name, std::span<Value> args) {
  const Value* const form = complex_form(context, name);
  if (!form) return std::nullopt;
  const Value function = *form;
  return context.call(function, args);
}

Value complex_field(Context& context, const Value& z, const std::string& field) {
  const Value re = complex_part(z, false), im = complex_part(z, true);
  if (field == "real") return re;
  if (field == "imag") return im;
  if (!re.is(Tag::tensor)) return Value();
  const std::span<const char* const> known = tensor_fields();
  if (std::find(known.begin(), known.end(), field) == known.end()) return Value();
  const Name name = context.names().intern(field);
  if (field == "T") return make_complex(context, get_field(context, re, name), get_field(context, im, name));
  if (field == "dtype")
    return *context.builtins().find(context.names().intern(complex_name_of(re.tensor_data()->dtype)));
  return get_field(context, re, name);
}

}  // namespace tsl
