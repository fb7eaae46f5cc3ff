// Links against tsl_syntax and the rooms that it may use.
#include "syntax/parser.h"

int main() {
  tsl::SourceMap sources;
  tsl::Interner names;
  const uint32_t id = sources.add("a.tsl", "let x = 1");
  const auto module = tsl::parse(sources, id, names);
  tsl::resolve(*module, {});
  return module->main->variables.size() == 1 ? 0 : 1;
}
