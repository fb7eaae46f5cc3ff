#include "jit/output_template.h"

#include <utility>

#include "value/format.h"
#include "value/map.h"
#include "value/value_walk.h"

namespace tsl::jit {

Value OutputTemplate::reference_to(Leaf leaf) {
  leaves_.push_back(std::move(leaf));
  return Value(-static_cast<int64_t>(leaves_.size()));
}

namespace {

/// The prefix of a list in a template: the run has the elements.
struct PrefixOfRun final : ListPrefix {
  explicit PrefixOfRun(const Symbol* of_length) { length = of_length; }
  std::vector<Value> elements() override { return {}; }  // only walks see templates
};

/// The entries of an input in a template: the run has them.
struct EntriesOfRun final : InputEntries {
  explicit EntriesOfRun(const Symbol* of_length) { length = of_length; }
  const Value* find(const Value&) override { return nullptr; }  // only walks see templates
  bool has(const Value&) override { return false; }
  Value all() override { return Value(make_ref<Map>()); }
};

/// Returns the list of this run that is the prefix of a list in a template.
const Value& list_of(const Value& in_template, const Run& run) {
  return *run.find_opaque(unopened(in_template).prefix->length->id);
}

/// Returns the map of this run that a map in a template changes.
const Value& map_of(const Value& in_template, const Run& run) {
  return *run.find_opaque(unopened_map(in_template).input->length->id);
}

}  // namespace

OutputTemplate OutputTemplate::capture(const Value& value, const Recorder& recorder, std::vector<uint32_t>& slots) {
  OutputTemplate captured;
  captured.value_ = value;
  replace_leaves(captured.value_, [&](const Value& leaf, Value& with) {
    if (leaf.is(Tag::integer)) {
      with = captured.reference_to({.slot = -1, .is_foreign = false, .layout = {}, .number = leaf.integer()});
      return true;
    }
    if (leaf.is(Tag::foreign) && leaf.as<Foreign>().symbol) {
      const int64_t symbol = leaf.as<Foreign>().symbol->id;
      with = captured.reference_to({.slot = -1, .is_foreign = true, .layout = {}, .number = symbol});
      return true;
    }
    if (leaf.is(Tag::lazy_string)) {  // a copy: code that reads the original later turns it into this run's string
      Ref<LazyString> text = make_ref<LazyString>();
      text->pieces = leaf.as<LazyString>().pieces;
      with = Value(std::move(text));
      return true;
    }
    if (leaf.is(Tag::list)) {  // a copy, likewise
      with = make_list(unopened(leaf).items);
      unopened(with).prefix = Ref<ListPrefix>(new PrefixOfRun(unopened(leaf).prefix->length));
      return true;
    }
    if (leaf.is(Tag::map)) {  // likewise
      Ref<Map> map = make_ref<Map>(unopened_map(leaf));
      map->input = Ref<InputEntries>(new EntriesOfRun(unopened_map(leaf).input->length));
      with = Value(std::move(map));
      return true;
    }
    if (!leaf.is(Tag::tensor) || leaf.tensor_data()->recording != &recorder) return false;
    const Tensor tensor = leaf.tensor();
    const int64_t slot = recorder.slot_of(tensor);
    slots.push_back(static_cast<uint32_t>(slot));
    with = recorder.is_whole(tensor)
               ? Value(slot)
               : captured.reference_to({.slot = slot, .is_foreign = false, .layout = tensor.layout()});
    return true;
  });
  return captured;
}

Value OutputTemplate::rebuild_leaf(const Leaf& leaf, const Run& run) const {
  if (leaf.is_foreign) return *run.find_opaque(static_cast<uint32_t>(leaf.number));
  if (leaf.slot < 0) return Value(leaf.number);
  return Value(run.view(static_cast<size_t>(leaf.slot), leaf.layout));
}

bool OutputTemplate::rebuild_other(const Value& leaf, Value& with, Context& context, const Run& run) const {
  if (leaf.is(Tag::integer)) with = rebuild_leaf(leaves_[static_cast<size_t>(-1 - leaf.integer())], run);
  else if (leaf.is(Tag::symbol)) with = Value(run.symbols[leaf.symbol()->id]);
  else if (leaf.is(Tag::list)) with = with_items(list_of(leaf, run), unopened(leaf).items);  // behind a prefix
  else if (leaf.is(Tag::map)) with = with_changes(map_of(leaf, run), unopened_map(leaf));    // of an input
  else if (leaf.is(Tag::lazy_string)) with = joined(context, leaf);
  else return false;
  return true;  // items, values and pieces were rebuilt before
}

Value OutputTemplate::rebuilt(Value value, Context& context, const Run& run) const {
  replace_leaves(value, [this, &context, &run, values = run.values.data()](const Value& leaf, Value& with) {
    const bool is_slot = leaf.is(Tag::integer) && leaf.integer() >= 0;  // most leaves
    if (!is_slot) return rebuild_other(leaf, with, context, run);
    with.become(values[leaf.integer()]);
    return true;
  });
  return value;
}

bool OutputTemplate::extends(const Value& variable, const Run& run) const {
  if (value_.is(Tag::map)) return unopened_map(value_).input && identical(variable, map_of(value_, run));
  return value_.is(Tag::list) && unopened(value_).prefix && identical(variable, list_of(value_, run));
}

void OutputTemplate::extend(Value& variable, Context& context, const Run& run) const {
  if (value_.is(Tag::map)) {
    const Map& changes = unopened_map(value_);
    const Value values = rebuilt(make_list(changes.values), context, run);
    Ref<Map> now = changes.with_values(values.as<List>().items);
    Map& map = variable.as<Map>();
    if (map.use_count() > 2) variable = with_changes(variable, *now);
    else map.change_as(*now);
    return;
  }
  const Value items = rebuilt(make_list(unopened(value_).items), context, run);
  const std::vector<Value>& more = items.as<List>().items;
  List& list = variable.as<List>();
  if (list.use_count() > 2) {  // more than the variable's and the run's
    variable = with_items(variable, more);
    return;
  }
  list.items.insert(list.items.end(), more.begin(), more.end());
  list.count_bytes();
}

}  // namespace tsl::jit
