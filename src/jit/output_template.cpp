#include "jit/output_template.h"

#include <utility>

#include "value/format.h"
#include "value/value_walk.h"

namespace tsl::jit {

Value OutputTemplate::reference_to(Leaf leaf) {
  leaves_.push_back(std::move(leaf));
  return Value(-static_cast<int64_t>(leaves_.size()));
}

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
  if (leaf.is_foreign) return *run.find_foreign(static_cast<uint32_t>(leaf.number));
  if (leaf.slot < 0) return Value(leaf.number);
  return Value(run.view(static_cast<size_t>(leaf.slot), leaf.layout));
}

Value OutputTemplate::rebuild(Context& context, const Run& run) const {
  Value value = value_;
  replace_leaves(value, [this, &context, &run, values = run.values.data()](const Value& leaf, Value& with) {
    if (leaf.is(Tag::integer)) {  // most leaves
      const int64_t reference = leaf.integer();
      if (reference >= 0) with.become(values[reference]);
      else with = rebuild_leaf(leaves_[static_cast<size_t>(-1 - reference)], run);
      return true;
    }
    if (leaf.is(Tag::symbol)) {
      with = Value(run.symbols[leaf.symbol()->id]);
      return true;
    }
    if (!leaf.is(Tag::lazy_string)) return false;
    with = joined(context, leaf);  // its pieces are rebuilt by now
    return true;
  });
  return value;
}

}  // namespace tsl::jit
