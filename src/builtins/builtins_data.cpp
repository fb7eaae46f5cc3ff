// Defines what turns values into another form and back: JSON, trees.
#include "builtins/builtins.h"
#include "io/json.h"
#include "io/tree.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value from_json_builtin(Context& context, Args args) {
  return parse_json(context, expect_string(context, args[0], "the text"));
}

Value run_to_json(Context& context, std::span<Value> args) {
  const int indent = args[1].is_nil() ? -1 : static_cast<int>(args[1].integer());
  return make_string(to_json(context, args[0], indent));
}

Value to_json_builtin(Context& context, Args args) {
  const Value indent = args[1].is_nil() ? Value() : Value(expect_int(context, args[1], "the indent"));
  Value both[] = {args[0], indent};
  if (is_known(context, args[0])) return run_to_json(context, both);
  return context.runtime().effect(run_to_json, {both[0], both[1]});
}

Value flatten_tree_builtin(Context& context, Args args) { return flatten_tree(context, args[0]); }
Value unflatten_tree_builtin(Context& context, Args args) { return unflatten_tree(context, args[0]); }

constexpr Builtin kDataRows[] = {
    {"from_json", "from_json(text: str)",
     "what a JSON text says: objects as records, arrays as lists; `load` reads a .json file", from_json_builtin,
     "host"},
    {"to_json", "to_json(value: any, indent: int | nil in 0..=16 = nil)",
     "a value as a JSON text, in one line or with so many blanks for a level; `save` writes a .json file",
     to_json_builtin, "host"},
    {"flatten_tree", "flatten_tree(tree: record | map | list | tuple)",
     "a record of what nested records, lists and tuples hold, by dotted names: `blocks.0.weight`", flatten_tree_builtin,
     "host"},
    {"unflatten_tree", "unflatten_tree(record: record)",
     "the nested records and lists of a record with dotted names, such as PyTorch's: names with numbers from 0 on make "
     "a list",
     unflatten_tree_builtin, "host"},
};

}  // namespace

std::span<const Builtin> data_builtins() { return kDataRows; }

}  // namespace tsl
