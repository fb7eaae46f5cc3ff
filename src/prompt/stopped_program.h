// A program that has stopped, at breakpoint() or at an error: its calls, and the variables that each of them sees.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/prompt.h"

namespace tsl::prompt {

/// While it lives, entries see the variables of one of the program's calls, the innermost at first. They are copies,
/// and cannot be assigned; what entries declare is forgotten with them.
class StoppedProgram {
 public:
  explicit StoppedProgram(Engine& engine);
  ~StoppedProgram();
  StoppedProgram(const StoppedProgram&) = delete;
  StoppedProgram& operator=(const StoppedProgram&) = delete;

  /// Goes to the call `steps` further out; inwards, if they are negative. Throws Failure (value) at the ends.
  void move(int steps);
  /// Shows the call that entries see: "in f, a.tsl:3" and the line.
  std::string place() const;
  /// Lists all calls, the one that entries see with a mark.
  std::string calls() const;
  /// Whether :quit asks for the program's end.
  bool ends_program = false;

 private:
  void show_variables();
  std::string location_text(size_t frame) const;

  Engine& engine_;
  std::vector<size_t> frames_;  // outside the standard library, the innermost first
  size_t at_ = 0;               // in frames_
  std::unique_ptr<Prompt> outer_;
};

}  // namespace tsl::prompt
