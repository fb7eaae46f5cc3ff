#include <iostream>

#include "base/platform/file_descriptor.h"
#include "base/platform/terminal.h"
#include "engine/engine.h"
#include "prompt/entry_reader.h"
#include "prompt/entry_text.h"

namespace tsl::prompt {

namespace {

class PlainReader final : public EntryReader {
 public:
  explicit PlainReader(Engine& engine) : engine_(engine) {}

  bool read(std::string& entry) override {
    entry.clear();
    for (;;) {
      if (shows_prompt_) std::cout << (entry.empty() ? ">>> " : "... ") << std::flush;
      std::string line;
      if (std::getline(std::cin, line)) {
        entry += line + '\n';
        if (!is_complete(entry)) continue;
        entry = without_prompts(entry);
        return true;
      } else if (engine_.watch.take_interrupt()) {  // Ctrl-C drops the entry
        std::cin.clear();
        clearerr(stdin);
        std::cout << '\n';
        entry.clear();
      } else {
        if (shows_prompt_) std::cout << '\n';
        return !entry.empty();
      }
    }
  }

 private:
  Engine& engine_;
  const bool shows_prompt_ = platform::is_terminal(platform::kStandardInput);
};

}  // namespace

std::unique_ptr<EntryReader> make_plain_reader(Engine& engine) { return std::make_unique<PlainReader>(engine); }

#ifndef TSL_HAS_LIBEDIT
std::unique_ptr<EntryReader> make_line_editor(Engine&, History&, bool) { return nullptr; }
#endif

}  // namespace tsl::prompt
