// Describes guards to people: names the variables that they are about, and says which one failed, and how.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/trace_observer.h"
#include "jit/trace_session.h"

namespace tsl::jit {

/// The variables behind the symbols of a trace.
class SymbolNames {
 public:
  /// `sources` is for the text of host reads.
  explicit SymbolNames(const SourceMap& sources) : sources_(sources) {}
  /// Adds the inputs of a segment that has run, and its host reads, which are named by their expressions.
  void add(const Segment& segment);
  void add(const std::vector<InputSource>& inputs);
  /// Returns the variable of an input symbol.
  VariableNote variable(const Symbol& symbol) const;
  /// Formats a value of an input symbol: "3". Identities have no text but that of their type.
  std::string value_text(const Symbol& symbol, Scalar value) const;
  /// Formats an expression: "n + 1 > 2".
  std::string text(const Symbol& symbol) const;

 private:
  const SourceMap& sources_;
  std::map<uint32_t, VariableNote> names_;          // by id
  std::map<uint32_t, const ForeignType*> foreign_;  // of identities, likewise
};

/// Describes all guards of a segment.
std::vector<GuardNote> describe_guards(const std::vector<InputSource>& inputs, const std::vector<SymbolGuard>& guards,
                                       const SymbolNames& names);

/// What a run fails of a trace.
struct Difference {
  TraceReason reason;  // no text: nothing
  size_t held = 0;     // guards that held before
};

/// Describes the guard of `segment` that a run with these values of symbols fails.
Difference describe_failure(const Segment& segment, const Run& run, const SymbolNames& names);

/// Describes the first difference between a value and the guards of an input.
Difference describe_difference(const Value& value, const InputSource& input);

/// Formats a reason with its positions: "n (train.tsl:8) was 3, is 5; `n > 4` was false, is true (train.tsl:9)".
std::string to_text(const TraceReason& reason, const SourceMap& sources);
/// Formats a guard with its positions: "x (train.tsl:8) is tensor f32[3], about 6 ns".
std::string to_text(const GuardNote& guard, const SourceMap& sources);

/// Formats what is at a position: "float(loss)". Long text is cut.
std::string excerpt(const SourceMap& sources, Span span);

}  // namespace tsl::jit
