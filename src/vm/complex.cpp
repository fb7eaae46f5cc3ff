#include "vm/complex.h"

#include <algorithm>
#include <vector>

#include "base/count_work.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/numbers.h"
#include "vm/indexing.h"

namespace tsl {

namespace {

/// The functions whose results are those of the parts: they are linear, and their other arguments are no numbers to
/// compute with. In alphabetical order.
constexpr std::string_view kByParts[] = {
    "cumsum", "detach",    "diag",    "diagflat",      "diagonal",  "diff",      "expand",  "flatten",
    "flip",   "gather",    "mean",    "moveaxis",      "pad",       "permute",   "repeat",  "reshape",
    "roll",   "rot90",     "squeeze", "stop_gradient", "sum",       "take",      "tile",    "to",
    "trace",  "transpose", "tril",    "triu",          "unflatten", "unsqueeze", "windows",
};

bool is_by_parts(std::string_view name) { return std::binary_search(std::begin(kByParts), std::end(kByParts), name); }

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
  if ((!argument.is(Tag::list) && !argument.is(Tag::tuple)) || depth > kMaxRank)
    return complex_part(argument, is_imaginary);
  const bool is_list = argument.is(Tag::list);
  const std::vector<Value>& from = is_list ? argument.as<List>().items : argument.as<Tuple>().items;
  Collector items;
  count_work(64 * static_cast<int64_t>(from.size() + 1));
  for (const Value& item : from) items.add(part_of_argument(item, is_imaginary, depth + 1));
  return is_list ? make_list(items.take()) : make_tuple(items.take());
}

const Value* complex_form(Context& context, std::string_view name) {
  return context.builtins().find(context.names().intern(std::string(kComplexForm).append(name)));
}

/// Whether a complex argument is where the function takes no floats.
bool is_misplaced(const ParameterInfo& parameter, const Value& argument) {
  if (!parameter.type || parameter.accepts_tag(argument) || !has_complex({&argument, 1})) return false;
  return !fits(parameter, argument) && !fits(parameter, part_of_argument(argument, false));
}

/// Whether the first item, at any depth that a tensor may have, is complex.
bool begins_complex(const Value& first) {
  const Value* item = &first;
  for (int depth = 0; depth < kMaxRank && item->is(Tag::list) && !item->as<List>().items.empty(); ++depth)
    item = &item->as<List>().items.front();
  return is_complex(*item);
}

}  // namespace

Value make_complex(Context& context, Value re, Value im) {
  return make_record({{context.names().intern("re"), std::move(re)}, {context.names().intern("im"), std::move(im)}});
}

Value complex_part(const Value& value, bool is_imaginary) {
  if (is_complex(value)) return value.as<Record>().values[is_imaginary ? 1 : 0];
  return is_imaginary ? Value(0.0) : value;
}

bool has_complex(std::span<const Value> args) {
  return std::any_of(args.begin(), args.end(), [](const Value& v) {
    if (v.is(Tag::record)) return is_complex(v);
    const std::vector<Value>* const items = v.is(Tag::list)    ? &v.as<List>().items
                                            : v.is(Tag::tuple) ? &v.as<Tuple>().items
                                                               : nullptr;
    return items && !items->empty() && begins_complex(items->front());
  });
}

bool has_complex_form(Context& context, const Signature& signature, std::span<const Value> args) {
  const std::string& name = signature.function;
  const size_t parameters = signature.dim_registers.empty() ? std::min(args.size(), signature.parameters.size()) : 0;
  for (size_t i = 0; i < parameters; ++i)
    if (is_misplaced(signature.parameters[i], args[i])) return false;
  if (is_by_parts(name)) return true;
  const bool takes_lists = name == "concat" || name == "stack" || name == "tensor";
  return (takes_lists || std::any_of(args.begin(), args.end(), is_complex)) && complex_form(context, name);
}

Value call_for_complex(Context& context, const Value& callee, const Signature& signature, std::span<const Value> args) {
  if (is_by_parts(signature.function)) {
    std::vector<Value> parts(args.begin(), args.end());
    Value results[2];
    for (const bool is_imaginary : {false, true}) {
      for (size_t i = 0; i < args.size(); ++i) {
        if (has_complex({&args[i], 1})) parts[i] = part_of_argument(args[i], is_imaginary);
      }
      results[is_imaginary ? 1 : 0] = call_given(context, callee, signature, parts);
    }
    return make_complex(context, std::move(results[0]), std::move(results[1]));
  }
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
