// Reads the arguments of builtins.
#include <algorithm>
#include <cmath>

#include "base/error_names.h"
#include "tensor/device_names.h"
#include "tensor/promotion.h"
#include "value/context.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/value_walk.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

[[noreturn]] void wrong_type(const char* what, const char* expected, const Value& got, Wanted wanted) {
  fail_with(ErrorName::wrong_argument_type, fmt::format("{} must be {}, not {}", what, expected, type_name(got)),
            hints_to_make(wanted, got));
}

bool is_one_element(const Value& v) { return v.is(Tag::tensor) && element_count(v.tensor().shape()) == Dim(1); }

/// Runs a check of the argument for a parameter: the caret of its error is under it.
template <class Check> auto about(const char* parameter, Check check) {
  try {
    return check();
  } catch (Failure& failure) {
    failure.error().parameter = parameter;
    throw;
  }
}

// Returns a host number: as it is, or read from a one-element tensor.
Value host_number(Context& context, const Value& v) { return is_one_element(v) ? read_item(context, v.tensor()) : v; }

const std::vector<Value>* items_or_null(const Value& v) {
  if (v.is(Tag::list)) return &v.as<List>().items;
  if (v.is(Tag::tuple)) return &v.as<Tuple>().items;
  return nullptr;
}

}  // namespace

int64_t expect_int(Context& context, const Value& v, const char* what) {
  if (v.is(Tag::integer)) return v.integer();
  const Value number = host_number(context, v);
  if (!is_host_int(number)) wrong_type(what, "an int", v, Wanted::integer);
  return pinned(number, "int argument").integer;
}

Dim expect_size(Context& context, const Value& v, const char* what) {
  const Value number = host_number(context, v);
  if (!is_host_int(number)) wrong_type(what, "an int", v, Wanted::integer);
  return dim_of(number);
}

double expect_real(Context& context, const Value& v, const char* what) {
  const Value number = host_number(context, v);
  if (!is_host_number(number) || scalar_of(number).type == ScalarType::boolean)
    wrong_type(what, "a number", v, Wanted::real);
  return pinned(number, "float argument").as_real();
}

bool expect_bool(Context& context, const Value& v, const char* what) {
  const Value number = host_number(context, v);
  if (!is_host_number(number) || scalar_of(number).type != ScalarType::boolean)
    wrong_type(what, "a bool", v, Wanted::boolean);
  return pinned(number, "bool argument").boolean;
}

const std::string& expect_string(Context& context, const Value& v, const char* what) {
  return expect_text(context, v, what).text;
}

const String& expect_text(Context& context, const Value& v, const char* what) {
  if (v.is(Tag::lazy_string) && !known_string(v)) {
    // Once read, a lazy string is formatted for good: its pieces become one known string. If the read ends the trace,
    // `v` may have become a string.
    std::string text = to_string(context, v);
    if (v.is(Tag::lazy_string)) v.as<LazyString>().pieces = {LazyString::Piece{make_string(std::move(text)), ""}};
  }
  if (v.is(Tag::lazy_string)) return known_string(v)->as<String>();  // already formatted by another reader
  if (!v.is(Tag::string)) wrong_type(what, "a str", v, Wanted::text);
  return v.as<String>();
}

Tensor expect_tensor(Context&, const Value& v, const char* what) {
  if (!v.is(Tag::tensor)) wrong_type(what, "a tensor", v, Wanted::tensor);
  return v.tensor();
}

namespace {

/// Whether a value is a tensor of f64, or lists that hold one.
bool holds_double(const Value& v) {
  return !walk_values(v, [](const Value& item) {
    if (is_items(item)) return Walk::into;
    return item.is(Tag::tensor) && item.tensor().dtype() == DType::f64 ? Walk::end : Walk::over;
  });
}

Tensor to_nested_tensor(Context& context, const Value& v, const char* what, int depth, const DType* numbers);

// bounded recursion: by kMaxRank
Tensor stack_items(Context& context, const std::vector<Value>& items, const char* what, int depth,
                   const DType* numbers) {
  if (depth == kMaxRank) fail(ErrorName::value_too_deep, "{}: lists nested more than {} deep", what, kMaxRank);
  std::vector<Operand> rows;
  DType dtype = DType::boolean;
  for (const Value& item : items) {
    Tensor row = to_nested_tensor(context, item, what, depth + 1, numbers);
    dtype = promote(dtype, row.dtype());
    rows.emplace_back(std::move(row));
  }
  Attrs axis;
  axis.axis = 0;
  const Shape shape = rows[0].tensor.shape();
  for (Operand& row : rows) {
    if (row.tensor.rank() != shape.rank() || !(row.tensor.shape() == shape)) {
      fail(ErrorName::ragged_list, "{}: rows of different shapes, {} and {}", what, to_string(shape),
           to_string(row.tensor.shape()));
    }
    row.tensor = context.ops().call(Op::insert_axis, {cast(context.ops(), row.tensor, dtype)}, axis);
  }
  return context.ops().call(Op::concat, rows, axis);
}

/// Converts nested lists. `numbers`: the dtype of all host numbers in v; null if each has a dtype of its own.
// bounded recursion: by kMaxRank
Tensor to_nested_tensor(Context& context, const Value& v, const char* what, int depth, const DType* numbers) {
  if (v.is(Tag::tensor)) return v.tensor();
  if (is_host_number(v)) {
    Attrs attrs;
    attrs.dtype = numbers ? *numbers : default_dtype(scalar_of(v).type, context.ops().reals());
    return context.ops().call(Op::fill, {operand_of(v)}, attrs);
  }
  if (v.is(Tag::range)) {
    Attrs attrs;
    attrs.dtype = numbers && is_integer(*numbers) ? *numbers : DType::i64;
    attrs.count = count_between(dim_of(v.as<Range>().begin), dim_of(v.as<Range>().end));
    return context.ops().call(Op::iota, {operand_of(v.as<Range>().begin), Operand(Scalar::of(int64_t{1}))}, attrs);
  }
  const std::vector<Value>* items = items_or_null(v);
  if (is_complex(v)) {
    fail_with(ErrorName::wrong_argument_type, fmt::format("{} does not take complex numbers", what),
              {"`z.re` and `z.im` are the parts of z, `abs(z)` is its size"});
  }
  if (!items) {
    std::string hint = v.is_nil() ? hint_for_nil(v) : hint_to_make(Wanted::real, v);
    if (v.is(Tag::string)) hint = "a tensor holds numbers; texts stay in a list, and `encode(text)` gives their bytes";
    fail_with(ErrorName::wrong_argument_type,
              fmt::format("{}: expected a tensor or numbers, not {}", what, type_name(v)), hints_of(std::move(hint)));
  }
  if (items->empty() || holds_only_host_numbers(v)) return tensor_from_lists(context, v, numbers, what);
  if (numbers) return stack_items(context, *items, what, depth, numbers);
  // Beside a tensor of f64, numbers take f64. Numbers of equal dtypes are converted once.
  const std::optional<DType> common = holds_double(v) ? DType::f64 : dtype_of_number_lists(context, v, what);
  return stack_items(context, *items, what, depth, common ? &*common : nullptr);
}

}  // namespace

