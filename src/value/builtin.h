// Builtin functions: C++ behind a signature of the language.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace tsl {

class Context;
struct Signature;

/// Arguments of a builtin, bound to the parameters of its signature in order: named arguments are in place,
/// defaults filled in. For a signature that ends in `...name`, further positional arguments follow.
/// Builtins may move out of `values`.
struct Args {
  std::span<Value> values;
  std::span<const Value> bound;  // BuiltinFunction::bound
  size_t positional;             // how many were given without a name; what follows in `values` has one or is a default
  Value& operator[](size_t i) const { return values[i]; }
  size_t size() const { return values.size(); }
};

struct Builtin {
  std::string_view name;
  /// "sum(x, axis = nil, keepdims = false)": parameters, constant defaults, `...rest` last. Parsed once.
  std::string_view signature;
  std::string_view doc;  // one line or more; shown by help()
  Value (*function)(Context&, Args);
  std::string_view family;  // "reduce", "host", …: a heading of the reference
  /// Calls bound[0] with the arguments it is given: they are bound by the signature of that callable, and those it
  /// has defaults for may be Value::absent() (signature.h).
  bool forwards = false;
};

/// All builtins by name: C++ functions, dtypes, and the composites of the prelude, which are written in TSL.
class Builtins {
 public:
  virtual ~Builtins() = default;
  /// A builtin that needs no loading: a C++ function or a dtype. Null if there is none.
  virtual const Value* native(Name name) const = 0;
  /// The C++ function of that name, even if a dtype has the name too (bool).
  virtual const Value* row(std::string_view name) const = 0;
  /// Whether there is such a builtin. Loads nothing.
  virtual bool contains(Name name) const = 0;
  /// Any builtin; loads its part of the prelude if need be. Null if there is none.
  virtual const Value* find(Name name) = 0;
  /// All of them, in alphabetical order.
  virtual std::vector<std::string> names() const = 0;

  /// A builtin's signature, parsed when first asked for.
  virtual const Signature& signature(const Builtin& builtin) = 0;
  /// What a call of `native` is bound by: the signature of what it forwards to, if it does.
  virtual const Signature& signature(const BuiltinFunction& native) = 0;
};

}  // namespace tsl
