// Tests dump folders, and how they are compared.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "report/dump.h"
#include "report/dump_format.h"
#include "support/contains.h"
#include "support/session.h"

using namespace tsl;
using namespace tsl::report;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() / ("tsl_dump_" + std::to_string(getpid()) + "_" + name)) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  /// Returns the folder of a function's specialisation; "" if there is none.
  std::string of(const std::string& function) const {
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && name.starts_with(function + ".")) return name;
    }
    return "";
  }
  bool has(const std::string& name) const { return fs::exists(path_ / name); }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  const fs::path path_;
};

report::Recording record(const std::string& program) {
  EngineOptions options;
  options.record = options.compile_all = true;
  Session s(options);
  s.output(program);
  return *s.engine.recording();
}

void dump(const std::string& program, const std::string& folder) {
  prepare_dump(folder);
  report::Recording recording = record(program);
  recording.cache_key = "tsl test\n";
  write_dump(recording, folder);
}

std::string failure_of(const std::string& folder) {
  try {
    prepare_dump(folder);
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::io);
    return failure.error().message;
  }
  return "";
}

constexpr const char* kProgram =
    "@compile\nfn step(x, w) {\n  let h = x @ w\n  return relu(h + 1.0)\n}\nlet y = step(ones([4, 4]), ones([4, 4]))\n";

}  // namespace

TEST_CASE("a dump has a file for each stage of a specialisation", "[report]") {
  const Folder folder("stages");
  dump(kProgram, folder.path());
  const std::string step = folder.of("step");
  CHECK(step.size() == std::string("step.3fa2c1d0").size());
  CHECK(contains(folder.read("version.txt"), "tsl dump, format 4\ntsl test\n"));
  CHECK(contains(folder.read(step + "/01-ast.txt"), "fn step(x, w) {\n  let h = x @ w\n"));
  CHECK(contains(folder.read(step + "/02-graph.txt"), "matmul(%0, %1) : f32[4, 4]  # test.tsl:3"));
  CHECK(contains(folder.read(step + "/03-passes.txt"), "after dead code: no change"));
  CHECK(contains(folder.read(step + "/04-fused.txt"), "2 groups"));
  CHECK(contains(folder.read(step + "/guards.txt"), "x (test.tsl:2) is tensor f32[4, 4]"));
  CHECK(contains(folder.read(step + "/plan.txt"), "2 kernels in 2 launches"));
  CHECK(contains(folder.read(step + "/plan.json"), "\"template\":\"pointwise\""));
  CHECK(contains(folder.read(step + "/graph.dot"), "digraph \"step:2#0\""));
  CHECK(contains(folder.read("explain.txt"), "step:2#0"));
  size_t kernels = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path() + "/" + step + "/kernels")) {
    const std::string text = folder.read(step + "/kernels/" + entry.path().filename().string());
    CHECK(contains(text, "// step:2#0, launch "));
    CHECK((contains(text, "// matmul (test.tsl:3): x @ w") || contains(text, "// add (test.tsl:4): h + 1.0")));
    ++kernels;
  }
  CHECK(kernels >= 1);
}

TEST_CASE("a dump replaces an earlier one, but no other files", "[report]") {
  const Folder folder("replace");
  dump(kProgram, folder.path());
  dump("@compile\nfn g(x) = x + 1.0\nlet y = g(ones([3]))\n", folder.path());
  CHECK(folder.of("step").empty());
  CHECK(!folder.of("g").empty());
  std::ofstream(folder.path() + "/version.txt") << "tsl dump, format 999\n";
  CHECK(failure_of(folder.path()).empty());  // of another version
  std::ofstream(folder.path() + "/thesis.tex") << "years of work";
  CHECK(contains(failure_of(folder.path()), "thesis.tex is no part of it"));
  CHECK(folder.has("thesis.tex"));
  const Folder other("other");
  fs::create_directories(other.path());
  std::ofstream(other.path() + "/notes.txt") << "mine";
  CHECK(contains(failure_of(other.path()), "the folder is not empty, and no dump of tsl"));
  CHECK(other.has("notes.txt"));
  CHECK(contains(failure_of(other.path() + "/notes.txt"), "cannot make the folder"));
  CHECK(contains(failure_of("/proc/nothing/here"), "cannot make the folder"));
}

