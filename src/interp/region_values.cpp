#include "interp/region_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/bytecode.h"
#include "interp/format.h"

namespace tsl {

namespace {

/// Marks the slot references in frozen values; nothing is ever recorded by it.
class SlotMark : public Recording {};
SlotMark slot_mark;

bool same_constant(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  if (a.is(Tag::string)) return a.as<String>().text == b.as<String>().text;
  if (a.is(Tag::function)) {
    // Functions that capture nothing differ only in their code.
    const Function& f = a.as<Function>();
    const Function& g = b.as<Function>();
    return &f == &g || (f.proto == g.proto && f.captures.empty() && g.captures.empty());
  }
  if (a.is(Tag::range)) {
    return same_constant(a.as<Range>().begin, b.as<Range>().begin) && same_constant(a.as<Range>().end, b.as<Range>().end);
  }
  if (a.is(Tag::native)) {
    const std::vector<Value>& x = a.as<Native>().bound;
    const std::vector<Value>& y = b.as<Native>().bound;
    return a.as<Native>().builtin == b.as<Native>().builtin && std::equal(x.begin(), x.end(), y.begin(), y.end(), same_constant);
  }
  return identical(a, b);
}

Fact container(Fact::Kind kind, size_t count) {
  Fact fact;
  fact.kind = kind;
  fact.count = static_cast<uint32_t>(count);
  return fact;
}

bool same_extents(const Layout& a, const Layout& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.shape[i].hint() != b.shape[i].hint() || a.strides[i].hint() != b.strides[i].hint()) return false;
  }
  return true;
}

Value abstract_number(const Value& value, std::vector<Fact>& facts, trace::Recorder& recorder, trace::Run& run) {
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

Value abstract_tensor(const Tensor& tensor, std::vector<Fact>& facts, trace::Recorder& recorder, trace::Run& run,
                      uint32_t& slot) {
  if (slot == run.values.size()) run.values.push_back(tensor);
  Fact fact;
  fact.kind = Fact::Kind::tensor;
  fact.dtype = tensor.dtype();
  fact.layout = tensor.layout();
  facts.push_back(fact);
  return Value(recorder.input(tensor, slot++));
}

}  // namespace

bool can_abstract(const Value& value, int depth) {
  constexpr int kMaxDepth = 100;  // far beyond any parameters; lists nested deeper are not tensor code
  if (depth > kMaxDepth) return false;
  const auto all = [depth](const std::vector<Value>& items) {
    return std::all_of(items.begin(), items.end(), [depth](const Value& item) { return can_abstract(item, depth + 1); });
  };
  switch (value.tag()) {
    case Tag::list: return all(value.as<List>().items);
    case Tag::tuple: return all(value.as<Tuple>().items);
    case Tag::record: return all(value.as<Record>().values);
    default: return true;
  }
}

