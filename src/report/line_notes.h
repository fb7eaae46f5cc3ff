// What a run has shown of the lines of a program, for editors: how regions run, where they are split, what takes time.
#pragma once

#include <string>
#include <vector>

#include "report/recording.h"

namespace tsl::report {

struct LineNote {
  std::string file;
  uint32_t line = 0;  // from 1
  std::string text;   // "compiled; 5 of 6 runs are from plans", "split here: `loss.item()` is read", "1.2 ms"

  friend bool operator==(const LineNote&, const LineNote&) = default;
};

/// Returns the notes on all lines that have one, by file and line. Lines that take less than a hundredth of the time of
/// all kernels have none of their time.
std::vector<LineNote> line_notes(const Recording& recording);

/// Keeps the notes of each file with its lines where editors look for them (editor_notes_path()), in place of those of
/// the run before. Without a folder for that, or where it cannot be written, it does nothing.
void keep_line_notes(const Recording& recording);

}  // namespace tsl::report
