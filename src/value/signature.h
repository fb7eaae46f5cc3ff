// Signatures: what functions and builtins take, and binding the arguments of a call to it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/intern.h"
#include "base/source.h"
#include "tensor/dtype.h"
#include "value/value.h"

namespace tsl {

class Interner;

/// What a parameter or a result must be: `f32[b, 64]`, `[b, n]`, `f32`, `int`, …
struct ValueType {
  struct Dim {
    int64_t size = -1;    // >= 0 for a literal
    Name name = nullptr;  // null for a literal or `_`
    uint16_t reg = 0;     // of a name: the register that holds it
  };
  std::string kind;  // as type() names it; "" for a tensor annotation
  std::optional<DType> dtype;
  bool has_shape = false;
  std::vector<Dim> dims;
};

struct ParameterInfo {
  Name name = nullptr;
  bool has_default = false;
  Value default_value;  // of builtins; functions of the language compute theirs
  std::optional<ValueType> type;
};

struct Signature {
  std::string function;  // for messages
  std::vector<ParameterInfo> parameters;
  bool has_rest = false;  // of builtins: further positional arguments are collected
  std::optional<ValueType> result;
  std::vector<uint16_t> dim_registers;  // of all dimension names
};

/// The names of a call's arguments: `positional` without, then one per name.
struct CallShape {
  uint16_t positional = 0;
  std::vector<Name> names;
  uint16_t count() const { return static_cast<uint16_t>(positional + names.size()); }
};

/// What a function of the language shows to others; its code adds the rest (bytecode.h).
struct FunctionInfo {
  Name name = nullptr;  // null for a lambda
  std::string doc;
  Span span;  // of the declaration
  bool is_module = false;
  Signature signature;
  /// "f", "<main>" or "<lambda>"
  std::string display_name() const;
};

/// Parses a builtin's signature: "sum(x, axis = nil, keepdims = false)", "print(...values)".
Signature parse_signature(std::string_view text, Interner& names);

/// Puts `given` arguments, whose last ones are named by `shape`, in the order of the parameters: slots[i] becomes
/// parameter i, absent if it was not given and has a default. Throws Failure (type) for arguments that do not fit.
/// `slots` must have room for all parameters. Returns the number of arguments then in `slots` (more than there are
/// parameters only with has_rest). `shape` may be null: all arguments are positional.
size_t bind_arguments(const Signature& signature, Value* slots, size_t given, const CallShape* shape);

/// Checks parameter `index` in `frame` (its registers) against its annotation, binding the dimension names it is
/// the first to use. Throws Failure (type, shape).
void check_parameter(const Signature& signature, size_t index, Value* frame);
/// Checks all given parameters; called with a fresh frame's registers.
void check_parameters(const Signature& signature, Value* frame);
void check_result(const Signature& signature, const Value& result, Value* frame);

}  // namespace tsl
