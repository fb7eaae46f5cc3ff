// The builtins by name: C++ functions, dtypes, and the composites of the prelude, which are written in TSL and loaded
// on first use.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "value/builtin.h"
#include "value/signature.h"
#include "value/value.h"

namespace tsl {

class BuiltinTable final : public Builtins {
 public:
  using LoadPrelude = std::function<Ref<Module>(const LibrarySource&)>;

  /// `load` makes a module of a part of the prelude when one of its functions is asked for.
  BuiltinTable(Interner& names, const Library& library, LoadPrelude load);

  const Value* native(Name name) const override;
  const Value* row(std::string_view name) const override;
  bool contains(Name name) const override;
  bool has_effect(Name name) const override;
  const Value* find(Name name) override;
  Name name_of(std::string_view text) const override { return interner_.intern(text); }
  const Ref<RecordKeys>& complex_keys() const override { return complex_keys_; }
  const ForeignType* foreign_type(Name name) const override;
  std::span<const LibrarySource> library_sources() const override { return sources_; }
  std::vector<std::string> names() const override;
  const Signature& signature(const Builtin& builtin) override;
  const Signature& signature(const BuiltinFunction& native) override;

  /// Adds a function of the host program. Throws Failure (name) if there is a builtin of its name, (syntax) if its
  /// signature is none.
  void define(const Builtin& builtin);
  /// Adds a type of the host program's values. Throws Failure (name) if there is a type of its name, (syntax) if
  /// annotations could not name it.
  void define(const ForeignType& type);

 private:
  void add_rows(std::span<const Builtin> rows);

  Interner& interner_;
  const Ref<RecordKeys> complex_keys_;
  const LoadPrelude load_;
  const std::span<const LibrarySource> sources_;
  std::unordered_map<Name, Value> values_;  // C++ functions, dtypes, constants, and loaded composites
  std::unordered_map<Name, Value> rows_;
  std::unordered_map<Name, const LibrarySource*> prelude_;  // the source that defines each composite
  std::unordered_map<Name, const ForeignType*> foreign_types_;
  std::unordered_map<const Builtin*, Signature> signatures_;
  /// Signatures of builtins that were called last, by their address: each call asks for one.
  struct Recent {
    const Builtin* builtin = nullptr;
    const Signature* signature = nullptr;
  };
  Recent recent_[64];
};

}  // namespace tsl
