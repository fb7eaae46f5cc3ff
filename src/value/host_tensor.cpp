#include "value/host_tensor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/count_work.h"
#include "base/error_names.h"
#include "tensor/promotion.h"
#include "value/context.h"
#include "value/numbers.h"
#include "value/runtime.h"

namespace tsl {

Tensor new_host_tensor(Context& context, DType dtype, const Shape& shape) {
  uint64_t bytes = size_of(dtype);
  for (const Dim& extent : shape) {  // bounded: by the rank
    if (extent.hint() < 0) fail(ErrorName::negative_extent, "an extent cannot be negative: {}", to_string(shape));
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent.hint()), &bytes)) {
      fail(ErrorName::tensor_too_large, "{} is beyond any memory", describe(dtype, shape));
    }
  }
  return Tensor(dtype, Layout::contiguous(shape), context.runtime().allocator().allocate(bytes));
}

Tensor read_to_host(Context& context, const Tensor& tensor) { return context.runtime().to_host(tensor); }

// ---- Nested lists ----------------------------------------------------------------------------------

namespace {

const std::vector<Value>* items_of(const Value& v) {
  if (v.is(Tag::list)) return &v.as<List>().items;
  if (v.is(Tag::tuple)) return &v.as<Tuple>().items;
  return nullptr;
}

/// Checks that lists are evenly nested, and finds the dtype of their numbers.
class ListReader {
 public:
  explicit ListReader(const char* what) : what_(what) {}

  void measure(const Value& v) {
    for (const Value* at = &v; const std::vector<Value>* items = items_of(*at); at = &items->front()) {
      shape_.push_back(static_cast<int64_t>(items->size()));
      if (items->empty()) break;
    }
    check(v, 0);
  }

  Shape shape() const { return shape_; }
  DType dtype(const Ops& ops) const {
    if (has_real_) return ops.reals();
    if (has_integer_) return DType::i64;
    return has_boolean_ ? DType::boolean : ops.reals();  // no numbers: as for zeros()
  }

  void store(const Value& v, DType dtype, std::byte*& at) const {
    if (const std::vector<Value>* items = items_of(v)) {
      polled_each(items->size(), 8, [&](size_t i) { store((*items)[i], dtype, at); });
      return;
    }
    const Scalar number = scalar_of(v);
    expect_fits(dtype, number);
    store_element(dtype, at, number);
    at += size_of(dtype);
  }

 private:
  void check(const Value& v, int depth) {
    if (const std::vector<Value>* items = items_of(v)) {
      if (depth >= shape_.rank() || static_cast<int64_t>(items->size()) != shape_[depth].hint()) {
        fail_with(ErrorName::ragged_list, fmt::format("{}: rows of different lengths", what_),
                  {"a tensor's rows have as many items each: fill the short ones, or keep a list of tensors"});
      }
      polled_each(items->size(), 4, [&](size_t i) { check((*items)[i], depth + 1); });
      return;
    }
    if (depth != shape_.rank()) fail(ErrorName::ragged_list, "{}: numbers beside lists", what_);
    if (!is_host_number(v))
      fail(ErrorName::wrong_argument_type, "{}: cannot make a tensor from {}", what_, type_name(v));
    switch (scalar_of(v).type) {
      case ScalarType::boolean: has_boolean_ = true; break;
      case ScalarType::integer: has_integer_ = true; break;
      case ScalarType::real: has_real_ = true; break;
    }
  }

  const char* what_;
  Shape shape_;
  bool has_boolean_ = false;
  bool has_integer_ = false;
  bool has_real_ = false;
};

Value nested_lists(DType dtype, const std::byte* at, const Layout& layout, int axis) {
  if (axis == layout.rank()) return Value(load_element(dtype, at));
  const int64_t step = layout.strides[axis].hint() * static_cast<int64_t>(size_of(dtype));
  require_host_bytes(static_cast<uint64_t>(layout.shape[axis].hint()) * sizeof(Value));
  std::vector<Value> items;
  const auto count = static_cast<size_t>(layout.shape[axis].hint());
  items.reserve(count);
  count_work(64);  // to make the list
  polled_each(count, 8, [&](size_t i) {
    items.push_back(nested_lists(dtype, at + static_cast<int64_t>(i) * step, layout, axis + 1));
  });
  return make_list(std::move(items));
}

}  // namespace

namespace {

bool holds_only_numbers(const Value& v, bool symbols_too, int depth) {
  if (const std::vector<Value>* items = items_of(v)) {
    count_work(2 * static_cast<int64_t>(items->size()) + 1);
    return depth < kMaxRank && std::all_of(items->begin(), items->end(), [=](const Value& item) {
             return holds_only_numbers(item, symbols_too, depth + 1);
           });
  }
  return is_host_number(v) && (symbols_too || !v.is(Tag::symbol));
}

}  // namespace

bool holds_only_host_numbers(const Value& v) { return holds_only_numbers(v, false, 0); }

