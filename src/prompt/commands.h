// The commands of the prompt: `:time f(x)`, `?sum`.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace tsl {
class Engine;
}

namespace tsl::prompt {

class StoppedProgram;

/// What the entries so far leave for later ones, besides variables.
struct SessionState {
  Engine& engine;
  StoppedProgram* stopped = nullptr;   // within which the entries run
  std::vector<std::string> entered{};  // code that has run without an error
  std::vector<std::string> loaded{};   // files
  std::set<std::string> saved{};       // files that :save has written
  bool is_over = false;
};

/// What a command's argument is.
enum class Takes : uint8_t { nothing, expression, file, word };

struct Command {
  std::string_view name;
  Takes takes;
  bool needs_argument;
  std::string_view help;
  /// Returns what to print.
  std::string (*run)(SessionState& state, const std::string& argument);
};

std::span<const Command> commands();
/// Finds a command by its name or a unique beginning of it; null if there is none.
const Command* find_command(std::string_view name);

/// Runs an entry that is a command. Returns what to print. Throws Failure.
std::string run_command(SessionState& state, std::string_view entry);

}  // namespace tsl::prompt
