// What a profile measured, by the regions and kernels of a recording.
#pragma once

#include "profile/profile_table.h"
#include "report/recording.h"

namespace tsl::report {

/// Fills the times of a recording's regions and kernels.
void add_times(Recording& recording, const ProfileView& view);

/// The most begins and ends of scopes, and as many works of devices, on the page: as text about a megabyte.
inline constexpr size_t kTimelineEvents = 20'000;

/// Formats the first scopes and the first work of devices as JSON, for the timeline of the page.
std::string timeline_json(const ProfileView& view);

}  // namespace tsl::report
