// A tool that checks and completes a file, and links nothing of TSL but its room `analysis`. The builtins of the
// language are those that it gives.
#include <cstdio>
#include <string>

#include "analysis/call_help.h"
#include "analysis/check.h"
#include "analysis/completion.h"
#include "analysis/json.h"
#include "analysis/workspace.h"
#include "base/error_names.h"

namespace {

constexpr tsl::Builtin kBuiltins[] = {
    {"print", "print(...values: any)", "writes values to the output", nullptr, "host", false, false, true},
    {"sum", "sum(x: array, axis: integers | nil = nil)", "adds the elements", nullptr, "reduce"},
};
constexpr tsl::LibrarySource kSources[] = {
    {"prelude", "## divides by the sum\nfn normalised(x, axis: int = 0) = x / sum(x, axis: axis)\n"},
    {"shapes", "fn area(width, height) = width * height\n"},
};

// Two errors are on its second line, and one in the call of an imported function.
constexpr const char* kProgram =
    "import \"./helper.tsl\" as helper\n"
    "print(normalised([1.0], axes: 0), sum())\n"
    "helper.halved(1, 2)\n";

tsl::ModuleSource find_module(const std::string& path, bool, const std::string&) {
  if (path != "./helper.tsl") tsl::fail(tsl::ErrorName::module_not_found, "there is no file {}", path);
  return {path, path, "## half of x\nfn halved(x) = x / 2\n"};
}

}  // namespace

int main() {
  using namespace tsl::analysis;
  const tsl::Library library{{kBuiltins}, kSources};
  Workspace workspace(library, find_module);
  const std::vector<tsl::Error> errors = check(workspace, "program.tsl", kProgram, "program.tsl");
  std::printf("%s\n", diagnostics_json(errors, workspace.sources()).c_str());
  if (errors.size() != 3) return 1;

  const std::string typed = std::string(kProgram) + "let total = helper.h";
  const Completion member = complete(workspace, typed, typed.size());
  for (const Candidate& each : member.candidates) std::printf("%s: %s\n", each.text.c_str(), each.doc.c_str());
  if (member.candidates.size() != 1 || member.candidates[0].doc != "half of x") return 2;

  const std::string call = "normalised(x, ";
  const auto help = call_help(workspace, call, call.size());
  if (!help || help->declaration != "normalised(x, axis: int = 0)" || help->active != 1) return 3;
  return complete(workspace, "from shapes import a", 20).candidates.size() == 1 ? 0 : 4;
}
