// Writes a recording as a folder of plainly named files, and compares two such folders.
#pragma once

#include <string>

#include "report/recording.h"

namespace tsl::report {

/// Makes the folder for a dump, or empties that of an earlier dump, of any version. Throws Failure (io), before it has
/// removed anything, if the folder holds other files, or cannot be made.
void prepare_dump(const std::string& folder);

/// Writes the dump into a prepared folder. Throws Failure (io).
void write_dump(const Recording& recording, const std::string& folder);

/// Describes what differs between two dumps, by specialisation and stage; "" if nothing does. Throws Failure (io) if
/// one is no dump.
std::string diff_dumps(const std::string& before, const std::string& after);

/// Writes a file. Throws Failure (io), also for a disk that is full.
void write_file(const std::string& path, const std::string& text);

}  // namespace tsl::report
