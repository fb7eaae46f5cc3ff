// The kinds of values that annotations name.
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
    {"complex", 0, is_complex},
    {"fn", kFunctions, nullptr},
    {"function", kFunctions, nullptr},
    {"range", bits(Tag::range), nullptr},
    {"module", bits(Tag::module), nullptr},
    {"dtype", bits(Tag::dtype), nullptr},
    {"tensor", bits(Tag::tensor), is_complex},
    {"any", ParameterInfo::kAnyTag, nullptr},
    {"number", kNumbers, nullptr},
    {"array", kArrays, is_complex},
    {"iterable", kStrings | bits(Tag::list, Tag::tuple, Tag::record, Tag::map, Tag::range, Tag::tensor), nullptr},
    {"integer", bits(Tag::integer), fits_integer},
    {"integers", bits(Tag::integer), fits_integers},
};

}  // namespace

const ValueKind* kind_named(std::string_view name) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return name == k.name; });
  return found == std::end(kKinds) ? nullptr : &*found;
}

}  // namespace tsl
