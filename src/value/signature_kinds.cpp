// The kinds of values that annotations name, and which of them a value can be at once.
// bounded loops: the parts of an annotation.
#include <algorithm>

#include "tensor/dtype.h"
#include "value/numbers.h"
#include "value/signature.h"

namespace tsl {

namespace {

constexpr uint32_t bits() { return 0; }
template <class... Tags> constexpr uint32_t bits(Tag first, Tags... others) { return tag_bit(first) | bits(others...); }

constexpr uint32_t kStrings = bits(Tag::string, Tag::lazy_string);
constexpr uint32_t kNumbers = bits(Tag::integer, Tag::real);
constexpr uint32_t kFunctions = bits(Tag::function, Tag::builtin);
constexpr uint32_t kArrays =
    bits(Tag::tensor, Tag::boolean, Tag::integer, Tag::real, Tag::list, Tag::tuple, Tag::range);

/// Whether the value is an integer tensor of one element and at most one dimension.
bool is_integer_element(const Value& v) {
  if (!v.is(Tag::tensor) || !is_integer(v.tensor_data()->dtype)) return false;
  const Tensor tensor = v.tensor();
  return tensor.rank() == 0 || (tensor.rank() == 1 && tensor.shape()[0] == Dim(1));
}

bool fits_integer(const Value& v) { return is_integer_element(v); }

bool fits_integers(const Value& v) {
  if (v.is(Tag::tensor)) return is_integer(v.tensor_data()->dtype) && v.tensor().rank() <= 1;
  if (!v.is(Tag::list) && !v.is(Tag::tuple)) return false;
  const std::vector<Value>& items = v.is(Tag::list) ? v.as<List>().items : v.as<Tuple>().items;
  return std::all_of(items.begin(), items.end(),
                     [](const Value& item) { return is_host_int(item) || is_integer_element(item); });
}

constexpr ValueKind kKinds[] = {
    {"nil", bits(Tag::nil), nullptr},
    {"int", bits(Tag::integer), nullptr},
    {"float", kNumbers, nullptr},
    {"str", kStrings, nullptr},
    {"list", bits(Tag::list), nullptr},
    {"tuple", bits(Tag::tuple), nullptr},
    {"record", bits(Tag::record), nullptr},
    {"map", bits(Tag::map), nullptr},
    {"complex", 0, is_complex, bits(Tag::record)},
    {"fn", kFunctions, nullptr},
    {"function", kFunctions, nullptr},
    {"range", bits(Tag::range), nullptr},
    {"module", bits(Tag::module), nullptr},
    {"dtype", bits(Tag::dtype), is_complex_dtype, bits(Tag::function)},
    {"tensor", bits(Tag::tensor), is_complex, bits(Tag::record)},
    {"any", ParameterInfo::kAnyTag, nullptr},
    {"number", kNumbers, nullptr},
    {"array", kArrays, is_complex, bits(Tag::record)},
    {"iterable", kStrings | bits(Tag::list, Tag::tuple, Tag::record, Tag::map, Tag::range, Tag::tensor), nullptr},
    {"integer", bits(Tag::integer), fits_integer, bits(Tag::tensor)},
    {"integers", bits(Tag::integer), fits_integers, bits(Tag::tensor, Tag::list, Tag::tuple)},
};

}  // namespace

const ValueKind* kind_named(std::string_view name) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return name == k.name; });
  return found == std::end(kKinds) ? nullptr : &*found;
}

// ---- Contradictions --------------------------------------------------------------------------------------

namespace {

/// Returns the tags of the values that may fit an alternative.
uint32_t tags_of(const TypeAlternative& type) {
  if (type.kind) return type.kind->tags | type.kind->others;
  if (type.text) return kStrings;
  if (type.foreign) return bits(Tag::foreign);
  if (type.is_complex) return bits(Tag::record);
  return bits(Tag::tensor) | (type.dtype == DType::boolean && !type.has_shape ? bits(Tag::boolean) : 0);
}

/// Whether a tensor can have both shapes. Names of dimensions may be any size.
bool may_overlap(const std::vector<TypeAlternative::Dim>& a, const std::vector<TypeAlternative::Dim>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size >= 0 && b[i].size >= 0 && a[i].size != b[i].size) return false;
  }
  return true;
}

bool may_overlap(const ValueType& a, const ValueType& b);

/// Whether a list, tuple, map, record or function can have the parts of both types.
bool parts_may_overlap(const TypeAlternative& a, const TypeAlternative& b) {
  if (!a.fields.empty()) {
    for (size_t i = 0; i < a.fields.size(); ++i) {
      const auto other = std::find(b.fields.begin(), b.fields.end(), a.fields[i]);
      if (other == b.fields.end()) continue;
      if (!may_overlap(a.parts[i], b.parts[static_cast<size_t>(other - b.fields.begin())])) return false;
    }
    return true;
  }
  if (a.parts.size() != b.parts.size() || a.has_result != b.has_result) return a.is_function() && b.is_function();
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(),
                    [](const ValueType& x, const ValueType& y) { return may_overlap(x, y); });
}

bool may_overlap(const TypeAlternative& a, const TypeAlternative& b) {
  if ((tags_of(a) & tags_of(b)) == 0) return false;
  if (a.text && b.text) return a.text == b.text;
  if (a.foreign && b.foreign) return a.foreign == b.foreign;
  if (a.has_parts && b.has_parts) return parts_may_overlap(a, b);
  if (a.kind || b.kind) return true;
  if (a.dtype && b.dtype && *a.dtype != *b.dtype) return false;
  return !a.has_shape || !b.has_shape || a.has_any_rank() || b.has_any_rank() || may_overlap(a.dims, b.dims);
}

bool may_overlap(const ValueType& a, const ValueType& b) {
  return std::any_of(a.alternatives.begin(), a.alternatives.end(), [&](const TypeAlternative& x) {
    return std::any_of(b.alternatives.begin(), b.alternatives.end(),
                       [&](const TypeAlternative& y) { return may_overlap(x, y); });
  });
}

}  // namespace

std::optional<Contradiction> contradiction(const Signature& signature, const TypeAlternative& function) {
  const size_t count = function.parts.size() - function.has_result;
  for (size_t i = 0; i < count; ++i) {
    const bool is_rest = i >= signature.parameters.size();
    if (is_rest && !signature.rest) break;
    const ParameterInfo& own = is_rest ? *signature.rest : signature.parameters[i];
    if (own.type && !may_overlap(*own.type, function.parts[i]))
      return Contradiction{&own, &*own.type, &function.parts[i]};
  }
  if (!function.has_result || !signature.result) return std::nullopt;
  if (may_overlap(*signature.result, function.parts.back())) return std::nullopt;
  return Contradiction{nullptr, &*signature.result, &function.parts.back()};
}

}  // namespace tsl