Value abstract(const Value& value, std::vector<Fact>& facts, trace::Recorder& recorder, trace::Run& run, uint32_t& slot) {
  const auto items = [&](const std::vector<Value>& from, std::vector<Value>& to) {
    to.reserve(from.size());
    for (const Value& item : from) to.push_back(abstract(item, facts, recorder, run, slot));
  };
  switch (value.tag()) {
    case Tag::integer:
    case Tag::real: return abstract_number(value, facts, recorder, run);
    case Tag::tensor: return abstract_tensor(value.tensor(), facts, recorder, run, slot);
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

bool collect(const Value& value, const Fact*& fact, trace::Run& run, bool owned, std::vector<bool>& sole) {
  const Fact& f = *fact++;
  const auto items = [&](const std::vector<Value>& values) {
    if (values.size() != f.count) return false;
    const bool all_owned = owned && value.unique();
    for (const Value& item : values) {
      if (!collect(item, fact, run, all_owned, sole)) return false;
    }
    return true;
  };
  switch (f.kind) {
    case Fact::Kind::constant: return same_constant(value, f.constant);
    case Fact::Kind::number: {
      if (value.tag() != (f.type == ScalarType::integer ? Tag::integer : Tag::real)) return false;
      if (run.symbols.size() <= f.symbol) run.symbols.resize(f.symbol + 1);
      run.symbols[f.symbol] = value.is(Tag::integer) ? Scalar::of(value.integer()) : Scalar::of(value.real());
      return true;
    }
    case Fact::Kind::tensor: {
      if (!value.is(Tag::tensor)) return false;
      const TensorData& data = *value.tensor_data();
      if (data.dtype != f.dtype || !same_extents(data.layout, f.layout)) return false;
      sole.resize(run.values.size() + 1);
      sole.back() = owned && value.unique() && data.storage->use_count() == 1;
      run.values.push_back(value.tensor());
      return true;
    }
    case Fact::Kind::record: {
      if (!value.is(Tag::record)) return false;
      const Record& record = value.as<Record>();
      return (record.keys == f.keys || record.keys->names == f.keys->names) && items(record.values);
    }
    case Fact::Kind::list: return value.is(Tag::list) && items(value.as<List>().items);
    case Fact::Kind::tuple: return value.is(Tag::tuple) && items(value.as<Tuple>().items);
  }
  return false;
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
      if (!value.is(Tag::function) || !f.constant.is(Tag::function)) return fmt::format("{} is another {}", what, type_name(value));
      return fmt::format("{} is another function ({}, was {})", what, value.as<Function>().proto->display_name(),
                         f.constant.as<Function>().proto->display_name());
    }
    case Fact::Kind::number: {
      const char* type = f.type == ScalarType::integer ? "int" : "float";
      return std::string(type_name(value)) == type ? "" : fmt::format("{} is {}, was {}", what, type_name(value), type);
    }
    case Fact::Kind::tensor: {
      if (!value.is(Tag::tensor)) return fmt::format("{} is {}, was tensor", what, type_name(value));
      const TensorData& data = *value.tensor_data();
      if (data.dtype == f.dtype && same_extents(data.layout, f.layout)) return "";
      const std::string now = describe(data.dtype, data.layout.shape), before = describe(f.dtype, f.layout.shape);
      return now == before ? fmt::format("{} has other strides", what) : fmt::format("{} is {}, was {}", what, now, before);
    }
    case Fact::Kind::record: {
      if (!value.is(Tag::record)) return fmt::format("{} is {}, was record", what, type_name(value));
      if (value.as<Record>().keys->names != f.keys->names) return fmt::format("{} has other keys", what);
      return items(value.as<Record>().values, "");
    }
    case Fact::Kind::list: return value.is(Tag::list) ? items(value.as<List>().items, "") : fmt::format("{} is {}, was list", what, type_name(value));
    case Fact::Kind::tuple: return value.is(Tag::tuple) ? items(value.as<Tuple>().items, "") : fmt::format("{} is {}, was tuple", what, type_name(value));
  }
  return "";
}

