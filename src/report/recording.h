// What one run has traced and compiled, as plain data. An observer fills a Recording, and the renderers (explain, the
// dump, the page) read nothing else: no engine, no graph, no sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tsl::report {

/// A position in the program.
struct Location {
  std::string file;
  uint32_t line = 0;   // from 1; 0: unknown
  std::string source;  // the expression there, or the line if it has none

  bool valid() const { return line > 0; }
  friend bool operator==(const Location&, const Location&) = default;
};

/// Formats a location: "train.tsl:12"; "?" if it is unknown.
inline std::string to_string(const Location& location) {
  return location.valid() ? location.file + ":" + std::to_string(location.line) : "?";
}

/// A property that must hold again before a segment runs.
struct GuardRecord {
  std::string variable;    // "x", "params.lr"
  Location origin;         // the declaration of the variable
  std::string condition;   // "is a tensor f32[3]", "n > 2 is true"
  std::string reason;      // why code depends on a number: "branch", "size", "index"
  Location needed;         // the line that needed the number
  double nanoseconds = 0;  // estimated cost of each check
  std::string text;        // all of this as a sentence
};

/// The end of a trace that did not reach the end of its region.
struct AbortRecord {
  std::string reason;
  Location location;
  uint32_t calls = 0;  // interpreted before the next trace
};

struct TraceRecord {
  std::string reason;                   // "first call", "n (train.tsl:8) was 3, is 5"
  std::string variable, before, after;  // the variable that changed, if one did
  Location origin;                      // its declaration
  Location needed;                      // the line that needed its value
  std::vector<uint32_t> segments;       // recorded by this trace, by number
  std::vector<AbortRecord> aborts;
};

struct SegmentRecord {
  uint32_t number = 0;   // of the region's, from 1
  uint32_t plans = 0;    // number of its plans; ~0: it computes no tensors
  std::string end;       // "host read", "effect", "another device", "too many nodes", "end", "abort"
  std::string op;        // host read: the op whose result is read
  Location op_location;  // and its position
  Location location;     // of what ended the segment
  std::vector<GuardRecord> guards;
};

/// An op of the program.
struct OpRecord {
  std::string name;
  Location location;
  bool is_backward = false;
  double part = 0;  // in a kernel: of its time, as its cost is estimated

  friend bool operator==(const OpRecord&, const OpRecord&) = default;
};

/// What a kernel took during the run, if that was profiled.
struct KernelTimes {
  uint64_t calls = 0;  // 0: it did not run, or the run was not profiled
  double seconds = 0;
  double first_seconds = 0;  // of these, the first call
  double least_seconds = 0;  // of the fastest call
  double share = 0;          // of the whole run: 0 to 1
};

/// What the calls of a region took, if the run was profiled.
struct RegionTimes {
  uint64_t calls = 0;
  double first_seconds = 0;   // may include tracing and compiling
  double median_seconds = 0;  // of later calls
  double seconds = 0;         // of all calls
  double share = 0;           // of the whole run: 0 to 1
};

/// What the cost model says of a kernel's launch, beside what that took: a launch may have several kernels.
struct Prediction {
  double seconds = 0;   // 0: not known
  double measured = 0;  // of the fastest call of each kernel, so that others on the machine do not count
  uint32_t kernels = 1;
  uint64_t calls = 0;

  /// How much longer it took; 0: not known.
  double ratio() const { return seconds > 0 ? measured / seconds : 0; }
};

struct KernelRecord {
  std::string symbol;    // the unique name, as in a profiler
  std::string name;      // "mul_add_sum"
  std::string category;  // "row reduction"
  std::string types;     // "f32[4096, 1024] -> f32[4096]"
  uint64_t bytes = 0, flops = 0;
  uint32_t launch = 0;
  std::vector<OpRecord> ops;
  int64_t blocks = 0;
  int threads = 0;
  int registers = -1;  // -1 here and below: unknown
  int64_t spilled = -1, shared = -1;
  double occupancy = -1;
  std::string choice;  // the launch parameters that were found best; "": the usual ones
  std::string
      candidates;  // of an op that is never fused: "vector (of matrices), cuBLASLt: taken"; "" if there is no choice
  bool has_inputs = true;  // false: computes constants, in every run
  std::string ir;          // the kernel IR
  std::string code;        // generated code; "" if there is none
  std::string prelude;     // what the code needs in front of it to compile alone
  KernelTimes times;
  Prediction prediction;
};

