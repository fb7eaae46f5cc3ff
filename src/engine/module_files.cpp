#include "engine/module_files.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/error_names.h"
#include "engine/library.h"
#include "engine/modules.h"

namespace tsl {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> search_folders() {
  std::vector<std::string> folders;
  const char* path = std::getenv("TSL_PATH");
  std::istringstream entries(path ? path : "");
  for (std::string folder; std::getline(entries, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

bool is_file_at(const fs::path& path) {
  std::error_code ignored;
  return path.native().find('\0') == std::string::npos && fs::is_regular_file(path, ignored);
}

[[noreturn]] void fail_to_find(const std::string& path, bool is_file, const std::vector<std::string>& tried) {
  std::string list;
  for (const std::string& place : tried) list += (list.empty() ? "" : ", ") + place;
  std::vector<std::string> hints;
  const bool has_no_path = is_file && path.find_first_of("./") == std::string::npos;
  if (has_no_path && standard_library().module(path))
    hints.push_back(fmt::format("a module of the standard library has no quotes: `import {}`", path));
  else if (has_no_path) hints.push_back(fmt::format("a file of the program's folder is \"./{}.tsl\"", path));
  const std::string near =
      is_file ? "" : suggest_name(path == "numpy" ? "np" : path, standard_library().module_names());
  if (!near.empty()) hints.push_back(near);
  else if (!is_file)
    hints.push_back(fmt::format("a file is imported by its path: import \"./{}.tsl\" as {}", path, path));
  fail_with(ErrorName::module_not_found, fmt::format("cannot find module '{}'", path), std::move(hints),
            {"tried " + list});
}

}  // namespace

std::string canonical_path(const std::string& path) {
  std::error_code failed;
  const fs::path result = fs::weakly_canonical(path, failed);
  return failed ? path : result.string();
}

ModuleSource find_module_file(const std::string& path, bool is_file, const std::string& folder,
                              bool may_use_environment) {
  std::vector<std::string> tried;
  if (!is_file) tried.push_back("the standard library");
  ModuleSource found;
  const auto at = [&](const fs::path& file) {
    const std::string shown = file.lexically_normal().string();
    tried.push_back(shown);
    if (!is_file_at(file)) return false;
    found = {canonical_path(file.string()), shown, ModuleLoader::read_file(file.string())};
    return true;
  };
  if (is_file && at(fs::path(folder) / path)) return found;
  const bool is_anchored = is_file && (path.substr(0, 1) == "." || path.substr(0, 1) == "/");
  if (may_use_environment && !is_anchored) {
    for (const std::string& place : search_folders()) {
      if (at(fs::path(place) / (is_file ? path : path + ".tsl"))) return found;
    }
  }
  fail_to_find(path, is_file, tried);
}

}  // namespace tsl
