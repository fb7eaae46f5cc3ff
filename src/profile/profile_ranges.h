// What the ranges of a program took, in compiled code and outside of it: functions by the path of calls to them, and
// what with_range() names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profile/profile_table.h"

namespace tsl::report {

/// The work in a range, and in the ranges within it.
struct RangeShare {
  std::string path;       // "encoder.attention"
  double ticks = 0;       // of kernels; a kernel's time is shared by its ops
  uint64_t runs = 0;      // calls of the range, and runs of compiled code that it is in
  uint64_t launches = 0;  // of kernels with ops of the range
};

/// Returns the paths of a range of compiled code and of those around it, the outermost first: "train", "train.step".
/// `outer`: around the call of the region.
std::vector<std::string> paths_around(const RangeTable& ranges, uint32_t outer, uint32_t inner);

/// Returns the ranges that kernels ran in, the one that took most time first.
std::vector<RangeShare> range_shares(const ProfileView& view);

/// Names the ranges of a kernel's ops that with_range() names, or that are within such: "encoder.attention,
/// encoder.mlp".
std::string named_ranges_text(const ProfileView& view, const ProfileRow& row);

/// Returns the paths of the ranges of a kernel's ops, with their parts of its time, as line_parts(); "" for those in
/// none.
std::map<std::string, double> range_parts(const ProfileView& view, const ProfileRow& row);

}  // namespace tsl::report
