// Completes what is being typed: names, fields, modules and what they export, named arguments, files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/names.h"

namespace tsl::analysis {

enum class CandidateKind : uint8_t { keyword, variable, function, type, module, field, argument, file };

std::string_view name_of(CandidateKind kind);

struct Candidate {
  std::string text;
  CandidateKind kind;
  std::string doc;  // one line: what it does, how it is declared, or its type; "" if that is not known
};

struct Completion {
  size_t begin = 0;                   // the byte at which what is being completed begins; it ends at the cursor
  std::vector<Candidate> candidates;  // all begin with it; in order, each text once
};

/// Returns what could stand before the cursor. `path` is the file of the text, or empty.
Completion complete(Names& names, std::string_view text, size_t cursor, const std::string& path = "");

/// Completes the name of a file that begins at a byte of the text.
Completion complete_file(const Names& names, std::string_view text, size_t begin);

}  // namespace tsl::analysis
