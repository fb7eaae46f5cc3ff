// Maps in a trace whose keys vary from run to run: each entry that the code asks for is an input of its own.
#pragma once

#include <deque>
#include <string>

#include "jit/trace_session.h"
#include "value/map.h"

namespace tsl::jit {

/// Returns the value that a source of the kind `entry` or `presence` reads from a map.
const Value& part_of(const Value& map, const InputSource& source);

/// The entries of a map that is an input of a trace.
class VaryingMap final : public InputEntries {
 public:
  VaryingMap(TraceSession& trace, const InputSource& source)
      : trace_(&trace), name_(source.name), origin_(source.origin) {}

  const Value* find(const Value& key) override;
  bool has(const Value& key) override;
  Value all() override;
  /// Called when all deferred values get their elements.
  void end_trace();

 private:
  /// What the trace has asked of the map, by key.
  struct Answers {
    MapKeys keys;
    std::deque<Value> values;  // their addresses stay
  };

  const Value& ask(InputSource::Kind kind, const Value& key, Answers& known);

  TraceSession* trace_;  // null: it has ended
  std::string name_;     // of the input
  Span origin_;
  Answers entries_, presences_;
  Value all_;  // nil: not asked for
};

}  // namespace tsl::jit
