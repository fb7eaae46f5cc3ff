// --check and `tsl lsp`: what is wrong with a program, found without an engine, and so without running it.
#include <filesystem>
#include <iostream>

#include "analysis/check.h"
#include "analysis/json.h"
#include "analysis/workspace.h"
#include "base/platform/file_descriptor.h"
#include "cli/program.h"
#include "engine/library.h"
#include "engine/module_files.h"
#include "engine/modules.h"
#include "lsp/server.h"

namespace tsl {

namespace {

/// Treats warnings as `--warn` says.
void settle_warnings(Warnings wanted, std::vector<Error>& errors) {
  if (wanted == Warnings::off) std::erase_if(errors, [](const Error& error) { return error.is_warning; });
  if (wanted != Warnings::error) return;
  for (Error& error : errors) error.is_warning = false;
}

std::string text_of(const Command& command, const std::string& name) {
  if (command.kind == Command::Kind::script) return ModuleLoader::read_file(command.script);
  return command.kind == Command::Kind::code ? command.script : ModuleLoader::read_stream(std::cin, name);
}

ModuleSource find_module_of(const std::string& module, bool is_file, const std::string& importer) {
  return find_module_file(module, is_file, std::filesystem::path(importer).parent_path().string(), true);
}

}  // namespace

int run_check(const Command& command, bool color) {
  const std::string name = title_of(command);
  const std::string path = command.kind == Command::Kind::script ? name : "";
  analysis::Workspace workspace(standard_library(), find_module_of);
  std::vector<Error> errors;
  try {
    errors = analysis::check(workspace, name, text_of(command, name), path);
  } catch (const Failure& failure) {  // it cannot be read
    std::cerr << render(failure.error(), workspace.sources(), color) << std::flush;
    return kExitFailed;
  }
  settle_warnings(command.engine.warnings, errors);
  int code = 0;
  for (const Error& error : errors) {
    if (error.kind() == ErrorKind::syntax) code = kExitSyntax;
    else if (!error.is_warning && code == 0) code = kExitFailed;
    if (!command.report.json) std::cerr << render(error, workspace.sources(), color) << std::flush;
  }
  if (command.report.json) std::cout << analysis::diagnostics_json(errors, workspace.sources()) << std::endl;
  return code;
}

int run_language_server() {
  return lsp::serve(standard_library(), find_module_of, platform::kStandardInput, platform::kStandardOutput);
}

}  // namespace tsl