TEST_CASE("a disk that is full is an error of the program", "[report]") {
  if (!fs::exists("/dev/full")) return;
  CHECK_THROWS_AS(write_file("/dev/full", std::string(100'000, 'x')), Failure);
  CHECK_THROWS_AS(write_file("/proc/nothing/x", "x"), Failure);
}

TEST_CASE("a comparison of dumps names what changed, by specialisation and stage", "[report]") {
  const Folder a("a"), b("b"), c("c");
  dump(kProgram, a.path());
  dump(kProgram, b.path());
  CHECK(diff_dumps(a.path(), b.path()).empty());
  std::string changed = kProgram;
  changed.replace(changed.find("relu"), 4, "tanh");
  dump(changed + "@compile\nfn g(x) = x + 1.0\nlet z = g(ones([3]))\n", c.path());
  std::ofstream(c.path() + "/version.txt") << "tsl dump, format 4\ntsl other\n";
  const std::string text = diff_dumps(a.path(), c.path());
  INFO(text);
  CHECK(contains(text, "cache key\n  version.txt\n    - tsl test\n    + tsl other\n"));
  CHECK(contains(text, a.of("step") + ", now " + c.of("step") +
                           "\n  01-ast.txt\n    -   return relu(h + 1.0)\n    +   return tanh(h + 1.0)\n"));
  CHECK(contains(text, "  02-graph.txt\n"));
  CHECK(contains(text, "+ " + c.of("g") + ": only in "));
  std::ofstream(b.path() + "/version.txt") << "tsl dump, format 999\ntsl test\n";
  CHECK(contains(diff_dumps(a.path(), b.path()), "    - tsl dump, format 4\n    + tsl dump, format 999\n"));
  CHECK_THROWS_AS(diff_dumps(a.path(), "/proc"), Failure);
}

TEST_CASE("dumps are compared after an edit above a function and in it", "[report]") {
  const Folder a("lines"), b("moved"), c("changed");
  const std::string program = "fn f(x) = exp(x) + 1.0\nlet y = f(ones([4]))\nfor i in 0..2 { f(y + i) }\n";
  dump(program, a.path());
  dump("# new\n\nlet unused = [1,\n  2]\n" + program, b.path());
  CHECK(diff_dumps(a.path(), b.path()).empty());
  CHECK(a.of("f") == b.of("f"));
  dump("# new\nfn f(x) = exp(x) - 1.0\nlet y = f(ones([4]))\nfor i in 0..2 { f(y + i) }\n", c.path());
  const std::string text = diff_dumps(a.path(), c.path());
  INFO(text);
  CHECK(contains(text, a.of("f") + ", now " + c.of("f") + "\n  01-ast.txt\n    - fn f(x) = exp(x) + 1.0\n"));
  CHECK(contains(text, a.of("loop") + ", now " + c.of("loop") + "\n"));
  for (const std::string& folder : {a.of("f"), c.of("f"), a.of("loop"), c.of("loop")})
    CHECK(!contains(text, folder + ": only in"));
  CHECK(without_lines("step:12#0 (a.tsl:12:3) on cuda:1, <stdin>:4, x[1:5]") ==
        "step:_#0 (a.tsl:_:3) on cuda:1, <stdin>:_, x[1:5]");
}

TEST_CASE("names of functions that are no file names are replaced", "[report]") {
  const Folder folder("names");
  dump("let f = fn(x) = x + 1.0\nlet y = f(ones([3]))\n", folder.path());
  CHECK(folder.has(folder.of("_lambda_") + "/02-graph.txt"));
}
