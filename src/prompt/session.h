// A prompt: reads entries, runs them, and shows their values.
#pragma once

#include <functional>

namespace tsl {
class Engine;
struct Error;
}  // namespace tsl

namespace tsl::prompt {

/// Runs entries from standard input until it ends; `show` gets the errors, which do not end it. Entries are edited with
/// keys, history and completion if input and output are a terminal. Returns the code of an entry that calls exit(),
/// else 0.
int run_session(Engine& engine, bool color, const std::function<void(const Error&)>& show);

/// Gives a program that has stopped, at breakpoint() or at an error, a prompt that sees its variables. Returns for it
/// to go on; throws Failure (exit) to end it.
void stop_program(Engine& engine, bool color, const Error* error, const std::function<void(const Error&)>& show);

}  // namespace tsl::prompt
