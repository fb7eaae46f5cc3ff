// Builtin functions: C++ functions with a signature of the language.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace tsl {

class Context;
struct Signature;

/// The arguments of a builtin, bound to the parameters of its signature in order, with defaults filled in. If the
/// signature ends in `...name`, further positional arguments follow. Builtins may move out of `values`.
struct Args {
  std::span<Value> values;
  std::span<const Value> bound;  // BuiltinFunction::bound
  size_t positional;             // how many were given without a name; what follows in `values` has one or is a default
  const BuiltinFunction* callee = nullptr;  // the value that is called
  Value& operator[](size_t i) const { return values[i]; }
  size_t size() const { return values.size(); }
  // With a destructor, calls pass an address. A copy of what was just stored waits for the stores.
  ~Args() {}
};

struct Builtin {
  std::string_view name;
  /// The signature, such as "sum(x: array, axis: integers | nil = nil)": parameters with their types and limits, as in
  /// annotations, constant defaults, `...rest` last, and `-> type` for the result of a function of the host program.
  /// Parsed once; each call is checked against it before the function runs, and its result behind it.
  std::string_view signature;
  std::string_view doc;  // one line or more; shown by help()
  Value (*function)(Context&, Args);
  std::string_view family;  // "reduce", "host", …: a section of the reference
  /// The builtin calls bound[0] with its arguments: they are bound by the signature of that callable, and may be
  /// Value::absent() for parameters with defaults (signature.h).
  bool forwards = false;
  /// The first two arguments may be given in the other order, so that pipes work: xs |> map(f) is map(f, xs).
  bool may_swap = false;
  /// A call does more than to return a value (or to draw random numbers for it): it prints, writes, fails on purpose,
  /// or calls a function, which may. Set by with_effect().
  bool has_effect = false;
};

/// Marks a row of a table of builtins: a call of it whose value is not used is no mistake.
constexpr Builtin with_effect(Builtin row) {
  row.has_effect = true;
  return row;
}

/// How the names of the library's functions begin that builtins call for complex numbers: _complex_abs.
inline constexpr std::string_view kComplexForm = "_complex_";
/// The library's function that compiled assertions of allclose() call when they fail.
inline constexpr std::string_view kGreatestDifference = "_greatest_difference";
/// The library's function that round() calls for decimals.
inline constexpr std::string_view kRoundToDecimals = "_round_to_decimals";

/// A number that has a name.
struct Constant {
  std::string_view name;
  double value;
};

/// Code in the language that comes with the program: a module, or a part of the prelude, whose functions are builtins.
struct LibrarySource {
  std::string_view name;  // as imported: "nn"; parts of the prelude are "prelude" or "prelude/…"
  std::string_view text;
  bool is_prelude() const { return name.starts_with("prelude"); }
};

/// What the language has without any program. Analyses need no functions in the rows.
struct Library {
  std::vector<std::span<const Builtin>> builtins;
  std::span<const LibrarySource> sources;
  std::span<const Constant> constants = {};
  /// Returns the module of that name; null if there is none.
  const LibrarySource* module(std::string_view name) const;
  std::vector<std::string> module_names() const;
};

/// All builtins by name: C++ functions, dtypes, constants, and the composites of the prelude, which are written in TSL.
class Builtins {
 public:
  virtual ~Builtins() = default;
  /// Returns a builtin that needs no loading, a C++ function, a dtype or a constant; null if there is none.
  virtual const Value* native(Name name) const = 0;
  /// Returns the C++ function of that name, even if a dtype has the same name (bool).
  virtual const Value* row(std::string_view name) const = 0;
  /// Whether the builtin exists. Loads nothing.
  virtual bool contains(Name name) const = 0;
  /// Whether a call of the builtin does more than to return a value. Loads nothing.
  virtual bool has_effect(Name name) const = 0;
  /// Returns any builtin, after loading its part of the prelude if necessary; null if there is none.
  virtual const Value* find(Name name) = 0;
  /// Returns a text as a name of builtins.
  virtual Name name_of(std::string_view text) const = 0;
  /// Returns the keys of complex numbers, `re` and `im`, which make a record one.
  virtual const Ref<RecordKeys>& complex_keys() const = 0;
  /// Returns the type of the host program's values that has this name; null if there is none.
  virtual const ForeignType* foreign_type(Name name) const = 0;
  /// Returns the library's modules and the parts of its prelude.
  virtual std::span<const LibrarySource> library_sources() const = 0;
  /// All builtins, in alphabetical order.
  virtual std::vector<std::string> names() const = 0;

  /// Returns a builtin's signature, which is parsed at the first request.
  virtual const Signature& signature(const Builtin& builtin) = 0;
  /// Returns the signature that binds a call of `native`: that of the callable to which it forwards, if it does.
  virtual const Signature& signature(const BuiltinFunction& native) = 0;
};

}  // namespace tsl
