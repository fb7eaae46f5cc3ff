// Help about the modules that come with the program, read in their sources: none has to be imported.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "value/builtin.h"

namespace tsl {

struct ModuleFunction {
  std::string path;         // "nn.dropout"
  std::string declaration;  // "nn.dropout(x: tensor, …)"
  std::string doc;
};

/// Returns a heading with a documentation below it, indented.
std::string with_doc(std::string heading, std::string_view doc);
/// Returns the functions of all modules.
std::vector<ModuleFunction> library_functions(std::span<const LibrarySource> sources);
/// Returns the help of a module, or of the functions of that name or path; "" if there are none.
std::string help_in_modules(std::span<const LibrarySource> sources, std::string_view name);

/// What people call some functions and modules.
struct HelpTopic {
  std::string_view words;  // with commas between two
  std::string_view names;  // with a space between two
};

std::span<const HelpTopic> help_topics();

/// What help() says of a keyword of the language, or of several that belong together.
struct KeywordHelp {
  std::string_view words;  // with a space between two
  std::string_view text;
};

std::span<const KeywordHelp> keyword_help();

}  // namespace tsl
