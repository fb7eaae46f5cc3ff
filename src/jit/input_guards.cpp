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

/// Sets the symbol for the identity of a foreign value, and adds the value to the run.
void bind_foreign(const Value& value, uint32_t symbol, Run& run) {
  run.symbols[symbol] = Scalar::of(value.as<Foreign>().identity().integer());
  run.add_opaque(symbol, value);
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

/// Returns the guards after those of a value, which start at `guard`.
const InputGuard* after(const InputGuard* guard) {
  const uint32_t parts = guard++->count;
  for (uint32_t i = 0; i < parts; ++i) guard = after(guard);
  return guard;
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

// ---- Inputs of a trace ----------------------------------------------------------------------------------------------

void InputAbstraction::set_symbol(const Symbol* symbol, Scalar value) {
  if (run_.symbols.size() <= symbol->id) run_.symbols.resize(symbol->id + 1);
  run_.symbols[symbol->id] = value;
}

Value InputAbstraction::convert_number(const Value& value) {
  const Scalar number = value.is(Tag::integer) ? Scalar::of(value.integer()) : Scalar::of(value.real());
  const Symbol* symbol = recorder_.symbols().input(number);
  set_symbol(symbol, number);
  InputGuard guard;
  guard.kind = InputGuard::Kind::number;
  guard.type = number.type;
  guard.symbol = symbol->id;
  guards_->push_back(guard);
  return Value(symbol);
}

Value InputAbstraction::convert_foreign(const Value& value) {
  const Scalar identity = Scalar::of(value.as<Foreign>().identity().integer());
  const Symbol* symbol = recorder_.symbols().input(identity);
  set_symbol(symbol, identity);
  bind_foreign(value, symbol->id, run_);
  InputGuard guard;
  guard.kind = InputGuard::Kind::foreign;
  guard.foreign = value.as<Foreign>().type;
  guard.symbol = symbol->id;
  guards_->push_back(guard);
  Ref<Foreign> stand_in = make_ref<Foreign>(guard.foreign);
  stand_in->original = value;
  stand_in->symbol = symbol;
  return Value(std::move(stand_in));
}

Value InputAbstraction::convert_tensor(const Tensor& tensor, Known known, bool may_donate) {
  if (slot_ == run_.values.size()) {
    run_.values.push_back(tensor);
    run_.donated.resize(slot_);
    run_.donated.push_back(may_donate);
  }
  InputGuard guard;
  guard.kind = InputGuard::Kind::tensor;
  guard.dtype = tensor.dtype();
  guard.device = tensor.device();
  guard.layout = tensor.layout();
  guard.varying = find_varying(tensor, known);
  if (guard.varying != 0 && !is_empty(guard.layout)) make_symbolic(guard, *known, recorder_, run_);
  guards_->push_back(guard);
  return Value(recorder_.input(guard.dtype, guard.layout, slot_++, guard.device));
}

Value InputAbstraction::convert_list(const Value& value, Known known, bool may_donate, bool opens) {
  const std::vector<Value>& items = value.as<List>().items;
  const bool was_list = known && known->kind == InputGuard::Kind::list;
  const bool varies =
      known && (known->kind == InputGuard::Kind::varying_list || (was_list && known->count != items.size()));
  Ref<List> list = make_ref<List>();
  if (!varies || opens) {
    const InputGuard guard = container(InputGuard::Kind::list, items.size());
    list->items = convert_items(value, items, guard, known, may_donate);
    return Value(std::move(list));
  }
  list->prefix = varying_.prefix(value, convert_varying(InputGuard::Kind::varying_list, value, items.size()));
  return Value(std::move(list));
}

const Symbol* InputAbstraction::convert_varying(InputGuard::Kind kind, const Value& value, size_t length) {
  const Scalar number = Scalar::of(static_cast<int64_t>(length));
  const Symbol* symbol = recorder_.symbols().input(number);
  set_symbol(symbol, number);
  run_.add_opaque(symbol->id, value);
  InputGuard guard;
  guard.kind = kind;
  guard.symbol = symbol->id;
  guards_->push_back(guard);
  return symbol;
}

Value InputAbstraction::convert_map(const Value& value, Known known, bool may_donate, bool opens) {
  const Map& from = value.as<Map>();
  const bool was_map = known && known->kind == InputGuard::Kind::map;
  const auto differs = [&] { return known->removed != from.removed || !from.keys->are_identical(*known->map_keys); };
  const bool varies = known && (known->kind == InputGuard::Kind::varying_map || (was_map && differs()));
  if (!varies || opens) {
    InputGuard guard = container(InputGuard::Kind::map, from.values.size());
    guard.map_keys = from.keys;
    guard.removed = static_cast<uint32_t>(from.removed);
    return Value(from.with_values(convert_items(value, from.values, guard, known, may_donate)));
  }
  Ref<Map> map = make_ref<Map>();
  map->input = varying_.entries(value, convert_varying(InputGuard::Kind::varying_map, value, from.size()));
  return Value(std::move(map));
}

/// Appends the guard of a container, and converts its items.
std::vector<Value> InputAbstraction::convert_items(const Value& container, const std::vector<Value>& items,
                                                   const InputGuard& guard, Known known, bool may_donate) {
  const bool has_known = known && known->kind == guard.kind && known->count == guard.count;
  Known known_item = has_known ? known + 1 : nullptr;
  guards_->push_back(guard);
  std::vector<Value> converted;
  converted.reserve(items.size());
  const bool donates = may_donate && container.unique();
  for (const Value& item : items) {
    converted.push_back(convert(item, known_item, donates));
    if (known_item) known_item = after(known_item);
  }
  return converted;
}

Value InputAbstraction::convert(const Value& value, Known known, bool may_donate) {
  switch (value.tag()) {
    case Tag::integer:
    case Tag::real: return convert_number(value);
    case Tag::foreign: return convert_foreign(original_of(value));
    case Tag::tensor: return convert_tensor(value.tensor(), known, may_donate);
    case Tag::list: return convert_list(value, known, may_donate, false);
    case Tag::tuple: {
      const std::vector<Value>& items = value.as<Tuple>().items;
      const InputGuard guard = container(InputGuard::Kind::tuple, items.size());
      return make_tuple(convert_items(value, items, guard, known, may_donate));
    }
    case Tag::record: {
      const Record& from = value.as<Record>();
      InputGuard guard = container(InputGuard::Kind::record, from.values.size());
      guard.keys = from.keys;
      Ref<Record> record = make_ref<Record>();
      record->keys = from.keys;
      record->values = convert_items(value, from.values, guard, known, may_donate);
      return Value(std::move(record));
    }
    case Tag::map: return convert_map(value, known, may_donate, false);
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
  guards_->push_back(guard);
  return value;
}

Value InputAbstraction::abstract(const Value& value, const std::vector<InputGuard>* known,
                                 std::vector<InputGuard>& guards, bool may_donate, bool opens) {
  guards_ = &guards;
  const Known first = known && !known->empty() ? known->data() : nullptr;
  if (value.is(Tag::list)) return convert_list(value, first, may_donate, opens);
  return value.is(Tag::map) ? convert_map(value, first, may_donate, opens) : convert(value, first, may_donate);
}

// ---- Inputs of a run ------------------------------------------------------------------------------------------------

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
      return record.has_keys(guard->keys) ? items(record.values) : nullptr;
    }
    case InputGuard::Kind::map: {
      if (!value.is(Tag::map)) return nullptr;
      const Map& map = value.as<Map>();
      return map.keys->are_identical(*guard->map_keys) ? items(map.values) : nullptr;
    }
    case InputGuard::Kind::list: return value.is(Tag::list) ? items(value.as<List>().items) : nullptr;
    case InputGuard::Kind::varying_list: {
      if (!value.is(Tag::list)) return nullptr;
      run.symbols[guard->symbol] = Scalar::of(static_cast<int64_t>(value.as<List>().items.size()));
      run.add_opaque(guard->symbol, value);
      return guard + 1;
    }
    case InputGuard::Kind::varying_map: {
      if (!value.is(Tag::map)) return nullptr;
      run.symbols[guard->symbol] = Scalar::of(static_cast<int64_t>(value.as<Map>().size()));
      run.add_opaque(guard->symbol, value);
      return guard + 1;
    }
    case InputGuard::Kind::tuple: return value.is(Tag::tuple) ? items(value.as<Tuple>().items) : nullptr;
  }
  return nullptr;
}

bool matches(const TensorData& tensor, const InputGuard& guard) {
  return tensor.dtype == guard.dtype && tensor.device == guard.device && fits(tensor.layout, guard);
}

}  // namespace tsl::jit