Tensor to_tensor(Context& context, const Value& v, const char* what) {
  return to_nested_tensor(context, v, what, 0, nullptr);
}

Tensor to_tensor_of(Context& context, DType dtype, const Value& v, const char* what) {
  if (holds_only_host_numbers(v)) return tensor_from_lists(context, v, &dtype, what);
  const bool converts_numbers = dtype_of_number_lists(context, v, what).has_value() || is_integer(dtype);
  return cast(context.ops(), to_nested_tensor(context, v, what, 0, converts_numbers ? &dtype : nullptr), dtype);
}

std::vector<Tensor> to_tensors(Context& context, std::span<const Value> operands, const char* what) {
  const bool is_double = std::any_of(operands.begin(), operands.end(), holds_double);
  std::vector<Tensor> tensors;
  for (const Value& v : operands) {
    const bool is_weak = is_double && !v.is(Tag::tensor) && !v.is(Tag::range);
    tensors.push_back(is_weak ? to_tensor_of(context, DType::f64, v, what) : to_tensor(context, v, what));
  }
  return tensors;
}

Value convert(Context& context, DType dtype, const Value& v) {
  if (v.is(Tag::tensor)) return cast(context.ops(), v.tensor(), dtype);
  // bool is also the host type: bool(1) is true, while f32(1) is a tensor.
  if (dtype == DType::boolean && is_host_number(v)) return apply_scalar(ScalarOp::to_boolean, v);
  if (is_host_number(v)) return fill(context.ops(), Shape(), dtype, operand_of(v));
  return to_tensor_of(context, dtype, v, std::string(name_of(dtype)).c_str());
}

Device expect_device(Context& context, const Value& v, const char* what) {
  if (!v.is(Tag::string) && !v.is(Tag::lazy_string)) {
    std::string hint = is_host_int(v) ? "the first GPU is \"cuda:0\"" : "";
    fail_with(ErrorName::wrong_argument_type,
              fmt::format("{} must be \"cpu\", \"cuda\" or \"cuda:N\", not {}", what, type_name(v)),
              hints_of(std::move(hint)));
  }
  const std::string& name = expect_string(context, v, what);
  return about("device", [&] { return parse_device(name, context.runtime().default_device()); });
}

std::optional<std::vector<Value>> sequence_items(Context& context, const Value& v) {
  if (const std::vector<Value>* items = items_or_null(v)) return *items;
  if (!v.is(Tag::tensor) || v.tensor().rank() != 1) return std::nullopt;
  const Value items = to_nested_lists(context, v.tensor());
  return items.as<List>().items;
}

Shape expect_shape(Context& context, const Value& v, const char* what) {
  Shape shape;
  auto add = [&](const Value& item) {
    const Value extent = item.is(Tag::tensor) ? host_number(context, item) : item;
    if (!is_host_int(extent)) wrong_type(what, "an int or a list of ints", item, Wanted::integer);
    const Dim dim = dim_of(extent);
    if (dim < Dim(0)) fail(ErrorName::negative_extent, "an extent cannot be negative: {}", dim.hint());
    shape.push_back(dim);
  };
  if (const auto items = sequence_items(context, v)) std::for_each(items->begin(), items->end(), add);
  else add(v);
  return shape;
}

int expect_axis(Context& context, const Value& v, int rank, const char* what, const char* parameter) {
  if (v.is(Tag::tensor) && v.tensor().rank() > 1) wrong_type("axis", "an int", v, Wanted::integer);
  const int64_t axis = expect_int(context, v, "axis");
  return about(parameter, [&] { return normalize_axis(axis, rank, what); });
}

std::vector<int64_t> expect_axes(Context& context, const Value& v, int rank, const char* what) {
  std::vector<int64_t> axes;
  if (v.is_nil()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  if (const auto items = sequence_items(context, v)) {
    for (const Value& item : *items) axes.push_back(expect_axis(context, item, rank, what));
  } else {
    axes.push_back(expect_axis(context, v, rank, what));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    fail(ErrorName::repeated_axis, "{}: an axis is named twice", what);
  return axes;
}

}  // namespace tsl
