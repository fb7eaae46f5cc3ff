// The tables of a profile: what --profile prints after a run.
#pragma once

#include <functional>
#include <string>

#include "base/source.h"
#include "report/memory_ledger.h"
#include "report/profile.h"

namespace tsl::report {

/// What a device can do at most, as measured; 0: not known.
struct Roofline {
  double bytes_per_second = 0;
  double flops_per_second = 0;  // of f32
  uint64_t cached_bytes = 0;    // how much data stays in a cache, where the memory's speed is no limit
};

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

/// Formats seconds with three digits: "12.3 ms".
std::string duration_text(double seconds);

}  // namespace tsl::report
