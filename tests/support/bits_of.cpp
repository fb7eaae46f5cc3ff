#include "support/bits_of.h"

#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error_names.h"
#include "value/context.h"
#include "value/host_tensor.h"
#include "value/runtime.h"

namespace tsl {

namespace {

uint64_t mixed(uint64_t hash, uint64_t bits) {
  hash = (hash ^ bits) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

uint64_t bits_of_element(DType dtype, const std::byte* at) {
  const Scalar element = load_element(dtype, at);
  if (element.type == ScalarType::boolean) return element.boolean;
  if (element.type == ScalarType::integer) return static_cast<uint64_t>(element.integer);
  return std::bit_cast<uint64_t>(std::isnan(element.real) ? std::numeric_limits<double>::quiet_NaN() : element.real);
}

uint64_t hash_of(uint64_t hash, DType dtype, const std::byte* at, const Layout& layout, int axis) {
  if (axis == layout.rank()) return mixed(hash, bits_of_element(dtype, at));
  const int64_t extent = layout.shape[axis].hint();
  // The stride of a single element may be any number.
  const int64_t step = extent == 1 ? 0 : layout.strides[axis].hint() * static_cast<int64_t>(size_of(dtype));
  for (int64_t i = 0; i < extent; ++i) hash = hash_of(hash, dtype, at + i * step, layout, axis + 1);
  return hash;
}

/// Returns a hash of all elements. A tensor without any may have extents and strides of any size.
uint64_t hash_of(const Tensor& tensor) {
  const bool is_empty = count_if_representable(tensor.shape()) == 0;
  return is_empty ? 1 : hash_of(1, tensor.dtype(), tensor.data(), tensor.layout(), 0);
}

Value run_bits_of(Context& context, std::span<Value> tensors) {
  std::string text;
  for (const Value& value : tensors) {
    const Tensor host = read_to_host(context, value.tensor());
    text += fmt::format("{}{} {:016x}", text.empty() ? "" : "; ", describe(host), hash_of(host));
  }
  return make_string(std::move(text));
}

Value bits_of_builtin(Context& context, Args args) {
  std::vector<Value> tensors;
  bool is_known = true;
  const auto add = [&](const Value& value) {
    if (!value.is(Tag::tensor)) fail(ErrorName::wrong_argument_type, "bits_of takes tensors, not {}", type_name(value));
    is_known = is_known && !value.tensor().deferred();
    tensors.push_back(value);
  };
  if (args[0].is(Tag::list)) {
    for (const Value& item : args[0].as<List>().items) add(item);
  } else {
    add(args[0]);
  }
  return is_known ? run_bits_of(context, tensors) : context.runtime().effect(run_bits_of, std::move(tensors));
}

}  // namespace

constexpr Builtin kBitsOf{"bits_of", "bits_of(x: tensor | list)", "a digest of tensors", bits_of_builtin, "host"};

}  // namespace tsl
