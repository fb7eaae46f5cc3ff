// Tests what is found in a source without an engine.
#include "analysis/check.h"

#include "analysis/json.h"
#include "analysis_library.h"
#include "base/error_names.h"
#include "catch.h"

using namespace tsl;
using namespace tsl::analysis;

namespace {

std::vector<std::string> found(Workspace& workspace, const std::string& text) {
  std::vector<std::string> texts;
  for (const Error& error : check(workspace, "main.tsl", text, "folder/main.tsl"))
    texts.push_back(fmt::format("{} {}: {}", workspace.sources().location(error.span),
                                error.is_warning ? "warning" : name_of(error.kind()), error.message));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a source without mistakes has no diagnostics") {
  Workspace workspace(small_library());
  CHECK(found(workspace, "let x = sum([1.0])\nprint(x, mean([x]))").empty());
  CHECK(found(workspace, "").empty());
}

TEST_CASE("syntax, names, calls and unused values are checked") {
  Workspace workspace(small_library());
  CHECK(found(workspace, "let = 1\nprint(y)") ==
        Texts{"main.tsl:1 syntax: expected a name or '(' after 'let', found '='", "main.tsl:2 name: unknown name 'y'"});
  CHECK(found(workspace, "print(sum(1, 2, 3))") == Texts{"main.tsl:1 type: sum takes 1 to 2 arguments, not 3"});
  CHECK(found(workspace, "fn f(x) = x\nf(1, 2)") == Texts{"main.tsl:2 type: f takes 1 argument, not 2"});
  CHECK(found(workspace, "let x = 1\nx + 1\nprint(x)") ==
        Texts{"main.tsl:2 warning: this value is not used, and computing it has no effect"});
  CHECK(found(workspace, "try { sum() } catch e { print(e) }").empty());
  CHECK(found(workspace, "print(\"\xff\")") == Texts{"main.tsl:1 syntax: byte 0xFF is not valid UTF-8"});
}

TEST_CASE("what the compiler refuses is an error of the source") {
  Workspace workspace(small_library());
  CHECK(found(workspace, "print(sum())\nfn f(x: foo) = x") ==
        Texts{"main.tsl:1 type: sum is missing its argument 'x'", "main.tsl:2 name: unknown type 'foo'"});
  CHECK(found(workspace, "print(1q8)").size() == 1);
  CHECK(found(workspace, "fn f(x: f32[n], by: int | nil = nil) -> [n] = x").empty());
}

TEST_CASE("functions of the prelude are known from their source") {
  Workspace workspace(small_library());
  CHECK(found(workspace, "mean([1.0], axes: 2)") == Texts{"main.tsl:1 type: mean has no parameter 'axes'"});
  CHECK(workspace.builtins().contains(workspace.interner().intern("mean")));
}

TEST_CASE("modules are read through a function, with the file that imports them") {
  std::string asked;
  Workspace workspace(small_library(), [&](const std::string& path, bool is_file, const std::string& importer) {
    asked += fmt::format("{} {} {};", path, is_file, importer);
    if (path == "./none.tsl") fail(ErrorName::module_not_found, "there is none");
    return ModuleSource{path, path, path == "./broken.tsl" ? "let" : "fn half(x) = x / 2"};
  });
  CHECK(found(workspace, "import \"./m.tsl\" as m\nm.half(1, 2)\nm.hals(1)") ==
        Texts{"main.tsl:2 type: half takes 1 argument, not 2", "main.tsl:3 name: module './m.tsl' has no 'hals'"});
  CHECK(asked == "./m.tsl true folder/main.tsl;");
  CHECK(found(workspace, "from shapes import area, volume\narea()") ==
        Texts{"main.tsl:1 name: module 'shapes' has no 'volume'",
              "main.tsl:2 type: area is missing its argument 'width'"});
  CHECK(found(workspace, "import \"./none.tsl\" as m") == Texts{"main.tsl:1 io: there is none"});
  const Texts broken = found(workspace, "import \"./broken.tsl\" as m");
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].find("./broken.tsl:1 syntax") == 0);
}

TEST_CASE("a module of the library exports what it imports from its parts, which others cannot import") {
  Workspace workspace(small_library());
  CHECK(
      found(workspace, "import solids\nsolids.cube()\nsolids.ball(1)") ==
      Texts{"main.tsl:2 type: cube is missing its argument 'side'", "main.tsl:3 name: module 'solids' has no 'ball'"});
  CHECK(found(workspace, "from solids import cube\ncube(1, 2)") ==
        Texts{"main.tsl:2 type: cube takes 1 argument, not 2"});
  CHECK(found(workspace, "import \"./solids/volumes.tsl\" as v") ==
        Texts{"main.tsl:1 io: cannot find module './solids/volumes.tsl'"});
}

TEST_CASE("a source replaces the one of its name, and keeps the spans of others") {
  Workspace workspace(small_library());
  const std::vector<Error> first = check(workspace, "a", "x"), other = check(workspace, "b", "y");
  CHECK(workspace.sources().location(first.at(0).span) == "a:1");
  check(workspace, "a", "1");
  CHECK(workspace.sources().location(first.at(0).span) == "<none>:1");
  CHECK(workspace.sources().location(other.at(0).span) == "b:1");
}

TEST_CASE("diagnostics are formatted as JSON") {
  Workspace workspace(small_library());
  CHECK(diagnostics_json({}, workspace.sources()) == "[]");
  const std::string json =
      diagnostics_json(check(workspace, "a.tsl", "let x = 1\nx = 2\nprint(x)"), workspace.sources());
  for (const char* part : {R"("file": "a.tsl")", R"("line": 2)", R"("end_column": 2)", R"("severity": "error")",
                           R"("name": "assignment-to-constant")", R"("message": "declared here")"})
    CHECK_THAT(json, Catch::Contains(part));
}
