// What names mean at a place in a source, and how that is described.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cursor.h"
#include "analysis/declared_values.h"
#include "analysis/names.h"

namespace tsl::analysis {

struct ByteRange {
  size_t begin, end;
};

/// What is called, as far as it is known.
struct Callee {
  const Value* function = nullptr;  // null: not known
  bool has_receiver = false;        // x.f(…), x |> f(…): the first parameter is given before the brackets
};

/// The names that a text declares, and those around it.
class Meanings {
 public:
  Meanings(Names& names, std::string_view text, const std::string& path)
      : names_(names), declared_(names, std::string(text), path) {}

  /// Returns the value of a name, or of `a.b.c`; null if it is not known.
  const Value* find(std::string_view name);
  const Value* find(std::span<const std::string_view> path);
  /// Returns what is called before an opening bracket.
  Callee callee(const Cursor& cursor, size_t bracket);
  const DeclaredValues& declared() const { return declared_; }

 private:
  Names& names_;
  const DeclaredValues declared_;
};

/// Returns how what is called is declared: "sum(x: array, axis: integers | nil = nil)"; "" for other values.
std::string declaration_of(Names& names, const Value& callee);
/// Returns where the parameters are in a declaration.
std::vector<ByteRange> parameter_ranges(const std::string& declaration);
/// Returns the documentation of a function or a module; "" if there is none.
std::string_view documentation_of(const Value& value);

}  // namespace tsl::analysis
