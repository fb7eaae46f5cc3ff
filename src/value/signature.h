// Signatures of functions and builtins, and binding a call's arguments to them.
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

/// The annotated type of a parameter or a result: `f32[b, 64]`, `[b, n]`, `f32`, `int`, …
struct ValueType {
  struct Dim {
    int64_t size = -1;    // >= 0 for a literal
    Name name = nullptr;  // null for a literal or `_`
    uint16_t reg = 0;     // for a name: the register that holds its value
  };
  std::string kind;  // a name that type() returns; "" for a tensor annotation
  std::optional<DType> dtype;
  bool has_shape = false;
  std::vector<Dim> dims;
};

struct ParameterInfo {
  Name name = nullptr;
  bool has_default = false;
  Value default_value;  // for builtins; functions of the language compute their defaults
  std::optional<ValueType> type;
};

struct Signature {
  std::string function;  // the function's name, for messages
  std::vector<ParameterInfo> parameters;
  bool has_rest = false;  // for builtins: further positional arguments are collected
  std::optional<ValueType> result;
  std::vector<uint16_t> dim_registers;  // registers of all dimension names
};

/// The form of a call's arguments: `positional` ones without names, then one for each name.
struct CallShape {
  uint16_t positional = 0;
  std::vector<Name> names;
  uint16_t count() const { return static_cast<uint16_t>(positional + names.size()); }
};

/// The part of a function that is visible outside the interpreter; Proto adds its code (bytecode.h).
struct FunctionInfo {
  Name name = nullptr;  // null for a lambda
  std::string doc;
  Span span;  // of the declaration
  bool is_module = false;
  Signature signature;
  /// Returns the name for messages: "f", "<main>" or "<lambda>".
  std::string display_name() const;
};

/// Parses a builtin's signature: "sum(x, axis = nil, keepdims = false)", "print(...values)".
Signature parse_signature(std::string_view text, Interner& names);

/// Orders `given` arguments, the last of which are named by `shape`, by parameters: slots[i] becomes parameter i,
/// absent if it was not given and has a default. Throws Failure (type) for arguments that do not match. `slots` must
/// have room for all parameters. Returns the number of arguments in `slots`, which exceeds the number of parameters
/// only with has_rest. A null `shape` means that all arguments are positional.
size_t bind_arguments(const Signature& signature, Value* slots, size_t given, const CallShape* shape);

/// Checks parameter `index` in `frame` (its registers) against its annotation, and binds the dimension names that occur
/// for the first time. Throws Failure (type, shape).
void check_parameter(const Signature& signature, size_t index, Value* frame);
/// Checks all given parameters. `frame` has the registers of a new frame.
void check_parameters(const Signature& signature, Value* frame);
void check_result(const Signature& signature, const Value& result, Value* frame);

}  // namespace tsl