struct GroupRecord {
  std::string kind;  // "pointwise", "row", "reduce", "op"
  std::string loops;
  std::vector<OpRecord> ops;
};

/// A reason why two ops are in different kernels.
struct MissedFusion {
  OpRecord producer, consumer;
  std::string reason;
  uint32_t from = 0, into = 0;  // the groups, by number
};

/// Calls of an op at one line that its definition makes: other ops run in their place.
struct CompositionRecord {
  OpRecord op;
  std::string reason;  // why no kernel runs them
  uint64_t calls = 0;  // in traces, and without compiled code

  bool is_like(const CompositionRecord& other) const { return op == other.op && reason == other.reason; }
};

/// What recompute() decided about an op.
struct RecomputeRecord {
  OpRecord op;
  std::string decision;
};

/// A sum over ranks that a plan makes.
struct SumRecord {
  OpRecord op;
  std::string type;  // "bf16[7087872]"
  uint64_t bytes = 0;
  uint32_t beside = 0;  // later launches of the plan, before the first that needs the sum
};

struct MemoryRecord {
  uint64_t arena = 0;        // bytes for all temporaries
  uint64_t temporaries = 0;  // bytes of all temporaries, if none shared memory
  uint64_t inputs = 0, outputs = 0;
  uint32_t aliases = 0;    // buffers that use the memory of another one
  uint32_t donations = 0;  // outputs that may reuse an input
};

/// The graph of the device that launches a plan's kernels.
struct DeviceGraphRecord {
  size_t calls = 0;  // kernels, copies and calls of libraries in it; 0: there is none
  size_t alone = 0;  // ops beside it
  uint32_t made = 0, updated = 0;
  bool is_timed = false;  // without it, the profile launches none
  std::string why_not;    // the last run had none; "": it had one, or the device has no graphs
};

/// One text of the compiler's work, by its stage: "02-graph".
struct StageText {
  std::string name;
  std::string text;
};

struct SpecialisationRecord {
  std::string name;    // "step:12#0"
  uint32_t plans = 0;  // those of the segment with this number of plans
  std::string sizes;   // for which it was compiled: "x.shape[0] = 64"; "" if no size is a symbol
  uint32_t ops_recorded = 0, ops_compiled = 0;
  std::vector<StageText> stages;
  std::vector<OpRecord> eliminated;
  std::vector<RecomputeRecord> recomputed;
  std::vector<GroupRecord> groups;
  std::vector<MissedFusion> missed;
  std::vector<KernelRecord> kernels;
  std::vector<SumRecord> sums;
  MemoryRecord memory;
  DeviceGraphRecord device_graph;
  std::string graphviz;
  std::string plan_json;  // what is needed to run its kernels alone
};

/// A reason why calls of a function with @compile do not run as compiled code.
struct LimitRecord {
  std::string reason;
  Location location;
};

/// A function or a loop body that is compiled as a whole, with all that its calls have made.
struct RegionRecord {
  const void* declaration = nullptr;  // its identity
  std::string name;                   // "step:12"
  std::string function;               // that it is, or is in: "step"; "" for a loop outside of functions
  bool is_loop = false;
  Location location;
  uint32_t last_line = 0;  // of the declaration
  std::string tree;        // its syntax tree as canonical text
  uint64_t replays = 0, traced_calls = 0, interpreted_calls = 0;
  uint32_t earlier_paths = 0;  // traced before the recording began, which knows no more about them
  RegionTimes times;
  std::vector<LimitRecord> limits;
  std::vector<TraceRecord> traces;
  std::vector<SegmentRecord> segments;
  std::vector<CompositionRecord> compositions;
  std::vector<SpecialisationRecord> specialisations;
};

/// A file that regions come from.
struct SourceRecord {
  std::string file;
  std::string text;
};

struct Recording {
  std::vector<RegionRecord> regions;  // in the order of their first calls
  std::vector<SourceRecord> sources;
  std::string compiles;                         // what was to be compiled: "all", "annotated" or "nothing"
  std::string why_not;                          // why nothing is compiled; "": something may be
  uint32_t eager_plans = 0;                     // compiled for ops outside regions
  std::vector<KernelRecord> eager_kernels;      // of these ops, the one that took most time first, if that was profiled
  std::vector<CompositionRecord> compositions;  // outside regions
  std::string cache_key;                        // what compiled code depends on besides the program, a line each
  std::string counters;                         // of the device after the run
};

}  // namespace tsl::report
