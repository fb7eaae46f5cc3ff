#include "jit/region_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "bytecode/bytecode.h"
#include "value/format.h"
#include "value/rebuild.h"

namespace tsl {

namespace {

/// Marks the references to views of slots in frozen values; nothing is ever recorded by it.
class SlotMark : public Recording {};
SlotMark slot_mark;

bool same_constant(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  if (a.is(Tag::string)) return a.as<String>().text == b.as<String>().text;
  if (a.is(Tag::function)) {
    // Functions that capture nothing differ only in their code.
    const Function& f = a.as<Function>();
    const Function& g = b.as<Function>();
    return &f == &g || (f.info == g.info && f.captures.empty() && g.captures.empty());
  }
  if (a.is(Tag::range)) {
    return same_constant(a.as<Range>().begin, b.as<Range>().begin) &&
           same_constant(a.as<Range>().end, b.as<Range>().end);
  }
  if (a.is(Tag::native) && !identical(a, b) && !a.as<Native>().has_state) {
    const std::vector<Value>& x = a.as<Native>().bound;
    const std::vector<Value>& y = b.as<Native>().bound;
    return a.as<Native>().builtin == b.as<Native>().builtin &&
           std::equal(x.begin(), x.end(), y.begin(), y.end(), same_constant);
  }
  return identical(a, b);
}

Fact container(Fact::Kind kind, size_t count) {
  Fact fact;
  fact.kind = kind;
  fact.count = static_cast<uint32_t>(count);
  return fact;
}

/// Whether the axes lie in memory in this order, without gaps or overlaps.
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

bool fits_varying(const Layout& layout, const Fact& fact) {
  for (int i = 0; i < layout.rank(); ++i) {
    const Dim& extent = fact.layout.shape[i];
    if (extent.symbol() ? !may_vary(layout.shape[i].hint()) : layout.shape[i].hint() != extent.hint()) return false;
    if (!fact.is_dense && layout.strides[i].hint() != fact.layout.strides[i].hint()) return false;
  }
  return !fact.is_dense || is_dense_in(fact.order, layout);
}

/// Whether a tensor is laid out as the fact says. A symbolic extent may be any that may vary.
inline bool fits(const Layout& layout, const Fact& fact) {
  const int rank = fact.layout.rank();
  if (layout.rank() != rank) return false;
  if (fact.varying != 0) return fits_varying(layout, fact);
  for (int i = 0; i < rank; ++i) {  // most facts have no symbols, and a replay may compare hundreds
    if (layout.shape[i].hint() != fact.layout.shape[i].hint() ||
        layout.strides[i].hint() != fact.layout.strides[i].hint())
      return false;
  }
  return true;
}

/// The axes in the order in which they lie in memory; false if there are gaps or overlaps.
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

/// The axes of a tensor whose extents vary, given what was known of it before.
uint8_t find_varying(const Tensor& tensor, const Fact* known) {
  if (!known || known->kind != Fact::Kind::tensor || known->layout.rank() != tensor.rank()) return 0;
  uint8_t varying = known->varying;
  for (int i = 0; i < tensor.rank(); ++i) {
    const int64_t before = known->layout.shape[i].hint();
    if (before != kUnseenExtent && before != tensor.shape()[i].hint()) varying |= static_cast<uint8_t>(1 << i);
  }
  return varying;
}

Value abstract_number(const Value& value, std::vector<Fact>& facts, jit::Recorder& recorder, jit::Run& run) {
  const Scalar number = value.is(Tag::integer) ? Scalar::of(value.integer()) : Scalar::of(value.real());
  const Symbol* symbol = recorder.symbols().input(number);
  if (run.symbols.size() <= symbol->id) run.symbols.resize(symbol->id + 1);
  run.symbols[symbol->id] = number;
  Fact fact;
  fact.kind = Fact::Kind::number;
  fact.type = number.type;
  fact.symbol = symbol->id;
  facts.push_back(fact);
  return Value(symbol);
}

bool is_symbolic(const Layout& layout) {
  return std::any_of(layout.shape.begin(), layout.shape.end(), [](Dim d) { return d.symbol() != nullptr; });
}

/// Makes symbols of the extents that vary, and expressions of all strides, unless there are gaps: those strides stay as
/// they are.
void make_symbolic(Fact& fact, const Fact& known, jit::Recorder& recorder, jit::Run& run) {
  Layout& layout = fact.layout;
  for (int i = 0; i < layout.rank(); ++i) {
    const int64_t extent = layout.shape[i].hint();
    if (!(fact.varying >> i & 1) || !may_vary(extent)) continue;
    const Symbol* symbol = recorder.symbols().size_input(extent);
    if (run.symbols.size() <= symbol->id) run.symbols.resize(symbol->id + 1);
    run.symbols[symbol->id] = Scalar::of(extent);
    layout.shape[i] = symbol;
  }
  if (is_symbolic(
          known.layout)) {  // of the way already gone: its strides, too, are what they were when it was recorded
    fact.is_dense = known.is_dense;
    fact.order = known.order;
  } else {
    fact.is_dense = is_symbolic(layout) && find_order(layout, fact.order);
  }
  Dim stride = 1;
  for (int i = layout.rank() - 1; fact.is_dense && i >= 0; --i) {
    const int axis = fact.order[static_cast<size_t>(i)];
    layout.strides[axis] = stride;
    stride = stride * layout.shape[axis];
  }
}

Value abstract_tensor(const Tensor& tensor, const std::vector<Fact>* known, std::vector<Fact>& facts,
                      jit::Recorder& recorder, jit::Run& run, uint32_t& slot) {
  if (slot == run.values.size()) run.values.push_back(tensor);
  Fact fact;
  fact.kind = Fact::Kind::tensor;
  fact.dtype = tensor.dtype();
  fact.device = tensor.device();
  fact.layout = tensor.layout();
  const Fact* before = known && facts.size() < known->size() ? &(*known)[facts.size()] : nullptr;
  fact.varying = find_varying(tensor, before);
  if (fact.varying != 0 && !is_empty(fact.layout)) make_symbolic(fact, *before, recorder, run);
  facts.push_back(fact);
  return Value(recorder.input(fact.dtype, fact.layout, slot++, fact.device));
}

}  // namespace

namespace {

// Far beyond any parameters; what is larger is not tensor code. Taking apart recurses, and sees shared parts each time.
constexpr int kMaxDepth = 100;
constexpr size_t kMaxParts = 100'000;

bool can_abstract(const Value& value, int depth, size_t& parts) {
  if (depth > kMaxDepth || ++parts > kMaxParts) return false;
  const auto all = [&](const std::vector<Value>& items) {
    return std::all_of(items.begin(), items.end(),
                       [&](const Value& item) { return can_abstract(item, depth + 1, parts); });
  };
  switch (value.tag()) {
    case Tag::list: return all(value.as<List>().items);
    case Tag::tuple: return all(value.as<Tuple>().items);
    case Tag::record: return all(value.as<Record>().values);
    case Tag::native: return all(value.as<Native>().bound);
    default: return true;
  }
}

}  // namespace

bool is_only_here(const Value& constant) {
  if (!constant.is(Tag::function) && !constant.is(Tag::native)) return false;
  if (!constant.unique()) return false;
  if (constant.is(Tag::function)) return !constant.as<Function>().captures.empty();
  const Native& native = constant.as<Native>();
  return native.has_state || std::any_of(native.bound.begin(), native.bound.end(), is_only_here);
}

bool can_abstract(const Value& value) {
  size_t parts = 0;
  return can_abstract(value, 0, parts);
}

Value abstract(const Value& value, const std::vector<Fact>* known, std::vector<Fact>& facts, jit::Recorder& recorder,
               jit::Run& run, uint32_t& slot) {
  const auto items = [&](const std::vector<Value>& from, std::vector<Value>& to) {
    to.reserve(from.size());
    for (const Value& item : from) to.push_back(abstract(item, known, facts, recorder, run, slot));
  };
  switch (value.tag()) {
    case Tag::integer:
    case Tag::real: return abstract_number(value, facts, recorder, run);
    case Tag::tensor: return abstract_tensor(value.tensor(), known, facts, recorder, run, slot);
    case Tag::list: {
      facts.push_back(container(Fact::Kind::list, value.as<List>().items.size()));
      Ref<List> list = make_ref<List>();
      items(value.as<List>().items, list->items);
      return Value(std::move(list));
    }
    case Tag::tuple: {
      facts.push_back(container(Fact::Kind::tuple, value.as<Tuple>().items.size()));
      Ref<Tuple> tuple = make_ref<Tuple>();
      items(value.as<Tuple>().items, tuple->items);
      return Value(std::move(tuple));
    }
    case Tag::record: {
      const Record& from = value.as<Record>();
      Fact fact = container(Fact::Kind::record, from.values.size());
      fact.keys = from.keys;
      facts.push_back(fact);
      Ref<Record> record = make_ref<Record>();
      record->keys = from.keys;
      items(from.values, record->values);
      return Value(std::move(record));
    }
    default: {
      Fact fact;
      fact.constant = value;
      facts.push_back(fact);
      return value;
    }
  }
}

namespace {

void collect_extents(const Layout& layout, const Fact& fact, jit::Run& run) {
  for (int i = 0; i < layout.rank(); ++i) {
    if (const Symbol* symbol = fact.layout.shape[i].symbol())
      run.symbols[symbol->id] = Scalar::of(layout.shape[i].hint());
  }
}

inline bool collect_tensor(const Value& value, const Fact& fact, jit::Run& run) {
  if (!value.is(Tag::tensor)) return false;
  TensorData& data = *value.tensor_data();
  if (data.dtype != fact.dtype || !(data.device == fact.device) || !fits(data.layout, fact)) return false;
  if (fact.varying != 0) collect_extents(data.layout, fact, run);
  run.values.emplace_back(Ref<TensorData>(&data));
  return true;
}

const Fact* collect_items(const std::vector<Value>& values, const Fact& container, jit::Run& run, bool owned,
                          std::vector<char>& given) {
  if (values.size() != container.count) return nullptr;
  const Fact* fact = &container + 1;
  for (const Value& item : values) {
    if (fact->kind == Fact::Kind::tensor) {  // here, as most parts of what has many are tensors
      if (!collect_tensor(item, *fact++, run)) return nullptr;
    } else {
      given.resize(run.values.size(), owned);
      fact = collect(item, fact, run, owned, given);
      if (!fact) return nullptr;
    }
  }
  given.resize(run.values.size(), owned);
  return fact;
}

}  // namespace

const Fact* collect(const Value& value, const Fact* fact, jit::Run& run, bool owned, std::vector<char>& given) {
  const auto items = [&](const std::vector<Value>& values) {
    return collect_items(values, *fact, run, owned && value.unique(), given);
  };
  switch (fact->kind) {
    case Fact::Kind::constant: return same_constant(value, fact->constant) ? fact + 1 : nullptr;
    case Fact::Kind::number: {
      if (value.tag() != (fact->type == ScalarType::integer ? Tag::integer : Tag::real)) return nullptr;
      run.symbols[fact->symbol] = value.is(Tag::integer) ? Scalar::of(value.integer()) : Scalar::of(value.real());
      return fact + 1;
    }
    case Fact::Kind::tensor: {
      if (!collect_tensor(value, *fact, run)) return nullptr;
      given.push_back(owned);
      return fact + 1;
    }
    case Fact::Kind::record: {
      if (!value.is(Tag::record)) return nullptr;
      const Record& record = value.as<Record>();
      return record.keys == fact->keys || record.keys->names == fact->keys->names ? items(record.values) : nullptr;
    }
    case Fact::Kind::list: return value.is(Tag::list) ? items(value.as<List>().items) : nullptr;
    case Fact::Kind::tuple: return value.is(Tag::tuple) ? items(value.as<Tuple>().items) : nullptr;
  }
  return nullptr;
}

std::string difference(const Value& value, const Fact*& fact, const std::string& what) {
  const Fact& f = *fact++;
  const auto items = [&](const std::vector<Value>& values, const char* kind) -> std::string {
    if (values.size() != f.count) return fmt::format("{} has {} items, had {}", what, values.size(), f.count);
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string name = f.kind == Fact::Kind::record ? fmt::format("{}.{}", what, *f.keys->names[i])
                                                            : fmt::format("{}{}[{}]", kind, what, i);
      std::string found = difference(values[i], fact, name);
      if (!found.empty()) return found;
    }
    return "";
  };
  switch (f.kind) {
    case Fact::Kind::constant: {
      if (same_constant(value, f.constant)) return "";
      if (!value.is(Tag::function) || !f.constant.is(Tag::function))
        return fmt::format("{} is another {}", what, type_name(value));
      return fmt::format("{} is another function ({}, was {})", what, value.as<Function>().info->display_name(),
                         f.constant.as<Function>().info->display_name());
    }
    case Fact::Kind::number: {
      const char* type = f.type == ScalarType::integer ? "int" : "float";
      return std::string(type_name(value)) == type ? "" : fmt::format("{} is {}, was {}", what, type_name(value), type);
    }
    case Fact::Kind::tensor: {
      if (!value.is(Tag::tensor)) return fmt::format("{} is {}, was tensor", what, type_name(value));
      const TensorData& data = *value.tensor_data();
      if (!(data.device == f.device))
        return fmt::format("{} is on {}, was on {}", what, to_string(data.device), to_string(f.device));
      if (data.dtype == f.dtype && fits(data.layout, f)) return "";
      const std::string now = describe(data.dtype, data.layout.shape), before = describe(f.dtype, f.layout.shape);
      return now == before ? fmt::format("{} has other strides", what)
                           : fmt::format("{} is {}, was {}", what, now, before);
    }
    case Fact::Kind::record: {
      if (!value.is(Tag::record)) return fmt::format("{} is {}, was record", what, type_name(value));
      if (value.as<Record>().keys->names != f.keys->names) return fmt::format("{} has other keys", what);
      return items(value.as<Record>().values, "");
    }
    case Fact::Kind::list:
      return value.is(Tag::list) ? items(value.as<List>().items, "")
                                 : fmt::format("{} is {}, was list", what, type_name(value));
    case Fact::Kind::tuple:
      return value.is(Tag::tuple) ? items(value.as<Tuple>().items, "")
                                  : fmt::format("{} is {}, was tuple", what, type_name(value));
  }
  return "";
}

