// Which rank of how many this process is, as the program that has started it says in environment variables.
#pragma once

#include <functional>
#include <string>

namespace tsl::world {

/// A process's place among those that run one program.
struct Membership {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // on this host
  std::string launcher;                // "torchrun"; "" for a process by itself
  /// The folder in which the ranks find each other; all hosts must share it.
  std::string folder;
  bool owns_folder = false;  // it is named by this host's run, and not by kFolderVariable

  bool operator==(const Membership&) const = default;
};

/// The variable that names the folder.
inline constexpr const char* kFolderVariable = "TSL_RENDEZVOUS";

/// Returns the value of an environment variable, or null.
using Environment = std::function<const char*(const char*)>;

/// Returns the place that `tsl --ranks`, torchrun, mpirun, srun or an indexed job of Kubernetes states. Throws Failure
/// (value) if the variables contradict each other, or if the ranks of several hosts have no folder.
Membership membership_of(const Environment& environment);

}  // namespace tsl::world