std::optional<DType> dtype_of_number_lists(Context& context, const Value& lists, const char* what) {
  if (!holds_only_numbers(lists, true, 0)) return std::nullopt;
  ListReader reader(what);
  reader.measure(lists);
  return reader.dtype(context.ops());
}

Tensor tensor_from_lists(Context& context, const Value& lists, const DType* dtype, const char* what) {
  ListReader reader(what);
  reader.measure(lists);
  Tensor tensor = new_host_tensor(context, dtype ? *dtype : reader.dtype(context.ops()), reader.shape());
  std::byte* at = tensor.data();
  reader.store(lists, tensor.dtype(), at);
  return context.runtime().to_device(std::move(tensor));
}

Value read_item(Context& context, const Tensor& tensor) {
  if (!(element_count(tensor.shape()) == Dim(1))) {
    fail_with(ErrorName::not_one_element,
              fmt::format("only a tensor of one element can be read as a number, not {}", describe(tensor)),
              {"`x[i]` selects an element, `tolist(x)` makes a list of all; `f32(x)` and `i64(x)` convert a tensor"});
  }
  return context.runtime().read_number(tensor);
}

Value to_nested_lists(Context& context, const Tensor& tensor) {
  const Tensor host = read_to_host(context, tensor);
  return nested_lists(host.dtype(), host.data(), host.layout(), 0);
}

// ---- Writing in place ------------------------------------------------------------------------------

bool may_write_elements(Context& context, const Value& object) {
  const TensorData& data = *object.tensor_data();
  return data.use_count() == 1 && data.storage && data.storage->is_exclusive() &&
         data.layout.is_contiguous() &&  // an expanded view shows one element at several positions
         context.runtime().may_write_in_place(data);
}

void write_element(TensorData& tensor, int64_t offset, Scalar value) {
  const size_t size = size_of(tensor.dtype);
  store_element(tensor.dtype, static_cast<std::byte*>(tensor.storage->data()) + offset * static_cast<int64_t>(size),
                value);
}

namespace {

/// The source of elements: an address, and a step in bytes along each axis.
struct ElementRun {
  const std::byte* at;
  std::array<int64_t, kMaxRank> steps{};
};

template <size_t kSize>
void copy_run(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t count) {
  if (to_step == kSize && from_step == kSize) {
    std::memcpy(to, from, static_cast<size_t>(count) * kSize);
    return;
  }
  in_parts(count, [&](int64_t first, int64_t part) {
    for (int64_t i = first; i < first + part; ++i) std::memcpy(to + i * to_step, from + i * from_step, kSize);
  });
}

template <size_t kSize> void copy_into(std::byte* to, const Layout& view, ElementRun source) {
  constexpr auto kStep = static_cast<int64_t>(kSize);
  constexpr int64_t kRunWork = 8;
  const int last = view.rank() - 1;
  if (last < 0) {
    std::memcpy(to, source.at, kSize);
    return;
  }
  for (const Dim& extent : view.shape) {
    if (extent.hint() == 0) return;
  }
  std::array<int64_t, kMaxRank> index{};
  for (;;) {
    count_work(kRunWork);
    copy_run<kSize>(to, view.strides[last].hint() * kStep, source.at, source.steps[static_cast<size_t>(last)],
                    view.shape[last].hint());
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      const int64_t step = view.strides[axis].hint() * kStep;
      to += step;
      source.at += source.steps[at];
      if (++index[at] < view.shape[axis].hint()) break;
      to -= step * index[at];
      source.at -= source.steps[at] * index[at];
      index[at] = 0;
    }
    if (axis < 0) return;
  }
}

void copy_elements(TensorData& tensor, const Layout& view, const ElementRun& source) {
  const size_t size = size_of(tensor.dtype);
  std::byte* to = static_cast<std::byte*>(tensor.storage->data()) + view.offset.hint() * static_cast<int64_t>(size);
  switch (size) {
    case 1: return copy_into<1>(to, view, source);
    case 2: return copy_into<2>(to, view, source);
    case 4: return copy_into<4>(to, view, source);
    default: return copy_into<8>(to, view, source);
  }
}

}  // namespace

void write_elements(TensorData& tensor, const Layout& view, const Tensor& value) {
  ElementRun source{value.data()};
  for (int axis = 0; axis < view.rank(); ++axis) {
    source.steps[static_cast<size_t>(axis)] =
        value.layout().strides[axis].hint() * static_cast<int64_t>(size_of(tensor.dtype));
  }
  copy_elements(tensor, view, source);
}

void write_elements(TensorData& tensor, const Layout& view, Scalar value) {
  const ScalarBits bits = to_bits(value, tensor.dtype);
  copy_elements(tensor, view,
                ElementRun{reinterpret_cast<const std::byte*>(bits.bytes)});  // steps of 0 repeat the element
}

}  // namespace tsl
