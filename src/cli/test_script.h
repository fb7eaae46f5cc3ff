// Runs one script as a test, and compares what it prints and raises with its `# expect` comments.
#pragma once

#include <string>
#include <vector>

#include "base/source.h"
#include "engine/engine.h"

namespace tsl {

/// One way to run a script.
struct Tier {
  const char* name;
  bool compile_annotated, compile_all;
};
inline constexpr Tier kTiers[] = {
    {"with --no-compile", false, false}, {"by default", true, false}, {"with --compile", true, true}};

/// A line that is to be printed, or the message of an error that is to be raised.
struct Expectation {
  bool is_error = false;
  std::string text;
  uint32_t line = 0;            // of the comment
  uint32_t begin = 0, end = 0;  // of the text, in the script
};

class TestScript {
 public:
  TestScript(std::string path, std::string text);

  /// Runs the script on one tier. Returns a description of what is wrong, or "".
  std::string run(const EngineOptions& options, const Tier& tier) const;
  /// Returns the script with comments that say what it prints and raises now. Throws Failure (value) if it does not
  /// print as many lines as it has comments for them.
  std::string updated(const EngineOptions& options) const;

 private:
  std::string path_, text_;
  std::vector<Expectation> expected_;
};

}  // namespace tsl