Value freeze(const Value& value, const jit::Recorder& recorder, std::vector<uint32_t>& slots) {
  Value frozen = value;
  rebuild(frozen, [&](const Value& leaf, Value& slot) {
    if (leaf.is(Tag::text)) {  // a copy: the code may read the text later on, and then it holds this run's string
      Ref<Text> text = make_ref<Text>();
      text->pieces = leaf.as<Text>().pieces;
      slot = Value(std::move(text));
      return true;
    }
    if (!leaf.is(Tag::tensor) || leaf.tensor_data()->recording != &recorder) return false;
    const Tensor tensor = leaf.tensor();
    slots.push_back(static_cast<uint32_t>(recorder.slot_of(tensor)));
    if (recorder.is_whole(tensor)) {
      slot = Value::of_slot(slots.back());
      return true;
    }
    Ref<TensorData> view(TensorData::make());
    view->dtype = tensor.dtype();
    view->layout = tensor.layout();
    view->recording = &slot_mark;
    view->node = slots.back();
    slot = Value(Tensor(std::move(view)));
    return true;
  });
  return frozen;
}

namespace {

/// A text whose pieces are known now is a string like any other.
bool join_text(Context& context, const Value& text, Value& string) {
  string = joined(context, text);
  return true;
}

/// What a leaf that is no slot becomes; most leaves are slots.
bool instantiate_other(Context& context, const Value& leaf, const jit::Run& run, Value& now) {
  if (leaf.is(Tag::tensor)) {
    const TensorData& view = *leaf.tensor_data();
    if (view.recording != &slot_mark) return false;
    const Tensor& base = run.values[view.node];
    Layout layout = in_run(view.layout, run.symbols);
    layout.offset = layout.offset + base.layout().offset;
    now = Value(base.with_layout(layout));
    return true;
  }
  if (leaf.is(Tag::text)) return join_text(context, leaf, now);
  if (!leaf.is(Tag::symbol)) return false;
  now = Value(run.symbols[leaf.symbol()->id]);
  return true;
}

}  // namespace

Value instantiate(Context& context, const Value& frozen, const jit::Run& run) {
  Value value = frozen;
  rebuild(value, [&context, &run, values = run.values.data()](const Value& leaf, Value& now) {
    if (!leaf.is(Tag::slot)) return instantiate_other(context, leaf, run, now);
    now.become(values[leaf.slot()]);
    return true;
  });
  return value;
}

}  // namespace tsl
