// Compares the clocks of the ranks' hosts.
#pragma once

namespace tsl::world {

class Group;

/// Returns the seconds by which rank 0's steady clock is ahead of this rank's, but for about the time of a message; on
/// one host 0. All ranks must call it. Throws Failure (io) if a rank has ended.
double seconds_behind_first(Group& group);

}  // namespace tsl::world
