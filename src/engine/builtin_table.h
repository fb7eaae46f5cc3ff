// All builtins of an engine by name: C++ functions, dtypes, and the composites of the prelude, which are written in
// TSL and loaded when one of them is first used.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "value/builtin.h"
#include "value/signature.h"
#include "value/value.h"

namespace tsl {

class Engine;
struct EmbeddedSource;

class BuiltinTable {
 public:
  explicit BuiltinTable(Engine& engine);

  /// A builtin that needs no loading: a C++ function or a dtype. Null if there is none.
  const Value* native(Name name) const;
  /// The C++ function of that name, even if a dtype has the name too (bool).
  const Value* row(std::string_view name) const;
  /// Whether there is such a builtin. Loads nothing.
  bool contains(Name name) const;
  /// Any builtin; loads its part of the prelude if need be. Null if there is none.
  const Value* find(Name name);
  std::vector<std::string> names() const;

  /// A builtin's signature, parsed when first asked for.
  const Signature& signature(const Builtin& builtin);
  /// What a call of `native` is bound by: the signature of what it forwards to, if it does.
  const Signature& signature(const Native& native);

 private:
  void add_rows(std::span<const Builtin> rows);
  void scan_prelude(const EmbeddedSource& source);

  Engine& engine_;
  std::unordered_map<Name, Value> values_;  // C++ functions, dtypes, and what has been loaded
  std::unordered_map<Name, Value> rows_;
  std::unordered_map<Name, const EmbeddedSource*> prelude_;  // where composites are defined
  std::unordered_map<const Builtin*, Signature> signatures_;
};

}  // namespace tsl
