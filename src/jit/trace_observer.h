// The interface that watches regions being traced: for logs and reports. Notes hold text and positions only, so an
// observer keeps no value of the program alive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace tsl::jit {

/// Names a region.
struct RegionNote {
  const void* declaration = nullptr;  // the same for all regions of a function or a loop
  std::string name;                   // "step:12"
  std::string title;                  // "step (train.tsl:12)"
  Span span;                          // of the declaration
  Span extent;                        // of the whole function or loop
  bool is_loop = false;
  std::string function;  // that it is, or is in; "" for a loop outside of functions
};

/// A variable, or a part of one, that code depends on.
struct VariableNote {
  std::string name;  // "n", "params.lr", "x.shape[0]"
  Span origin;       // of its declaration; not valid if it has none
};

/// A property that must hold again before a segment runs.
struct GuardNote {
  VariableNote variable;
  std::string condition;   // "is tensor f32[3]", "n > 2 is true"
  std::string reason;      // a number: what its value decides: "branch", "size", "index"; "" for others
  Span needed;             // a number: the position that needed the value
  double nanoseconds = 0;  // estimated cost of a check
};

/// Why a region is traced.
struct TraceReason {
  std::string text;           // "first call", "n was 3, is 5": the parts below as a sentence, without positions
  VariableNote variable;      // what has changed, if that is known
  std::string before, after;  // its values
  std::string condition;      // a number: what no longer holds: "n > 2 was false, is true"
  Span needed;                // a number: the position that needed the value
  uint32_t interpreted = 0;   // calls that are interpreted before the next trace
};

/// What a segment ends with.
enum class SegmentEndKind : uint8_t { host_read, effect, other_device, copy, too_many_nodes, fallible, end };
const char* name_of(SegmentEndKind kind);

struct SegmentNote {
  uint32_t plans = 0;  // number of its plans among those of the declaration; kNoPlans if it computes no tensors
  SegmentEndKind end = SegmentEndKind::end;
  Span span;       // of the operation that ends it
  std::string op;  // host read: the op whose result is read; "" if it is an input
  Span op_span;
  std::vector<GuardNote> guards;  // checked before it
  static constexpr uint32_t kNoPlans = ~0u;
};

/// A call that its op's definition makes.
struct CompositionNote {
  std::string_view op;
  std::string_view reason;  // as Ops::no_kernel() says it
  Span span;                // of the call
  bool is_backward = false;
};

/// A graph that is about to be compiled.
struct SpecialisationNote {
  std::string name;    // "step:12#0"
  uint32_t plans = 0;  // as in SegmentNote
  std::string sizes;   // "x.shape[0] = 64": the symbolic sizes that it is compiled for; "" if there are none
};

enum class RunKind : uint8_t { replayed, traced, interpreted };

class TraceObserver {
 public:
  virtual ~TraceObserver() = default;
  /// Called for each call of a region, and each iteration of a loop's body.
  virtual void on_run(const void* /*declaration*/, RunKind) {}
  virtual void on_trace(const RegionNote&, const TraceReason&) {}
  /// Called when a new segment has been computed.
  virtual void on_segment(const RegionNote&, const SegmentNote&) {}
  /// Called when a trace ends before its region. The next `calls` calls that fit no trace path are interpreted.
  virtual void on_abort(const RegionNote&, const std::string& /*reason*/, Span, uint32_t /*calls*/) {}
  /// Called once for each reason why calls of a function with @compile do not run as compiled code.
  virtual void on_limit(const RegionNote&, const std::string& /*reason*/, Span) {}
  /// Called for each call that other ops make in its place, before they are recorded. Null: outside of regions.
  virtual void on_composition(const RegionNote*, const CompositionNote&) {}
  virtual void on_specialisation(const RegionNote&, const SpecialisationNote&) {}
  /// Called when the code of a region is freed: another one may have the same address later.
  virtual void on_forgotten(const void* /*declaration*/) {}
};

/// A list of observers.
class TraceObservers {
 public:
  void add(TraceObserver& observer) { all_.push_back(&observer); }
  bool empty() const { return all_.empty(); }
  /// Calls visit(observer) for each.
  template <class Visit> void each(Visit&& visit) const {
    for (TraceObserver* observer : all_) visit(*observer);
  }

 private:
  std::vector<TraceObserver*> all_;
};

}  // namespace tsl::jit
