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

class Context;
class Interner;

/// A kind of value, as annotations name it: a type, or several types that many functions take.
struct ValueKind {
  const char* name;
  uint32_t tags;               // values with these tags fit, whatever they hold (tag_bit())
  bool (*fits)(const Value&);  // whether a value with another tag fits; null: it does not
  uint32_t others = 0;         // the tags of the values that `fits` may accept
};
/// Returns the kind of that name, such as "int" or "integers"; null if there is none.
const ValueKind* kind_named(std::string_view name);

inline constexpr uint32_t tag_bit(Tag tag) { return uint32_t{1} << static_cast<int>(tag); }

/// Where a number must lie.
struct NumberLimits {
  std::optional<double> low, high;
  bool is_closed = false;  // whether `high` itself is allowed
  bool is_open = false;    // whether `low` itself is not
};

struct ValueType;

/// One alternative of a type: a kind, which may say what it holds (`list[int]`, `{x: f32}`), a tensor (`f32[b, 64]`,
/// `[b, n]`, `f32`), a type of the host program, or a string that is spelled out.
struct TypeAlternative {
  struct Dim {
    int64_t size = -1;           // >= 0 for a literal
    Name name = nullptr;         // null for the others, and for `_`
    uint16_t reg = 0;            // for a name: the register that holds its value
    bool is_ellipsis = false;    // `...`: any number of sizes
    std::optional<ScalarOp> op;  // of an expression such as 2 * n
    std::vector<Dim> operands;
  };
  const ValueKind* kind = nullptr;       // null for the others
  Name text = nullptr;                   // for a string
  const ForeignType* foreign = nullptr;  // for a type of the host program
  std::optional<DType> dtype;            // of a tensor, or of the parts of a complex one
  bool is_complex = false;               // of parts of that dtype
  bool has_shape = false;
  std::vector<Dim> dims;
  bool has_parts = false;
  std::vector<ValueType> parts;  // of a list, tuple, map or record, or the parameters of a function and its result
  std::vector<Name> fields;      // of a record: the name of each part
  bool has_result = false;       // of a function: whether its last part is the result
  bool is_function() const { return has_parts && kind->tags & tag_bit(Tag::function); }
  /// Whether one of the sizes is `...`.
  bool has_any_rank() const;
};

/// The annotated type of a parameter or a result: `f32[b, 64]`, `int | nil`, `list | "all"`, `float in 0..=1`, …
struct ValueType {
  std::vector<TypeAlternative> alternatives;
  std::optional<NumberLimits> limits;  // of numbers, and of those in lists and tensors
};

/// Calls visit(dim) for each name of a dimension that has a register, also in the parts of a type.
template <class Visit> void visit_dim_names(const ValueType& type, Visit&& visit) {
  const auto visit_dim = [&](const TypeAlternative::Dim& dim, const auto& self) -> void {
    if (dim.name) visit(dim);
    for (const TypeAlternative::Dim& operand : dim.operands) self(operand, self);
  };
  for (const TypeAlternative& each : type.alternatives) {
    for (const TypeAlternative::Dim& dim : each.dims) visit_dim(dim, visit_dim);
    if (each.is_function()) continue;
    for (const ValueType& part : each.parts) visit_dim_names(part, visit);
  }
}

struct ParameterInfo {
  Name name = nullptr;
  uint32_t tags = kAnyTag;    // values with these tags need no further check
  bool takes_arrays = false;  // lists of numbers, too
  bool has_default = false;
  Value default_value;  // for builtins; functions of the language compute their defaults
  Span default_span;    // of the default in the source; for functions of the language
  std::optional<ValueType> type;

  static constexpr uint32_t kAnyTag = ~tag_bit(Tag::absent);
  /// Sets the type, and `tags` and `takes_arrays` from it.
  void set_type(ValueType annotated);
  /// Whether a value was given and needs no further check.
  bool accepts_tag(const Value& value) const { return tags >> static_cast<int>(value.tag()) & 1; }
};

struct Signature {
  std::string function;              // the function's name, for messages
  bool knows_complex_lists = false;  // takes lists of complex numbers itself, if it is of the library
  std::vector<ParameterInfo> parameters;
  std::optional<ParameterInfo> rest;  // for builtins: takes further positional arguments
  size_t named_only = 0;              // how many of the parameters follow `rest`: they are given by name alone
  std::optional<ValueType> result;
  std::vector<uint16_t> dim_registers;  // registers of all dimension names
  /// Sets the name, and `knows_complex_lists` from it.
  void set_function(std::string name);
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
  bool is_dtype = false;  // c64 and c128 of the prelude: see is_complex_dtype()
  Signature signature;
  /// Returns the name for messages: "f", "<main>" or "<lambda>".
  std::string display_name() const;
};

/// Orders `given` arguments, the last of which are named by `shape`, by parameters: slots[i] becomes parameter i,
/// absent if it was not given and has a default. Throws Failure (type) for arguments that do not match. `slots` must
/// have room for all parameters and arguments. Returns the number of arguments in `slots`, which exceeds the number of
/// parameters only with a `rest`. A null `shape` means that all arguments are positional.
size_t bind_arguments(const Signature& signature, Value* slots, size_t given, const CallShape* shape);

/// Describe a type: as it is written in an annotation, and in words ("an int or nil").
std::string annotation_text(const ValueType& type);
std::string describe(const ValueType& type);
std::string dim_text(const TypeAlternative::Dim& dim);

/// Formats a function as it is declared: "scaled(x, factor: float = 2)". Defaults are as they are in its source.
std::string declaration_text(const FunctionInfo& function, const SourceMap& sources);

/// Checks parameter `index` in `frame` (its registers) against its annotation, and binds the dimension names that occur
/// for the first time. Throws Failure (type, shape, value) that names the parameter.
void check_parameter(Context&, const Signature& signature, size_t index, Value* frame);
/// Checks all given parameters. `frame` has the registers of a new frame.
void check_parameters(Context&, const Signature& signature, Value* frame);
/// Checks an argument for `...name`.
void check_rest(Context&, const Signature& signature, Value& argument);
void check_result(Context&, const Signature& signature, const Value& result, Value* frame);
/// Whether a value fits the type of a parameter without dimension names.
bool fits(const ParameterInfo& parameter, const Value& value);

/// What a function's own annotations say otherwise than those of a function that is expected.
struct Contradiction {
  const ParameterInfo* parameter = nullptr;  // null: of the result
  const ValueType* own = nullptr;
  const ValueType* wanted = nullptr;
};
/// Returns where no value fits both what is written in a function's signature and in the type `fn(…) -> …`, if there is
/// such a place.
std::optional<Contradiction> contradiction(const Signature& signature, const TypeAlternative& function);

/// Returns the position of parameter `name` among a call's `given` arguments; -1 if it is not given.
int argument_position(const Signature& signature, std::string_view name, size_t given, const CallShape* shape);

}  // namespace tsl
