// The profile as a trace that Chrome (about:tracing) and Perfetto (ui.perfetto.dev) show.
#pragma once

#include <iosfwd>

#include "report/profile_table.h"

namespace tsl::report {

/// Writes the kept events in Chrome's trace format: scopes of the host, kernels and copies of each device with their
/// lines, and an arrow from each launch to its kernel. A last event says if the trace is cut.
void write_trace(const ProfileView& view, std::ostream& out);

}  // namespace tsl::report
