// Tests imports: finding modules, running them once, and the errors.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "support/session.h"

namespace fs = std::filesystem;

using tsl::Error;
using tsl::Session;

namespace {

/// A temporary folder of scripts.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tsl_modules_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Error error_of(Session& s, const std::string& file) {
  try {
    s.engine.run_file(file);
  } catch (const tsl::Failure& failure) { return failure.error(); }
  FAIL("no error was raised");
  return {};
}

}  // namespace

TEST_CASE("a module is found beside the importing file and runs once") {
  Session s;
  Folder folder;
  folder.write(
      "lib/util.tsl",
      "## Helps.\nprint(\"util runs\")\nvar count = 0\nfn next() { count += 1; return count }\nlet pair = (1, 2)\n");
  folder.write("lib/other.tsl", "import \"./util.tsl\" as util\nfn next() = util.next()\n");
  const std::string main = folder.write("main.tsl",
                                        "import \"./lib/util.tsl\" as util\nimport \"./lib/other.tsl\" as other\nfrom "
                                        "\"./lib/util.tsl\" import next as step, pair\n"
                                        "print(util.next(), other.next(), step(), util.count, pair)\n");
  s.engine.run_file(main);
  CHECK(s.printed == "util runs\n1 2 3 3 (1, 2)\n");
}

TEST_CASE("parts of the standard library are no files for a script") {
  Session s;
  Folder folder;
  const std::string main = folder.write("main.tsl", "import \"./nn/losses.tsl\" as losses\nprint(losses.mine)\n");
  CHECK(error_of(s, main).message.find("cannot find module") == 0);
  folder.write("nn/losses.tsl", "import nn\nlet mine = nn.mse(1.0, 3.0)\n");
  s.engine.run_file(main);
  CHECK(s.printed == "4.0\n");
}

TEST_CASE("compiled help looks at a module as it is now") {
  Session s;
  Folder folder;
  folder.write("changing.tsl", "var f = fn(x) = x\nfn change(v) { f = v }\n");
  s.engine.run_file(folder.write("main.tsl",
                                 "import \"./changing.tsl\" as m\n@compile\nfn show() { help(m) "
                                 "}\nshow()\nm.change(5)\nshow()\nm.change(fn(a, b) = a)\nshow()\n"));
  const std::string head = "module changing\n  change(v)\n  ";
  CHECK(s.printed == head + "<lambda>(x)\n" + head + "f\n" + head + "<lambda>(a, b)\n");
}

TEST_CASE("bare names and paths are looked up in TSL_PATH") {
  Session s;
  Folder folder;
  folder.write("a/mine.tsl", "let x = 1\n");
  folder.write("b/yours.tsl", "let x = 2\n");
  setenv("TSL_PATH", (folder.path() + "/a:" + folder.path() + "/b").c_str(), 1);
  CHECK(s.eval("import mine\nimport yours\nimport \"yours.tsl\" as same\n(mine.x, yours.x, same.x)") == "(1, 2, 2)");
  unsetenv("TSL_PATH");
  CHECK(s.error_text("import nosuch").find("io: cannot find module 'nosuch'") == 0);
}

TEST_CASE("a failed import lists what was tried") {
  Session s;
  Folder folder;
  setenv("TSL_PATH", (folder.path() + "/elsewhere").c_str(), 1);
  const Error e = s.error("import nosuch");
  unsetenv("TSL_PATH");
  REQUIRE(!e.notes.empty());
  CHECK(e.notes[0].find("the standard library") != std::string::npos);
  CHECK(e.notes[0].find("elsewhere/nosuch.tsl") != std::string::npos);
}

TEST_CASE("a compiled function looks for a module's file each time") {
  Session s;
  Folder folder;
  const std::string late = "@compile\nfn late(n) {\n  try { import \"" + folder.path() +
                           "/late.tsl\" as m; return m.x * n } catch e { return e.kind }\n}\n";
  const std::string create = "write_text(\"" + folder.path() + "/late.tsl\", \"let x = 7\")\n";
  CHECK(s.output(late + "print(late(2), late(3))\n" + create + "print(late(2), late(3))\n") == "io io\n14 21\n");
}

TEST_CASE("a circle of imports is an error that names it") {
  Session s;
  Folder folder;
  folder.write("a.tsl", "import \"./b.tsl\" as b\n");
  folder.write("b.tsl", "import \"./a.tsl\" as a\n");
  const Error e = error_of(s, folder.write("main.tsl", "import \"./a.tsl\" as a\n"));
  CHECK(e.message.find("circle") != std::string::npos);
  CHECK(e.message.find("a.tsl → ") != std::string::npos);
  CHECK(e.message.find("b.tsl → ") != std::string::npos);
  const Error self = error_of(s, folder.write("self.tsl", "import \"./self.tsl\" as me\n"));
  CHECK(self.message.find("circle") != std::string::npos);
}

TEST_CASE("errors inside a module show the import") {
  Session s;
  Folder folder;
  folder.write("bad.tsl", "let x = 1\nlet y = x.nothing\n");
  const Error e = error_of(s, folder.write("main.tsl", "\nimport \"./bad.tsl\" as bad\n"));
  CHECK(s.line_of(e) == 2);
  REQUIRE(e.called_from.size() == 1);
  CHECK(e.called_from[0].function == "<main>");
  folder.write("worse.tsl", "let = \n");
  const Error syntax = error_of(s, folder.write("main2.tsl", "import \"./worse.tsl\" as w\n"));
  CHECK(syntax.kind() == tsl::ErrorKind::syntax);
  CHECK(s.engine.sources().get(syntax.span.source).name().find("worse.tsl") != std::string::npos);
}

TEST_CASE("members that a module lacks") {
  Session s;
  Folder folder;
  folder.write("m.tsl", "fn linear() = 1\n");
  const Error e = error_of(s, folder.write("main.tsl", "import \"./m.tsl\" as m\nm.linaer()\n"));
  CHECK(e.message == "module 'm' has no 'linaer'");
  REQUIRE(e.hints.size() == 1);
  CHECK(e.hints[0] == "did you mean 'linear'?");
  CHECK(error_of(s, folder.write("main3.tsl", "from \"./m.tsl\" import nope\n")).message == "module 'm' has no 'nope'");
}
