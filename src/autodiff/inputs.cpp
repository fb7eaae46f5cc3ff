#include "autodiff/inputs.h"

#include "value/context.h"
#include "value/format.h"
#include "value/numbers.h"
#include "vm/arguments.h"

namespace tsl {

// ---- Arguments -------------------------------------------------------------------------------------------

void Inputs::add(Context& context, Tape& tape, Value& argument) {
  input_masks_.push_back(map_leaves(argument, [](const Value& leaf) {
    return is_float_tensor(leaf) || is_float_number(leaf) ? Value(true) : Value();
  }));
  argument = map_leaves(argument, [&](const Value& leaf) {
    if (!is_float_tensor(leaf) && !is_float_number(leaf)) return leaf;
    // A number already becomes a new tensor, with the default dtype for numbers.
    Tensor input = to_tensor(context, leaf, "a number to differentiate by");
    if (is_float_tensor(leaf)) input = alias(context.ops(), input);
    tape.add_input(input);
    ++count_;
    return Value(input);
  });
}

std::vector<Value> Inputs::assemble(std::span<const Tensor> gradients) const {
  std::vector<Value> assembled;
  size_t next = 0;
  for (const Value& mask : input_masks_) {
    assembled.push_back(
        map_leaves(mask, [&](const Value& leaf) { return leaf.is_nil() ? Value() : Value(gradients[next++]); }));
  }
  return assembled;
}

// ---- Given gradients -------------------------------------------------------------------------------------

void GivenGradients::match(const Value& value, const Value& gradient) {
  if (value.is_nil() || gradient.is_nil()) return;
  if (value.is(Tag::tensor)) return add(value.tensor(), gradient);
  if (gradient.tag() != value.tag()) differs(fmt::format("{} and {}", type_name(value), type_name(gradient)));
  if (value.is(Tag::record)) return match_records(value.as<Record>(), gradient.as<Record>());
  if (value.is(Tag::map)) return match_maps(value, gradient.as<Map>());
  if (value.is(Tag::list)) return match_items(value.as<List>().items, gradient.as<List>().items);
  match_items(value.as<Tuple>().items, gradient.as<Tuple>().items);
}

void GivenGradients::differs(const std::string& how) const {
  fail(ErrorName::structure_mismatch, "{} must be built like {}: {}", giver_.gradient, giver_.like, how);
}

void GivenGradients::match_items(const std::vector<Value>& values, const std::vector<Value>& gradients) {
  if (values.size() != gradients.size()) differs(fmt::format("{} items and {}", values.size(), gradients.size()));
  for (size_t i = 0; i < values.size(); ++i) match(values[i], gradients[i]);
}

void GivenGradients::match_records(Record& values, Record& gradients) {
  for (size_t i = 0; i < values.values.size(); ++i) {
    const Name key = values.keys->names[i];
    const Value* gradient = gradients.find(key);
    if (!gradient) differs(fmt::format("'{}' is missing", *key));
    match(values.values[i], *gradient);
  }
  if (gradients.values.size() != values.values.size()) {
    differs(fmt::format("{} keys and {}", values.values.size(), gradients.values.size()));
  }
}

void GivenGradients::match_maps(const Value& values, Map& gradients) {
  Value key, value;
  for (int64_t state = 0; next_entry(values, state, key, value);) {
    const Value* gradient = gradients.find(key);
    if (!gradient) differs(fmt::format("the key {} is missing", to_repr(context_, key)));
    match(value, *gradient);
  }
  if (gradients.size() != count_entries(values))
    differs(fmt::format("{} keys and {}", count_entries(values), gradients.size()));
}

void GivenGradients::add(const Tensor& tensor, const Value& given) {
  const Placement placement(context_.ops(), tensor.device());
  Tensor gradient = cast(context_.ops(), to_tensor(context_, given, giver_.gradient.data()), tensor.dtype());
  if (is_host_number(given)) gradient = expand(context_.ops(), gradient, tensor.shape());
  if (!(gradient.shape() == tensor.shape())) {
    fail(ErrorName::shape_mismatch, "{} a gradient of {}, like {}, not of {}", giver_.needs, to_string(tensor.shape()),
         giver_.like, to_string(gradient.shape()));
  }
  if (!(gradient.device() == tensor.device())) {
    fail(ErrorName::device_mismatch, "{} a gradient on {}, like {}, not on {}", giver_.needs,
         to_string(tensor.device()), giver_.like, to_string(gradient.device()));
  }
  tensors_.push_back(tensor);
  gradients_.push_back(std::move(gradient));
}

}  // namespace tsl
