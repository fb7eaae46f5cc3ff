// What is shown of a profile: as tables, which --profile prints after a run, as JSON, and as a trace.
#pragma once

#include <compare>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "profile/memory_ledger.h"
#include "profile/profile.h"
#include "profile/roofline.h"
#include "profile/table_options.h"

namespace tsl::report {

class CallTree;
class Timings;

/// What a rank of a program of several did with the others, in seconds.
struct RankTimes {
  double waits = 0, passes = 0;  // for the others to make the same call, and for tensors to travel
  double unhidden = 0;           // of both, while no device computed
  uint64_t bytes = 0, calls = 0;
};

struct ProfileView {
  const exec::Timeline& timeline;
  const Profile& profile;
  const SourceMap& sources;
  std::string title;
  std::function<Roofline(Device)> roofline;
  bool color = false;
  const MemoryLedger* memory = nullptr;
  const Timings* timings = nullptr;
  TableOptions table = {};
  const CallTree* calls = nullptr;        // of the samples; null: there are none
  std::span<const RankTimes> ranks = {};  // of all ranks, if they have told each other
};

/// A line of the program, and whether it is in a forward or a backward pass.
struct ProfileLine {
  uint32_t source = 0, line = 0;
  bool is_backward = false;
  auto operator<=>(const ProfileLine&) const = default;
};

/// Returns the line of each op of a kernel; for other activities, and for kernels of eager ops, that of the call.
std::vector<ProfileLine> lines_of(const ProfileView& view, const ProfileRow& row);
/// Returns the lines of a row with the parts of its time that their ops take, which sum to 1; of a kernel of several
/// ops they are estimates. None if no line is known.
std::map<ProfileLine, double> line_parts(const ProfileView& view, const ProfileRow& row);
/// Returns the categories of a kernel's ops, with their parts of its time, likewise.
std::map<Category, double> category_parts(const ProfileView& view, const ProfileRow& row);
/// Formats a line of the program: "train.tsl:8".
std::string location_text(const ProfileView& view, const ProfileLine& line);
/// Formats the lines of a row: "train.tsl:8, 9, 12 (backward)".
std::string locations_text(const ProfileView& view, const ProfileRow& row);
/// Returns the text of a line of the program, without its indentation, as far as a table has room for it.
std::string_view code_of(const ProfileView& view, const ProfileLine& line);

/// Returns the category of a kernel. `origin`: of the call of an eager op.
Category category_of(const exec::Timeline& timeline, exec::Timeline::Id kernel, uint32_t origin);

/// A row of a table: several rows of the profile that are shown as one.
struct RowGroup {
  std::string label;
  const exec::Activity* kernel = nullptr;  // of all that the row shows; null: several, or none
  bool is_kernels = false;
  bool is_part = false;  // has a part of kernels' time only, so that the times of calls are not its own
  double share_ticks = 0, ticks = 0, bytes = 0, flops = 0;
  uint64_t calls = 0, least_ticks = 0, most_ticks = 0;
  Sample sample;
};
/// Returns the rows of the profile in groups and in order, as the view's options say.
std::vector<RowGroup> row_groups(const ProfileView& view);

/// Formats the tables: by kernel and activity, by category, by line, by region, and what they mean in words.
std::string profile_text(const ProfileView& view);

/// Formats what a profile means in words. `is_above_roof`: a row of the table is faster than its device's limits.
std::string verdicts_text(const ProfileView& view, bool is_above_roof);

/// Formats all rows, regions and unused results as JSON. docs/profiling.md describes the keys.
std::string profile_json(const ProfileView& view);

/// Writes the kept events in Chrome's trace format (about:tracing, ui.perfetto.dev): scopes of the host, the phases of
/// compiling, kernels and copies of each device with their lines, and arrows from each launch to its kernel and from
/// forward kernels to their backward ones. A last event says if the trace is cut.
void write_trace(const ProfileView& view, std::ostream& out);
/// Where the tracks of a rank are in a trace of several, and how many seconds after its beginning the rank's begin.
struct TracePlace {
  int rank = -1;  // -1: there is no other
  double begin = 0;
};
/// Writes the events of one rank, of which joined_traces() makes a trace.
void write_trace_events(const ProfileView& view, const TracePlace& place, std::ostream& out);
std::string joined_traces(std::span<const std::string> events);

/// Sums up what the profile says of other ranks.
RankTimes rank_times(const ProfileView& view);
/// Says in words what the rank passes and waits for, and which rank is the slowest. Nothing of a rank that is alone.
std::vector<std::string> rank_verdicts(const ProfileView& view);

/// Formats a number that is not negative with three significant digits.
std::string digits(double value);

/// Formats seconds with three digits: "12.3 ms".
std::string duration_text(double seconds);

}  // namespace tsl::report
