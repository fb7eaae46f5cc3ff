// Tests what is completed without an engine, and the help for calls and names.
#include "analysis/completion.h"

#include <algorithm>

#include "analysis/call_help.h"
#include "analysis/hover.h"
#include "analysis/json.h"
#include "analysis/occurrences.h"
#include "analysis_library.h"
#include "catch.h"

using namespace tsl;
using namespace tsl::analysis;

namespace {

ModuleSource find_helper(const std::string& path, bool, const std::string&) {
  return {path, path, "## half of x\nfn half(x) = x / 2\n"};
}

using Texts = std::vector<std::string>;

/// Returns what could stand at the `|` of a text, each as "text (kind) doc".
Texts completed(Workspace& workspace, std::string text) {
  const size_t cursor = text.find('|');
  text.erase(cursor, 1);
  Texts texts;
  for (const Candidate& each : complete(workspace, text, cursor).candidates)
    texts.push_back(fmt::format("{} ({}) {}", each.text, name_of(each.kind), each.doc));
  return texts;
}

bool has(const Texts& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

TEST_CASE("candidates have a kind and a line about them") {
  Workspace workspace(small_library());
  CHECK(completed(workspace, "pri|") == Texts{"print (function) writes values to the output"});
  CHECK(completed(workspace, "mea|") == Texts{"mean (function) the mean of the elements"});
  CHECK(completed(workspace, "f3|") == Texts{"f32 (type) "});
  CHECK(completed(workspace, "whi|") == Texts{"while (keyword) "});
  CHECK(completed(workspace, "import |") == Texts{"shapes (module) ", "solids (module) "});
  CHECK(completed(workspace, "import solids\nsolids.|") == Texts{"cube( (function) side cubed"});
}

TEST_CASE("what a source declares is completed, also below the cursor and in a source that is unfinished") {
  Workspace workspace(small_library());
  CHECK(completed(workspace, "let weight = 1\nwei|") == Texts{"weight (variable) int"});
  CHECK(completed(workspace, "sca|\n## x times by\nfn scaled(x, by) = x * by\n") ==
        Texts{"scaled (function) x times by"});
  CHECK(completed(workspace, "fn scaled(x, by: float) = x\nif true {\n  scaled(1, b|") ==
        Texts{"by:  (argument) by: float", "bf16 (type) ", "bool (type) ", "break (keyword) ", "by (variable) "});
}

TEST_CASE("literals are known before they run") {
  Workspace workspace(small_library());
  const std::string point = "let point = {left: 1, name: \"a b\", inner: {deep: sum([1])}, rest: sum([2])}\n";
  CHECK(completed(workspace, point + "print(point.le|)") == Texts{"left (field) int"});
  CHECK(completed(workspace, point + "point.inner.|") ==
        Texts{"deep (field) ", "mean( (function) the mean of the elements"});
  CHECK(completed(workspace, point + "point.name.sp|") == Texts{"split( (function) splits a text"});
  CHECK(completed(workspace, point + "point.rest.|").empty());
  CHECK(completed(workspace, point + "poi|") == Texts{"point (variable) "});
  CHECK(completed(workspace, "let half = fn(x, by = 2) = x / by\nhalf(1, b|").at(0) == "by:  (argument) by = 2");
  CHECK(completed(workspace, "var changed = {left: 1}\nchanged.|").empty());
  CHECK(completed(workspace, "let split = sum([1])\nspl|") == Texts{"split (variable) "});  // no builtin here
}

TEST_CASE("the fields of a parameter are those of its annotation") {
  Workspace workspace(small_library());
  const std::string start = "fn f(model: {weight: f32[n], inner: {deep: int}}, other: int) {\n  ";
  CHECK(completed(workspace, start + "model.we|\n}") == Texts{"weight (field) "});
  CHECK(completed(workspace, start + "model.inner.de|\n}") == Texts{"deep (field) "});
  CHECK(completed(workspace, start + "other.|\n}").empty());
}

TEST_CASE("the keys of maps and records are completed in brackets") {
  Workspace workspace(small_library());
  const std::string table = "let ages = [\"ann\": 1, \"bob\": 2, 3: 4]\nlet point = {left: 1, \"a b\": 2}\n";
  CHECK(completed(workspace, table + "print(ages[\"|") == Texts{"ann (field) ", "bob (field) "});
  CHECK(completed(workspace, table + "ages[\"b|") == Texts{"bob (field) "});
  CHECK(completed(workspace, table + "point[\"|") == Texts{"left (field) int", "a b (field) int"});
  CHECK(completed(workspace, table + "f[\"x|").empty());
}

TEST_CASE("members of modules are completed from their sources") {
  Workspace workspace(small_library(), find_helper);
  CHECK(completed(workspace, "import shapes\nshapes.|") ==
        Texts{"area( (function) width times height", "unit (variable) "});
  CHECK(completed(workspace, "import \"./helper.tsl\" as h\nlet y = h.ha|") == Texts{"half( (function) half of x"});
  CHECK(completed(workspace, "from \"./helper.tsl\" import |") == Texts{"half (function) half of x"});
  CHECK(completed(workspace, "from shapes import area, u|") == Texts{"unit (variable) "});
}

TEST_CASE("nothing is completed in comments, and files in strings") {
  Workspace workspace(small_library());
  CHECK(completed(workspace, "# pri|").empty());
  CHECK(has(completed(workspace, "# made of\n\nlet printed = 1\n# next\nprinte|"), "printed (variable) int"));
  CHECK(has(completed(workspace, "read(\"" TSL_SOURCE_DIR "/CMakeL|"), "CMakeLists.txt (file) "));
}

TEST_CASE("the call whose arguments are being written is shown, with the parameter") {
  Workspace workspace(small_library());
  const auto help = [&](const std::string& text) {
    const auto found = call_help(workspace, text, text.size());
    if (!found) return std::string("none");
    if (found->active < 0) return found->declaration;
    const ByteRange range = found->parameters.at(static_cast<size_t>(found->active));
    return found->declaration + " <" + found->declaration.substr(range.begin, range.end - range.begin) + ">";
  };
  CHECK(help("sum(") == "sum(x: array, axis: integers | nil = nil) <x: array>");
  CHECK(help("sum([1, 2], ") == "sum(x: array, axis: integers | nil = nil) <axis: integers | nil = nil>");
  CHECK(help("sum(axis: 1") == "sum(x: array, axis: integers | nil = nil) <axis: integers | nil = nil>");
  CHECK(help("sum(1, 2, 3") == "sum(x: array, axis: integers | nil = nil)");
  CHECK(help("print(1, 2, ") == "print(...values: any) <...values: any>");
  CHECK(help("mean(f([1, 2]), ") == "mean(x, axis: int | nil = nil) <axis: int | nil = nil>");
  CHECK(help("x.mean(") == "mean(x, axis: int | nil = nil) <axis: int | nil = nil>");
  CHECK(help("x |> mean(") == "mean(x, axis: int | nil = nil) <axis: int | nil = nil>");
  CHECK(help("fn scaled(x: f32[n, 2], by = (1, 2)) -> f32[n] = x\nscaled(a, ") ==
        "scaled(x: f32[n, 2], by = (1, 2)) -> f32[n] <by = (1, 2)>");
  CHECK(help("sum([1, ") == "none");
  CHECK(help("let sum = split(\"a\")[0]\nsum(") == "none");
  CHECK(help("unknown(") == "none");
  CHECK(help("sum(1)") == "none");
}

TEST_CASE("the name under the cursor is told about") {
  Workspace workspace(small_library(), find_helper);
  const std::string text = "import \"./helper.tsl\" as h\nlet y = h.half(1).sum() + mean(y)";
  const auto about = [&](const std::string& name) {
    const auto found = hover(workspace, text, text.find(name));
    return found ? text.substr(found->begin, found->end - found->begin) + ": " + found->text : "nothing";
  };
  CHECK(about("half(") == "half: half(x)\nhalf of x");
  CHECK(about("sum") == "sum: sum(x: array, axis: integers | nil = nil)\nadds the elements");
  CHECK(about("mean") == "mean: mean(x, axis: int | nil = nil)\nthe mean of the elements");
  CHECK(about("h.") == "h: module helper");
  CHECK(about("y =") == "y: let y = h.half(1).sum() + mean(y)");
  CHECK(about("+") == "nothing");
}

TEST_CASE("a variable is found where it is declared and used, and others of its name are not") {
  Workspace workspace(small_library());
  const std::string text =
      "fn scaled(x: f32[n], by) -> f32[n] {\n  let x2 = x * by\n  (fn(x) = x + n)(x2)\n}\nlet x = scaled([1.0], by: "
      "2)\n"
      "print(x, scaled(x, ";
  const auto found = [&](size_t offset) {
    const auto occurrences = find_occurrences(workspace, text, offset);
    if (!occurrences) return Texts{"none"};
    Texts places{fmt::format("{}", occurrences->declaration.begin)};
    for (const Span span : occurrences->spans)
      places.push_back(fmt::format("{}@{}", text.substr(span.begin, span.end - span.begin), span.begin));
    return places;
  };
  CHECK(found(text.find("scaled(x, ", 50)) == Texts{"3", "scaled@3", "scaled@87", "scaled@117"});
  CHECK(found(text.find("x * by")) == Texts{"10", "x@10", "x@48"});
  CHECK(found(text.find("n]")) == Texts{"17", "n@17", "n@32", "n@70"});
  CHECK(found(text.find("by")) == Texts{"21", "by@21", "by@52"});
  CHECK(found(text.find("print")) == Texts{"none"});
}

TEST_CASE("completions are formatted as JSON") {
  Workspace workspace(small_library());
  const std::string text = "mean(1, a";
  const std::string json = completion_json(complete(workspace, text, 9), call_help(workspace, text, 9));
  CHECK(json.find(R"({"begin":8,"candidates":[{"text":"axis: ","kind":"argument","doc":"axis: int | nil = nil"},)") ==
        0);
  const std::string call = R"json({"declaration":"mean(x, axis: int | nil = nil)","parameters":[[5,6],[8,29]],)json";
  CHECK_THAT(json, Catch::Contains("\"call\":" + call + R"("active":1,"doc":"the mean of the elements"}})"));
  CHECK(completion_json({}, {}) == R"({"begin":0,"candidates":[],"call":null})");
}
