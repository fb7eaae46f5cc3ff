#include <iostream>

#include <unistd.h>

#include "cli/program.h"
#include "syntax/parser.h"
#include "value/format.h"

namespace tsl {

namespace {

/// Reads one entry, over several lines while a bracket or string is open. Returns false at the end of the input.
bool read_entry(Engine& engine, bool shows_prompt, std::string& entry) {
  entry.clear();
  for (;;) {
    if (shows_prompt) std::cout << (entry.empty() ? ">>> " : "... ") << std::flush;
    std::string line;
    if (!std::getline(std::cin, line)) {
      if (engine.watch.take_interrupt()) {  // Ctrl-C drops the entry
        std::cin.clear();
        clearerr(stdin);
        std::cout << '\n';
        entry.clear();
        continue;
      }
      return !entry.empty();
    }
    entry += line + '\n';
    if (!is_incomplete(entry)) return true;
  }
}

}  // namespace

int run_prompt(Engine& engine, bool color) {
  const bool shows_prompt = isatty(STDIN_FILENO) != 0;
  if (shows_prompt) std::cout << "TSL " TSL_VERSION ", a prompt. Ctrl-D ends it; help() tells more.\n";
  std::string entry;
  while (read_entry(engine, shows_prompt, entry)) {
    try {
      const Value value = engine.run_line(entry);
      if (!value.is_nil()) engine.output(to_repr(engine, value) + "\n");
    } catch (const Failure& failure) { report_error(failure.error(), engine, color); }
    std::fflush(stdout);
  }
  if (shows_prompt) std::cout << '\n';
  return 0;
}

}  // namespace tsl
