#include "prompt/completion.h"

#include <algorithm>

#include "analysis/completion.h"
#include "engine/session_names.h"
#include "prompt/commands.h"
#include "prompt/entry_text.h"

namespace tsl::prompt {

namespace {

/// Takes over what was found in a part of an entry that begins at a byte of it.
Completion texts_of(analysis::Completion found, size_t part) {
  Completion completion{part + found.begin, {}};
  for (analysis::Candidate& candidate : found.candidates) completion.candidates.push_back(std::move(candidate.text));
  return completion;
}

/// Removes the bracket behind a function's name where the entry has it.
void remove_brackets(Completion& completion) {
  for (std::string& candidate : completion.candidates) {
    if (candidate.ends_with('(')) candidate.pop_back();
  }
}

Completion complete_command(analysis::Names& names, std::string_view text) {
  const size_t first = text.find_first_of(kCommandMarks);
  if (text[first] == '!') return texts_of(analysis::complete_file(names, text, text.find_last_of(" !") + 1), 0);
  const size_t blank = text.find(' ', first);
  if (blank == std::string_view::npos && text[first] == ':') {
    Completion completion{first, {}};
    for (const Command& command : commands()) {
      std::string name = ":" + std::string(command.name);
      if (name.compare(0, text.size() - first, text.substr(first)) == 0) completion.candidates.push_back(name);
    }
    return completion;
  }
  const size_t begin = text[first] == '?' ? first + 1 : blank + 1;
  const Command* command = text[first] == ':' ? find_command(text.substr(first + 1, blank - first - 1)) : nullptr;
  if (command && command->takes == Takes::file) return texts_of(analysis::complete_file(names, text, begin), 0);
  return texts_of(analysis::complete(names, text.substr(begin), text.size()), begin);
}

}  // namespace

Completion complete(Engine& engine, std::string_view text, size_t cursor) {
  SessionNames names(engine);
  if (is_command(text.substr(0, cursor))) return complete_command(names, text.substr(0, cursor));
  Completion completion = texts_of(analysis::complete(names, text, cursor), 0);
  if (text.substr(cursor).starts_with('(')) remove_brackets(completion);
  return completion;
}

std::string common_prefix(const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  std::string prefix = candidates[0];
  for (const std::string& candidate : candidates) {
    const auto end = std::mismatch(prefix.begin(), prefix.end(), candidate.begin(), candidate.end()).first;
    prefix.erase(end, prefix.end());
  }
  return prefix;
}

}  // namespace tsl::prompt
