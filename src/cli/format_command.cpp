// `tsl fmt`.
#include <algorithm>
#include <iostream>

#include "base/error_names.h"
#include "cli/program.h"
#include "engine/modules.h"
#include "io/atomic_file.h"
#include "syntax/source_format.h"

namespace tsl {

namespace fs = std::filesystem;

std::vector<fs::path> find_scripts(const std::vector<std::string>& paths, const char* purpose) {
  std::vector<fs::path> scripts;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
      scripts.emplace_back(path);
      continue;
    }
    for (fs::recursive_directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
      if (entry->path().extension() == ".tsl") scripts.push_back(entry->path());
    }
    if (failed) fail(ErrorName::cannot_read_file, "cannot look for {} in {}: {}", purpose, path, failed.message());
  }
  std::sort(scripts.begin(), scripts.end());
  return scripts;
}

namespace {

/// What became of one source. Larger is worse.
enum class FormatResult { unchanged, changed, failed, syntax_error };

FormatResult show_failure(const Failure& failure, const SourceMap& sources, bool color) {
  std::cerr << render(failure.error(), sources, color) << std::flush;
  return failure.error().kind() == ErrorKind::syntax ? FormatResult::syntax_error : FormatResult::failed;
}

/// Formats a file in place, or standard input to standard output; with `check` only says whether that changes it.
FormatResult format_one(const std::string& path, bool check, bool color) {
  const bool is_input = path == "-";
  const std::string name = is_input ? "<stdin>" : path;
  SourceMap sources;
  try {
    const uint32_t id =
        sources.add(name, is_input ? ModuleLoader::read_stream(std::cin, name) : ModuleLoader::read_file(path));
    const std::string text = format_source(sources, id);
    const bool differs = text != sources.get(id).text();
    if (is_input && !check) std::cout << text;
    else if (differs && !check) write_text_file(path, text);
    if (differs && (check || !is_input)) std::cout << (check ? "not formatted: " : "formatted ") << name << '\n';
    return differs && check ? FormatResult::changed : FormatResult::unchanged;
  } catch (const Failure& failure) { return show_failure(failure, sources, color); }
}

}  // namespace

int run_format(const FormatCommand& command, bool color) {
  FormatResult worst = FormatResult::unchanged;
  try {
    const std::vector<fs::path> scripts = find_scripts(command.paths, "scripts");
    for (const fs::path& script : scripts) worst = std::max(worst, format_one(script.string(), command.check, color));
  } catch (const Failure& failure) { worst = show_failure(failure, SourceMap(), color); }
  if (worst == FormatResult::syntax_error) return kExitSyntax;
  return worst == FormatResult::unchanged ? 0 : kExitFailed;
}

}  // namespace tsl