namespace {

/// Rebuilds the containers in `value` through `leaf`, which gives a replacement for a leaf or returns false to
/// keep it. Containers in which nothing changes are kept. Returns whether anything changed.
template <class Leaf>
bool rebuild(Value& value, Leaf&& leaf) {
  const auto items = [&](const std::vector<Value>& from, std::vector<Value>& to) {
    bool changed = false;
    to = from;
    for (Value& item : to) changed |= rebuild(item, leaf);
    return changed;
  };
  switch (value.tag()) {
    case Tag::list: {
      Ref<List> list = make_ref<List>();
      if (!items(value.as<List>().items, list->items)) return false;
      value = Value(std::move(list));
      return true;
    }
    case Tag::tuple: {
      Ref<Tuple> tuple = make_ref<Tuple>();
      if (!items(value.as<Tuple>().items, tuple->items)) return false;
      value = Value(std::move(tuple));
      return true;
    }
    case Tag::record: {
      Ref<Record> record = make_ref<Record>();
      record->keys = value.as<Record>().keys;
      if (!items(value.as<Record>().values, record->values)) return false;
      value = Value(std::move(record));
      return true;
    }
    case Tag::range: {
      Ref<Range> range = make_ref<Range>();
      range->begin = value.as<Range>().begin;
      range->end = value.as<Range>().end;
      if (!(rebuild(range->begin, leaf) | rebuild(range->end, leaf))) return false;
      value = Value(std::move(range));
      return true;
    }
    case Tag::text: {
      Ref<Text> text = make_ref<Text>();
      text->pieces = value.as<Text>().pieces;
      bool changed = false;
      for (Text::Piece& piece : text->pieces) changed |= rebuild(piece.value, leaf);
      if (changed) value = Value(std::move(text));
      return leaf(value) || changed;
    }
    default: return leaf(value);
  }
}

}  // namespace

Value freeze(const Value& value, const trace::Recorder& recorder, std::vector<uint32_t>& slots) {
  Value frozen = value;
  rebuild(frozen, [&](Value& leaf) {
    if (!leaf.is(Tag::tensor) || leaf.tensor_data()->recording != &recorder) return false;
    const Tensor tensor = leaf.tensor();
    Ref<TensorData> reference(TensorData::make());
    reference->dtype = tensor.dtype();
    reference->layout = tensor.layout();
    reference->recording = &slot_mark;
    reference->node = static_cast<uint32_t>(recorder.slot_of(tensor));
    slots.push_back(reference->node);
    leaf = Value(Tensor(std::move(reference)));
    return true;
  });
  return frozen;
}

namespace {

/// A text whose pieces are known now is a string like any other.
void join_text(Engine& engine, Value& value) {
  if (value.is(Tag::text) && is_known(value)) value = make_string(to_string(engine, value));
}

}  // namespace

Value instantiate(Engine& engine, const Value& frozen, const trace::Run& run) {
  Value value = frozen;
  rebuild(value, [&](Value& leaf) {
    if (leaf.is(Tag::text)) {
      join_text(engine, leaf);
      return !leaf.is(Tag::text);
    }
    if (leaf.is(Tag::symbol) && leaf.symbol()) {
      leaf = Value(run.symbols[leaf.symbol()->id]);
      return true;
    }
    if (!leaf.is(Tag::tensor) || leaf.tensor_data()->recording != &slot_mark) return false;
    const TensorData& reference = *leaf.tensor_data();
    const Tensor& base = run.values[reference.node];
    if (same(base.layout(), reference.layout)) {
      leaf = Value(base);
      return true;
    }
    Layout layout = reference.layout;
    layout.offset = layout.offset + base.layout().offset;
    leaf = Value(base.with_layout(layout));
    return true;
  });
  return value;
}

namespace {

/// A closure made in a trace that was given up: its variables outlive the trace. Each is settled once, so that a
/// closure which captures itself comes to an end.
void settle_captures(Engine& engine, Value& value) {
  if (value.is(Tag::native)) {
    for (Value& bound : value.as<Native>().bound) settle(engine, bound);
  }
  if (!value.is(Tag::function)) return;
  for (const Ref<Cell>& cell : value.as<Function>().captures) {
    if (cell->trace == 0) continue;
    cell->trace = 0;
    settle(engine, cell->value);
  }
}

}  // namespace

void settle(Engine& engine, Value& value) {
  rebuild(value, [&](Value& leaf) {
    if (leaf.is(Tag::text)) {
      join_text(engine, leaf);
      return !leaf.is(Tag::text);
    }
    settle_captures(engine, leaf);
    if (!leaf.is(Tag::symbol) || !leaf.symbol()) return false;
    leaf = Value(leaf.symbol()->hint);
    return true;
  });
}

}  // namespace tsl
