// Collects the lines of the explain report, with its limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/recording.h"

namespace tsl::report {

/// The most lines of each kind that the report has of a region. The hottest come first.
struct ExplainLimits {
  size_t traces, segments, specialisations, eliminated, recomputed, missed, kernels, constants;
  size_t guards, groups;  // none: only their number, or what the kernels say of them
  size_t region;          // of a region in all
  size_t list;            // of the summary: regions, and kernels outside of them
  size_t ops;             // named in one line
  size_t width;           // columns of a line
};

/// A screen for each region.
inline constexpr ExplainLimits kScreenLimits{.traces = 6,
                                             .segments = 6,
                                             .specialisations = 1,
                                             .eliminated = 3,
                                             .recomputed = 3,
                                             .missed = 4,
                                             .kernels = 10,
                                             .constants = 2,
                                             .guards = 0,
                                             .groups = 0,
                                             .region = 40,
                                             .list = 20,
                                             .ops = 12,
                                             .width = 240};
inline constexpr size_t kNoLimit = ~size_t{0};
inline constexpr ExplainLimits kNoLimits{kNoLimit, kNoLimit, kNoLimit, kNoLimit, kNoLimit, kNoLimit, kNoLimit,
                                         kNoLimit, kNoLimit, kNoLimit, kNoLimit, kNoLimit, kNoLimit, kNoLimit};

class ExplainWriter {
 public:
  ExplainWriter(const ExplainLimits& limits, bool color) : limits_(limits), color_(color) {}

  const ExplainLimits& limits() const { return limits_; }
  const std::vector<std::string>& lines() const { return lines_; }
  /// Adds a line. What is too long for it is cut.
  void line(int indent, const std::string& text);
  /// Adds a line for each of the first `most` items, and says how many more there are; nothing if `most` is 0.
  template <class Items, class Text> void list(int indent, const Items& items, size_t most, Text&& text) {
    if (most == 0) return;
    size_t count = 0;
    for (const auto& item : items) {
      if (count++ == most) break;
      line(indent, text(item));
    }
    if (items.size() > most) more(indent, items.size() - most);
  }
  /// Says that so many more follow.
  void more(int indent, size_t count) { line(indent, "… " + std::to_string(count) + " more"); }
  /// Adds the lines of another writer, up to ExplainLimits::region.
  void add_region(const ExplainWriter& region);

  std::string bold(const std::string& text) const { return in_color("1", text); }
  std::string blue(const std::string& text) const { return in_color("1;34", text); }
  std::string warn(const std::string& text) const { return in_color("1;33", text); }

  /// Lists ops, each with the file and line where it is new: "add, mul (train.tsl:12), sum (train.tsl:13)".
  std::string list_of(const std::vector<OpRecord>& ops) const;

 private:
  std::string in_color(const char* code, const std::string& text) const {
    return color_ ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
  }

  const ExplainLimits& limits_;
  const bool color_;
  std::vector<std::string> lines_;
};

/// Formats a count: "1 kernel", "2 kernels".
std::string plural(uint64_t count, const char* noun);

/// Adds what is known of a region: traces, segments and specialisations.
void write_region(ExplainWriter& to, const RegionRecord& region);

/// Describes calls that other ops make in their place: "conv (net.tsl:4) is made of other ops, 2 times: no kernel".
std::string composition_text(const CompositionRecord& composition);

/// Formats a share of the run: "; 12.3 % of the run"; "" if it is unknown, or very small.
std::string share_text(double share);

/// Describes a kernel with its ops and times.
std::string kernel_text(const ExplainWriter& to, const KernelRecord& kernel);

}  // namespace tsl::report
