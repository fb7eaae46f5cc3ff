#include "autodiff/leaves.h"

#include "value/context.h"
#include "value/numbers.h"
#include "value/signature.h"

namespace tsl {

bool is_float_tensor(const Value& v) { return v.is(Tag::tensor) && is_float(v.tensor_data()->dtype); }
bool is_float_number(const Value& v) { return is_host_number(v) && scalar_of(v).type == ScalarType::real; }

Value float_tensors(const Value& value) {
  return map_leaves(value, [](const Value& leaf) { return is_float_tensor(leaf) ? leaf : Value(); });
}

void add_float_tensors(const Value& value, std::vector<Tensor>& tensors) {
  map_leaves(value, [&](const Value& leaf) {
    if (is_float_tensor(leaf)) tensors.push_back(leaf.tensor());
    return Value();
  });
}

Value call_as_given(Context& context, const Value& function, Args args) {
  const bool is_builtin = function.is(Tag::builtin);
  if (!is_builtin || args.positional >= args.size()) return context.call(function, args.values);
  const Signature& signature = context.builtins().signature(function.as<BuiltinFunction>());
  CallShape shape;
  shape.positional = static_cast<uint16_t>(args.positional);
  size_t count = args.positional;
  for (size_t i = args.positional; i < args.size(); ++i) {
    if (args[i].is(Tag::absent)) continue;
    shape.names.push_back(signature.parameters[i].name);
    if (i != count) args[count] = std::move(args[i]);
    ++count;
  }
  return context.call(function, args.values.first(count), &shape);
}

}  // namespace tsl
