// Tests that what is said of a program's types is so in its runs: scripts and drawn programs.
#include <fstream>
#include <regex>

#include <unistd.h>

#include "analysis/unfinished_source.h"
#include "analysis/workspace.h"
#include "catch.h"
#include "engine/engine.h"
#include "engine/library.h"
#include "engine/module_files.h"
#include "inference/types.h"
#include "inference/values.h"
#include "support/corpus.h"
#include "support/random_lets.h"
#include "support/session.h"
#include "syntax/tree_walk.h"

using namespace tsl;
using ast::as;
namespace fs = std::filesystem;

namespace {

/// What a program must find of a variable.
struct Expectation {
  std::string name, type;
  std::regex pattern;  // of types, in which sizes that are no numbers stand for any
  size_t times = 0;    // that it was looked at
};

std::vector<Expectation>* expectations = nullptr;
std::string wrong;

Value look(Context&, Args args) {
  Expectation& expected = (*expectations)[static_cast<size_t>(args[0].integer())];
  const std::string found = inference::shown_type(args[1], {}).text;
  ++expected.times;
  const bool is_too_long = found.empty();  // to be shown
  if (!is_too_long && !std::regex_match(found, expected.pattern))
    wrong += fmt::format("{}: said {}, is {}\n", expected.name, expected.type, found);
  return {};
}

constexpr Builtin kLook = with_effect({"look_at", "look_at(number: int, value: any)", "compares a type", look, "host"});

/// Returns the pattern of a type: `_`, names and sums of sizes stand for any size, `any` for any type, and `list` for
/// any list.
std::regex pattern_of(const std::string& type) {
  static const std::regex signs(R"([\[\]{}*+.()|?^$\\])"), any("\\bany\\b"), hole("\x01"),
      sizes("(\\\\\\[|, )([^\\],{}\\[:\x01]*[^\\],{}\\[:0-9\\\\\x01][^\\],{}\\[:\\\\\x01]*)(?=,|\\\\\\])");
  std::string text = std::regex_replace(type, signs, R"(\$&)");
  text = std::regex_replace(std::regex_replace(text, any, "\x01"), sizes, "$1[^,]*");
  text = std::regex_replace(text, hole, ".*");
  return std::regex(std::regex_replace(text, std::regex("\\blist(?!\\\\\\[)"), "list.*"));
}

/// Returns where a program may look at the variables of its declarations: by the beginning of the name, an offset and
/// whether a call there stands before other statements.
std::map<uint32_t, std::pair<uint32_t, bool>> places_to_look(const ast::Module& module, const std::string& text) {
  std::map<uint32_t, std::pair<uint32_t, bool>> places;
  const auto add = [&](const ast::Pattern& pattern, std::pair<uint32_t, bool> place, const auto& self) -> void {
    if (pattern.variable) places[pattern.variable->span.begin] = place;
    for (const ast::Pattern* item : pattern.items) {
      if (item) self(*item, place, self);
    }
  };
  const auto at_statement = [&](const ast::Stmt& statement, bool) {
    if (statement.kind == ast::StmtKind::declare)
      add(*as<ast::DeclareStmt>(statement).pattern, {statement.span.end, false}, add);
    if (statement.kind != ast::StmtKind::for_) return;
    const ast::ForStmt& loop = as<ast::ForStmt>(statement);
    if (text[loop.body->span.begin] == '{') add(*loop.pattern, {loop.body->span.begin + 1, true}, add);
  };
  walk_tree(*module.main, {at_statement, [](const ast::Expr&, bool) {}});
  return places;
}

/// Returns the program with calls of look_at() behind declarations of which a type is known.
std::string with_looks(const std::string& text, const std::string& path, std::vector<Expectation>& expected) {
  static inference::Types types(standard_library());
  analysis::Workspace names(standard_library(), [](const auto& import, bool is_file, const auto& importer) {
    return find_module_file(import, is_file, fs::path(importer).parent_path().string(), false);
  });
  const auto module = analysis::read_unfinished(names, text, path);
  if (!module) return text;
  const auto places = places_to_look(*module, text);
  std::multimap<uint32_t, std::string> inserted;
  for (const inference::TypedName& each : types.find(names, text, path)) {
    const auto place = places.find(each.name.begin);
    if (place == places.end()) continue;
    const std::string name = text.substr(each.name.begin, each.name.end - each.name.begin);
    const std::string call = fmt::format("look_at({}, {})", expected.size(), name);
    inserted.emplace(place->second.first, place->second.second ? call + "; " : "; " + call);
    expected.push_back({name, each.type, pattern_of(each.type)});
  }
  std::string changed = text;
  for (auto each = inserted.rbegin(); each != inserted.rend(); ++each) changed.insert(each->first, each->second);
  return changed;
}

/// Runs a program, and returns how many of the types that are known of it were looked at.
size_t count_looks(const CorpusProgram& program) {
  std::vector<Expectation> expected;
  expectations = &expected;
  wrong.clear();
  const std::string text = with_looks(program.code, program.path, expected);
  EngineOptions options;
  options.compile_annotated = false;  // a region looks at its variables only once
  options.script_args = program.args;
  options.limits.seconds = 20;
  Session session(options);
  session.engine.define(kLook);
  session.engine.show_warning = [](const Error&) {};
  try {
    session.engine.run_line(text, program.path, program.name);
  } catch (const Failure& failure) {
    const bool is_ours = failure.error().kind() == ErrorKind::syntax && !expected.empty();
    if (is_ours) wrong += "the program with looks: " + render(failure.error(), session.engine.sources());
  }
  INFO(program.name << "\n" << wrong);
  CHECK(wrong.empty());
  return static_cast<size_t>(
      std::count_if(expected.begin(), expected.end(), [](const Expectation& each) { return each.times > 0; }));
}

std::vector<CorpusProgram> reference_scripts() {
  std::vector<CorpusProgram> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(repository() + "/docs/reference")) {
    if (entry.path().extension() != ".tsl") continue;
    std::ifstream file(entry.path());
    out.push_back({entry.path().string(), {std::istreambuf_iterator<char>(file), {}}, "", {}});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

size_t number(const char* name, size_t otherwise) {
  const char* const given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

}  // namespace

/// Runs some of these programs, evenly spread, and expects to look at many types.
void check_some(const std::vector<CorpusProgram>& programs, size_t count) {
  const size_t step = std::max<size_t>(1, programs.size() / count);
  size_t looks = 0;
  for (size_t i = 0; i < programs.size(); i += step) looks += count_looks(programs[i]);
  CHECK(looks > programs.size() / step / 2);
}

TEST_CASE("types that are known of scripts are those of their runs") {
  const InRepository in_repository;
  check_some(corpus_scripts(), number("TSL_TYPE_SCRIPTS", 20));
}

TEST_CASE("types that are known of the reference's examples are those of their runs") {
  const std::vector<CorpusProgram> scripts = reference_scripts();
  const InRepository until_the_end;  // which goes back
  const fs::path folder = fs::temp_directory_path() / fmt::format("tsl_types_{}", ::getpid());
  fs::create_directories(folder);
  fs::current_path(folder);  // the examples write files
  check_some(scripts, number("TSL_TYPE_SCRIPTS", 10));
  fs::current_path(repository());
  fs::remove_all(folder);
}

TEST_CASE("types that are known of drawn programs are those of their runs") {
  const size_t first = number("TSL_RANDOM_FIRST", 1), count = number("TSL_RANDOM_PROGRAMS", 40);
  size_t looks = 0;
  for (size_t seed = first; seed < first + count; ++seed) {
    looks += count_looks({fmt::format("random program {}", seed), to_text(random_program(seed)), "", {}});
    if (seed % 4 == 0) looks += count_looks({fmt::format("random lets {}", seed), to_text(random_lets(seed)), "", {}});
  }
  CHECK(looks > count);
}
