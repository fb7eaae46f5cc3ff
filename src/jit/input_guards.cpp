#include "jit/input_guards.h"

#include <algorithm>

#include <fmt/format.h>

#include "bytecode/bytecode.h"
#include "value/format.h"
#include "value/value_walk.h"

namespace tsl::jit {

bool same_constant(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  if (a.is(Tag::string)) return a.as<String>().text == b.as<String>().text;
  if (a.is(Tag::function)) {
    // Functions without captures differ only in their code.
    const Function& f = a.as<Function>();
    const Function& g = b.as<Function>();
    return &f == &g || (f.info == g.info && f.captures.empty() && g.captures.empty());
  }
  if (a.is(Tag::range)) {
    return same_constant(a.as<Range>().begin, b.as<Range>().begin) &&
           same_constant(a.as<Range>().end, b.as<Range>().end);
  }
  if (a.is(Tag::builtin) && !identical(a, b) && !a.as<BuiltinFunction>().has_state) {
    const std::vector<Value>& x = a.as<BuiltinFunction>().bound;
    const std::vector<Value>& y = b.as<BuiltinFunction>().bound;
    return a.as<BuiltinFunction>().builtin == b.as<BuiltinFunction>().builtin &&
           std::equal(x.begin(), x.end(), y.begin(), y.end(), same_constant);
  }
  return identical(a, b);
}

namespace {

InputGuard container(InputGuard::Kind kind, size_t count) {
  InputGuard guard;
  guard.kind = kind;
  guard.count = static_cast<uint32_t>(count);
  return guard;
}

/// Whether the layout has these axes in decreasing order of strides, without gaps or overlaps.
bool is_dense_in(const std::array<uint8_t, kMaxRank>& order, const Layout& layout) {
  int64_t stride = 1;
  for (int i = layout.rank() - 1; i >= 0; --i) {
    const int axis = order[static_cast<size_t>(i)];
    if (layout.strides[axis].hint() != stride) return false;
    stride *= layout.shape[axis].hint();
  }
  return true;
}

bool may_vary(int64_t extent) { return kMinSymbolicExtent <= extent && extent <= kMaxSymbolicExtent; }

bool fits_varying(const Layout& layout, const InputGuard& guard) {
  for (int i = 0; i < layout.rank(); ++i) {
    const Dim& extent = guard.layout.shape[i];
    if (extent.symbol() ? !may_vary(layout.shape[i].hint()) : layout.shape[i].hint() != extent.hint()) return false;
    if (!guard.is_dense && layout.strides[i].hint() != guard.layout.strides[i].hint()) return false;
  }
  return !guard.is_dense || is_dense_in(guard.order, layout);
}

/// Whether a tensor's layout matches the guard. A symbolic extent matches any that may vary.
inline bool fits(const Layout& layout, const InputGuard& guard) {
  const int rank = guard.layout.rank();
  if (layout.rank() != rank) return false;
  if (guard.varying != 0) return fits_varying(layout, guard);
  for (int i = 0; i < rank; ++i) {  // a fast loop, since most guards have no symbols and a replay may compare hundreds
    if (layout.shape[i].hint() != guard.layout.shape[i].hint() ||
        layout.strides[i].hint() != guard.layout.strides[i].hint())
      return false;
  }
  return true;
}

/// Finds the axes in the order of their strides; returns false if there are gaps or overlaps.
bool find_order(const Layout& layout, std::array<uint8_t, kMaxRank>& order) {
  const int rank = layout.rank();
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  std::stable_sort(order.begin(), order.begin() + rank, [&](uint8_t a, uint8_t b) {
    const int64_t x = layout.strides[a].hint(), y = layout.strides[b].hint();
    return x != y ? x > y : layout.shape[a].hint() > layout.shape[b].hint();
  });
  return is_dense_in(order, layout);
}

bool is_empty(const Layout& layout) {
  return std::any_of(layout.shape.begin(), layout.shape.end(), [](Dim d) { return d.hint() == 0; });
}

/// Returns the axes of a tensor whose extents vary, given what is known about it.
uint8_t find_varying(const Tensor& tensor, const InputGuard* known) {
  if (!known || known->kind != InputGuard::Kind::tensor || known->layout.rank() != tensor.rank()) return 0;
  uint8_t varying = known->varying;
  for (int i = 0; i < tensor.rank(); ++i) {
    const int64_t before = known->layout.shape[i].hint();
    if (before != kUnknownExtent && before != tensor.shape()[i].hint()) varying |= static_cast<uint8_t>(1 << i);
  }
  return varying;
}

Value abstract_number(const Value& value, std::vector<InputGuard>& guards, Recorder& recorder, Run& run) {
  const Scalar number = value.is(Tag::integer) ? Scalar::of(value.integer()) : Scalar::of(value.real());
  const Symbol* symbol = recorder.symbols().input(number);
  if (run.symbols.size() <= symbol->id) run.symbols.resize(symbol->id + 1);
  run.symbols[symbol->id] = number;
  InputGuard guard;
  guard.kind = InputGuard::Kind::number;
  guard.type = number.type;
  guard.symbol = symbol->id;
  guards.push_back(guard);
  return Value(symbol);
}

/// Sets the symbol for the identity of a foreign value, and adds the value to the run, if it is not there.
void bind_foreign(const Value& value, uint32_t symbol, Run& run) {
  run.symbols[symbol] = Scalar::of(value.as<Foreign>().identity().integer());
  if (!run.find_foreign(symbol)) run.foreign.push_back({symbol, value});
}

Value abstract_foreign(const Value& value, std::vector<InputGuard>& guards, Recorder& recorder, Run& run) {
  const Symbol* symbol = recorder.symbols().input(Scalar::of(value.as<Foreign>().identity().integer()));
  if (run.symbols.size() <= symbol->id) run.symbols.resize(symbol->id + 1);
  bind_foreign(value, symbol->id, run);
  InputGuard guard;
  guard.kind = InputGuard::Kind::foreign;
  guard.foreign = value.as<Foreign>().type;
  guard.symbol = symbol->id;
  guards.push_back(guard);
  Ref<Foreign> stand_in = make_ref<Foreign>(guard.foreign);
  stand_in->original = value;
  stand_in->symbol = symbol;
  return Value(std::move(stand_in));
}

bool is_symbolic(const Layout& layout) {
  return std::any_of(layout.shape.begin(), layout.shape.end(), [](Dim d) { return d.symbol() != nullptr; });
}

/// Replaces varying extents by symbols and all strides by expressions; if the tensor has gaps, its strides stay
/// numbers.
void make_symbolic(InputGuard& guard, const InputGuard& known, Recorder& recorder, Run& run) {
  Layout& layout = guard.layout;
  for (int i = 0; i < layout.rank(); ++i) {
    const int64_t extent = layout.shape[i].hint();
    if (!(guard.varying >> i & 1) || !may_vary(extent)) continue;
    const Symbol* symbol = recorder.symbols().size_input(extent);
    if (run.symbols.size() <= symbol->id) run.symbols.resize(symbol->id + 1);
    run.symbols[symbol->id] = Scalar::of(extent);
    layout.shape[i] = symbol;
  }
  if (is_symbolic(known.layout)) {  // on the path being replayed, strides must be as they were when it was recorded
    guard.is_dense = known.is_dense;
    guard.order = known.order;
  } else {
    guard.is_dense = is_symbolic(layout) && find_order(layout, guard.order);
  }
  Dim stride = 1;
  for (int i = layout.rank() - 1; guard.is_dense && i >= 0; --i) {
    const int axis = guard.order[static_cast<size_t>(i)];
    layout.strides[axis] = stride;
    stride = stride * layout.shape[axis];
  }
}

Value abstract_tensor(const Tensor& tensor, const std::vector<InputGuard>* known, std::vector<InputGuard>& guards,
                      Recorder& recorder, Run& run, uint32_t& slot, bool may_donate) {
  if (slot == run.values.size()) {
    run.values.push_back(tensor);
    run.donated.resize(slot);
    run.donated.push_back(may_donate);
  }
  InputGuard guard;
  guard.kind = InputGuard::Kind::tensor;
  guard.dtype = tensor.dtype();
  guard.device = tensor.device();
  guard.layout = tensor.layout();
  const InputGuard* before = known && guards.size() < known->size() ? &(*known)[guards.size()] : nullptr;
  guard.varying = find_varying(tensor, before);
  if (guard.varying != 0 && !is_empty(guard.layout)) make_symbolic(guard, *before, recorder, run);
  guards.push_back(guard);
  return Value(recorder.input(guard.dtype, guard.layout, slot++, guard.device));
}

}  // namespace

namespace {

// Far more than any parameters have; larger values are not tensor code. The conversion recurses, and visits shared
// parts each time.
constexpr int kMaxDepth = 100;
constexpr size_t kMaxParts = 100'000;

bool can_abstract(const Value& value, int depth, size_t& parts) {
  if (depth > kMaxDepth || ++parts > kMaxParts) return false;
  const auto all = [&](const std::vector<Value>& items) {
    return std::all_of(items.begin(), items.end(),
                       [&](const Value& item) { return can_abstract(item, depth + 1, parts); });
  };
  if (value.is(Tag::list)) return all(value.as<List>().items);
  if (value.is(Tag::tuple)) return all(value.as<Tuple>().items);
  if (value.is(Tag::record)) return all(value.as<Record>().values);
  if (value.is(Tag::map)) return all(value.as<Map>().values);
  if (value.is(Tag::tensor)) return !value.tensor_data()->batch;  // it has left its function: an error where it is used
  return !value.is(Tag::builtin) || all(value.as<BuiltinFunction>().bound);
}

}  // namespace

bool is_only_reference(const Value& constant) {
  if (!constant.is(Tag::function) && !constant.is(Tag::builtin)) return false;
  if (!constant.unique()) return false;
  if (constant.is(Tag::function)) return !constant.as<Function>().captures.empty();
  const BuiltinFunction& native = constant.as<BuiltinFunction>();
  return native.has_state || std::any_of(native.bound.begin(), native.bound.end(), is_only_reference);
}

bool can_abstract(const Value& value) {
  size_t parts = 0;
  return can_abstract(value, 0, parts);
}

Value abstract(const Value& value, const std::vector<InputGuard>* known, std::vector<InputGuard>& guards,
               Recorder& recorder, Run& run, uint32_t& slot, bool may_donate) {
  const auto items = [&](const std::vector<Value>& from, std::vector<Value>& to) {
    to.reserve(from.size());
    const bool donates = may_donate && value.unique();
    for (const Value& item : from) to.push_back(abstract(item, known, guards, recorder, run, slot, donates));
  };
  switch (value.tag()) {
    case Tag::integer:
    case Tag::real: return abstract_number(value, guards, recorder, run);
    case Tag::foreign: return abstract_foreign(original_of(value), guards, recorder, run);
    case Tag::tensor: return abstract_tensor(value.tensor(), known, guards, recorder, run, slot, may_donate);
    case Tag::list: {
      guards.push_back(container(InputGuard::Kind::list, value.as<List>().items.size()));
      Ref<List> list = make_ref<List>();
      items(value.as<List>().items, list->items);
      return Value(std::move(list));
    }
    case Tag::tuple: {
      guards.push_back(container(InputGuard::Kind::tuple, value.as<Tuple>().items.size()));
      Ref<Tuple> tuple = make_ref<Tuple>();
      items(value.as<Tuple>().items, tuple->items);
      return Value(std::move(tuple));
    }
    case Tag::record: {
      const Record& from = value.as<Record>();
      InputGuard guard = container(InputGuard::Kind::record, from.values.size());
      guard.keys = from.keys;
      guards.push_back(guard);
      Ref<Record> record = make_ref<Record>();
      record->keys = from.keys;
      items(from.values, record->values);
      return Value(std::move(record));
    }
    case Tag::map: {
      const Map& from = value.as<Map>();
      InputGuard guard = container(InputGuard::Kind::map, from.values.size());
      guard.map_keys = from.keys;
      guards.push_back(guard);
      std::vector<Value> values;
      items(from.values, values);
      return Value(from.with_values(std::move(values)));
    }
    case Tag::nil:
    case Tag::boolean:
    case Tag::dtype:
    case Tag::absent:
    case Tag::symbol:
    case Tag::string:
    case Tag::range:
    case Tag::function:
    case Tag::builtin:
    case Tag::module:
    case Tag::lazy_string:
    case Tag::cell: break;
  }
  InputGuard guard;
  guard.constant = value;
  guards.push_back(guard);
  return value;
}

namespace {

void bind_extents(const Layout& layout, const InputGuard& guard, Run& run) {
  for (int i = 0; i < layout.rank(); ++i) {
    if (const Symbol* symbol = guard.layout.shape[i].symbol())
      run.symbols[symbol->id] = Scalar::of(layout.shape[i].hint());
  }
}

inline bool bind_tensor(const Value& value, const InputGuard& guard, Run& run) {
  if (!value.is(Tag::tensor)) return false;
  TensorData& data = *value.tensor_data();
  if (data.dtype != guard.dtype || !(data.device == guard.device) || !fits(data.layout, guard)) return false;
  if (guard.varying != 0) bind_extents(data.layout, guard, run);
  run.values.emplace_back(Ref<TensorData>(&data));
  return true;
}

const InputGuard* bind_items(const std::vector<Value>& values, const InputGuard& container, Run& run, bool may_donate) {
  if (values.size() != container.count) return nullptr;
  const InputGuard* guard = &container + 1;
  for (const Value& item : values) {
    if (guard->kind == InputGuard::Kind::tensor) {  // tested first, since large values contain mostly tensors
      if (!bind_tensor(item, *guard++, run)) return nullptr;
    } else {
      run.donated.resize(run.values.size(), may_donate);
      guard = bind_input(item, guard, run, may_donate);
      if (!guard) return nullptr;
    }
  }
  run.donated.resize(run.values.size(), may_donate);
  return guard;
}

}  // namespace

const InputGuard* bind_input(const Value& value, const InputGuard* guard, Run& run, bool may_donate) {
  const auto items = [&](const std::vector<Value>& values) {
    return bind_items(values, *guard, run, may_donate && value.unique());
  };
  switch (guard->kind) {
    case InputGuard::Kind::constant: return same_constant(value, guard->constant) ? guard + 1 : nullptr;
    case InputGuard::Kind::number: {
      if (value.tag() != (guard->type == ScalarType::integer ? Tag::integer : Tag::real)) return nullptr;
      run.symbols[guard->symbol] = value.is(Tag::integer) ? Scalar::of(value.integer()) : Scalar::of(value.real());
      return guard + 1;
    }
    case InputGuard::Kind::foreign: {
      if (!value.is(Tag::foreign) || value.as<Foreign>().type != guard->foreign) return nullptr;
      bind_foreign(original_of(value), guard->symbol, run);
      return guard + 1;
    }
    case InputGuard::Kind::tensor: {
      if (!bind_tensor(value, *guard, run)) return nullptr;
      run.donated.push_back(may_donate);
      return guard + 1;
    }
    case InputGuard::Kind::record: {
      if (!value.is(Tag::record)) return nullptr;
      const Record& record = value.as<Record>();
      return record.keys == guard->keys || record.keys->names == guard->keys->names ? items(record.values) : nullptr;
    }
    case InputGuard::Kind::map: {
      if (!value.is(Tag::map)) return nullptr;
      const Map& map = value.as<Map>();
      return map.keys->are_identical(*guard->map_keys) ? items(map.values) : nullptr;
    }
    case InputGuard::Kind::list: return value.is(Tag::list) ? items(value.as<List>().items) : nullptr;
    case InputGuard::Kind::tuple: return value.is(Tag::tuple) ? items(value.as<Tuple>().items) : nullptr;
  }
  return nullptr;
}

bool matches(const TensorData& tensor, const InputGuard& guard) {
  return tensor.dtype == guard.dtype && tensor.device == guard.device && fits(tensor.layout, guard);
}

}  // namespace tsl::jit
