// Completes an entry that is being typed: code, or a command and its argument.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tsl {
class Engine;
}

namespace tsl::prompt {

struct Completion {
  size_t begin = 0;                     // the byte at which what is being completed begins; it ends at the cursor
  std::vector<std::string> candidates;  // all begin with it; in order, each once
};

/// Returns what could stand before the cursor. Runs no code of the program.
Completion complete(Engine& engine, std::string_view text, size_t cursor);

/// Returns the longest text with which all candidates begin.
std::string common_prefix(const std::vector<std::string>& candidates);

}  // namespace tsl::prompt
