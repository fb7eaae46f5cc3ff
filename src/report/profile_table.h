// The tables of a profile: what --profile prints after a run.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <vector>

#include "base/source.h"
#include "report/memory_ledger.h"
#include "report/profile.h"
#include "report/roofline.h"

namespace tsl::report {

struct ProfileView {
  const exec::Timeline& timeline;
  const Profile& profile;
  const SourceMap& sources;
  std::string title;
  std::function<Roofline(Device)> roofline;
  bool color = false;
  const MemoryLedger* memory = nullptr;
};

/// A line of the program, and whether it is in a forward or a backward pass.
struct ProfileLine {
  uint32_t source = 0, line = 0;
  bool is_backward = false;
  auto operator<=>(const ProfileLine&) const = default;
};

/// Returns the line of each op of a kernel; for other activities, and for kernels of eager ops, that of the call.
std::vector<ProfileLine> lines_of(const ProfileView& view, const ProfileRow& row);

/// Formats the tables: by kernel and activity, by category, by line, by region, and what they mean in words.
std::string profile_text(const ProfileView& view);

/// Formats a number that is not negative with three significant digits.
std::string digits(double value);

/// Formats seconds with three digits: "12.3 ms".
std::string duration_text(double seconds);

}  // namespace tsl::report
