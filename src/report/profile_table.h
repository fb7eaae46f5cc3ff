// The tables of a profile: what --profile prints after a run.
#pragma once

#include <functional>
#include <string>

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

/// Formats the tables: by kernel and activity, by category, by line, by region, and what they mean in words.
std::string profile_text(const ProfileView& view);

/// Formats a number that is not negative with three significant digits.
std::string digits(double value);

/// Formats seconds with three digits: "12.3 ms".
std::string duration_text(double seconds);

}  // namespace tsl::report
