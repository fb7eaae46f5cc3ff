// The folder in which the ranks of a program find each other, say that they are alive, and store why they end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "world/membership.h"

namespace tsl::world {

class Meeting {
 public:
  /// `place` must outlive this. Touches no file yet.
  explicit Meeting(const Membership& place);

  /// Makes the folder, which other users of the host cannot enter. Throws Failure (io) if it cannot be used.
  void open() const;
  /// Says that this rank is here. Throws Failure (io) if another process says so of the same rank.
  void enter() const;
  bool is_there(int rank) const;
  /// Returns a new folder of this run, once all ranks are there: an earlier run may have left files beside it.
  std::string folder_of_run() const;

  /// Says again that this rank is alive. Any other text than before means so.
  void beat();
  std::string beat_of(int rank) const;

  /// Stores why this rank ends, and removes the folder if it was the last, unless the environment names it.
  void leave(std::string_view why) const;
  /// Returns why a rank of this run has ended; "" if it has not said so.
  std::string end_of(int rank) const;

 private:
  std::string path_of(const char* kind, int rank) const;

  const Membership& place_;
  const std::filesystem::file_time_type began_;
  uint64_t beats_ = 0;
};

/// Stores why a rank has ended, unless it has said so itself. `folder`: Membership::folder.
void store_end(const std::string& folder, int rank, std::string_view why);

}  // namespace tsl::world
