// The lines of the program that the rows of a profile stand for.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "report/profile_table.h"

namespace tsl::report {

/// A line of the program, and whether it is in a forward or a backward pass.
struct ProfileLine {
  uint32_t source = 0, line = 0;
  bool is_backward = false;
  auto operator<=>(const ProfileLine&) const = default;
};

/// Returns the line of each op of a kernel; for other activities, and for kernels of eager ops, that of the call.
std::vector<ProfileLine> lines_of(const ProfileView& view, const ProfileRow& row);

}  // namespace tsl::report
