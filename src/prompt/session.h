// A prompt: reads entries, runs them, and shows their values.
#pragma once

namespace tsl {
class Engine;
}

namespace tsl::prompt {

/// Runs entries from standard input until it ends; errors are shown and do not end it. Entries are edited with keys,
/// history and completion if input and output are a terminal.
void run_session(Engine& engine, bool color);

}  // namespace tsl::prompt
