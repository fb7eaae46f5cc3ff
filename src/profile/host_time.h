// Where the host's own time went, by what samples have found: time that is neither a kernel's nor of any other row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/call_tree.h"
#include "profile/profile_table.h"

namespace tsl::report {

/// The interpreter's time on one call path.
struct HostShare {
  exec::Timeline::Id activity = 0;  // interpreting, or a named range
  uint32_t path = 0;                // of the view's call tree
  uint64_t samples = 0;
  double ticks = 0;
};
/// Returns the shares of all call paths, the longest first. None if there are too few samples to say anything.
std::vector<HostShare> host_shares(const ProfileView& view);

/// The interpreter's time in one function, or in a builtin that one calls.
struct HostFunction {
  std::string name;   // "step:12", as regions are named; "read_text()" for a builtin
  double own = 0;     // ticks outside of the functions that it calls
  double whole = 0;   // with them
  uint32_t line = 0;  // that takes most of its time with the builtins that it calls
  uint32_t source = 0;
  double at_line = 0;        // ticks there
  double with_builtins = 0;  // its own, and in the builtins that it calls
};
/// Returns the functions, the one with the most own time first.
std::vector<HostFunction> host_functions(const ProfileView& view);

/// Formats the last part of a path, and where it is: "interpreting  train.tsl:8", "interpreting  read_text()
/// train.tsl:8".
std::string host_label(const ProfileView& view, const HostShare& share);

/// Formats a part of a path as a frame of a stack: "step (train.tsl:8)".
std::string frame_text(const ProfileView& view, const CallNode& node);

/// Formats the call paths as folded stacks, a line each with the number of its samples, which flamegraph.pl and others
/// draw.
std::string folded_stacks(const ProfileView& view);

}  // namespace tsl::report
