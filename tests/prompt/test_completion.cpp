// Tests what the prompt completes.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "prompt/completion.h"
#include "support/session.h"

namespace fs = std::filesystem;

using tsl::Session;
using Candidates = std::vector<std::string>;

namespace {

Candidates completed(Session& s, const std::string& text) {
  return tsl::prompt::complete(s.engine, text, text.size()).candidates;
}

bool has(const Candidates& candidates, const std::string& candidate) {
  return std::find(candidates.begin(), candidates.end(), candidate) != candidates.end();
}

}  // namespace

TEST_CASE("names of variables, builtins and keywords are completed") {
  Session s;
  s.engine.run_line("let weights = 1; let width = 2");
  CHECK(completed(s, "we") == Candidates{"weights"});
  const Candidates found = completed(s, "1 + w");
  CHECK(std::is_sorted(found.begin(), found.end()));
  for (const char* each : {"weights", "where", "while", "width", "with_range"}) CHECK(has(found, each));
  CHECK(completed(s, "layer_n") == Candidates{"layer_norm"});
  CHECK(completed(s, "contin") == Candidates{"continue"});
  CHECK(completed(s, "let there = 1; ther") == Candidates{"there"});
  CHECK(completed(s, "nothing_of_this_name").empty());
}

TEST_CASE("what is completed begins at the word under the cursor") {
  Session s;
  const auto found = tsl::prompt::complete(s.engine, "let é = layer_n + 1", 16);
  CHECK(found.begin == 9);
  CHECK(found.candidates == Candidates{"layer_norm"});
}

TEST_CASE("fields are completed: of records, of what they hold, and of tensors") {
  Session s;
  s.engine.run_line("let p = {first: {weight: ones([2]), bias: 1}, second: 2}");
  CHECK(completed(s, "p.fi") == Candidates{"first"});
  CHECK(completed(s, "p.first.we") == Candidates{"weight"});
  CHECK(completed(s, "f(p.first.weight.sha") == Candidates{"shape"});
  CHECK(has(completed(s, "p.first.weight.resh"), "reshape("));
  CHECK(completed(s, "let p = p.fi") == Candidates{"first"});
  CHECK(completed(s, "unknown.fi").empty());
  s.engine.run_line("let odd = {\"\": 1, plain: 2}");
  CHECK(has(completed(s, "odd."), "plain"));
  CHECK_FALSE(has(completed(s, "odd."), ""));
}

TEST_CASE("fields come before methods") {
  Session s;
  s.engine.run_line("let layer = {weight: ones([2]), at: 1, zeta: 2}");
  const Candidates found = completed(s, "layer.");
  CHECK(Candidates(found.begin(), found.begin() + 3) == Candidates{"at", "weight", "zeta"});
  CHECK(has(found, "keys("));
  s.engine.run_line("let x = ones([2])");
  const Candidates of_tensor = completed(s, "x.");
  CHECK_FALSE(std::find(of_tensor.begin(), of_tensor.end(), "shape") >
              std::find(of_tensor.begin(), of_tensor.end(), "abs("));
}

TEST_CASE("methods are those builtins that take the value first") {
  Session s;
  s.engine.run_line("let text = \"a b\"");
  CHECK(has(completed(s, "text."), "split("));
  CHECK_FALSE(has(completed(s, "text."), "sqrt("));
}

TEST_CASE("the bracket of a call that is there is not completed again") {
  Session s;
  s.engine.run_line("import nn");
  const std::string_view text = "nn.lin(x)";
  CHECK(tsl::prompt::complete(s.engine, text, 6).candidates == Candidates{"linear", "linear_init"});
  CHECK(tsl::prompt::complete(s.engine, text.substr(0, 6), 6).candidates == Candidates{"linear(", "linear_init("});
}

TEST_CASE("parameters of the call come first, as named arguments") {
  Session s;
  s.engine.run_line("fn scaled(x, factor = 2, offset = 0) = x * factor + offset");
  CHECK(completed(s, "scaled(1, fac") == Candidates{"factor: ", "factorial"});
  CHECK(completed(s, "scaled(1, off") == Candidates{"offset: "});
  CHECK(completed(s, "sum(ones([2, 3]), ax").at(0) == "axis: ");
  CHECK(completed(s, "scaled([1, 2], fac") == Candidates{"factor: ", "factorial"});
  CHECK(completed(s, "scaled((1), fac") == Candidates{"factor: ", "factorial"});
  CHECK_FALSE(has(completed(s, "[scaled(1), fac"), "factor: "));
  s.engine.run_line("let slope = grad(scaled)");
  CHECK(completed(s, "slope(1, fac") == Candidates{"factor: ", "factorial"});
}

TEST_CASE("modules and what they export are completed") {
  Session s;
  CHECK(has(completed(s, "import "), "nn"));
  CHECK(has(completed(s, "from opt"), "optim"));
  CHECK(has(completed(s, "from nn import lin"), "linear"));
  s.engine.run_line("import nn");
  CHECK(completed(s, "nn.lin") == Candidates{"linear(", "linear_init("});
  const Candidates arguments = completed(s, "nn.linear(x, w, b");
  CHECK(arguments.at(0) == "b: ");
  CHECK(has(arguments, "bool"));
}

TEST_CASE("what an entry itself declares and imports is known, files included, and runs nothing") {
  Session s;
  const fs::path file = fs::temp_directory_path() / ("tsl_module_" + std::to_string(getpid()) + ".tsl");
  std::ofstream(file) << "print(\"it ran\")\nfn halved(x, by = 2) = x / by\n";
  const std::string import = "import \"" + file.string() + "\" as own\n";
  CHECK(completed(s, "import nn\nnn.lin") == Candidates{"linear(", "linear_init("});
  CHECK(completed(s, import + "own.ha") == Candidates{"halved("});
  CHECK(completed(s, import + "own.halved(1, b").at(0) == "by: ");
  CHECK(completed(s, "from \"" + file.string() + "\" import ") == Candidates{"halved"});
  CHECK(completed(s, "fn scaled(x, factor) = x * factor\nscaled(1, fac").at(0) == "factor: ");
  CHECK(completed(s, "ones([2]).sum(ax").at(0) == "axis: ");
  CHECK(s.printed.empty());
  fs::remove(file);
}

TEST_CASE("files are completed in texts") {
  Session s;
  const fs::path folder = fs::temp_directory_path() / ("tsl_complete_" + std::to_string(getpid()));
  fs::create_directories(folder / "data");
  std::ofstream(folder / "digits.npy") << "";
  CHECK(completed(s, "load(\"" + folder.string() + "/d") == Candidates{"data/", "digits.npy"});
  CHECK(completed(s, ":load " + folder.string() + "/di") == Candidates{"digits.npy"});
  CHECK(completed(s, ":cd " + folder.string() + "/da") == Candidates{"data/"});
  CHECK(completed(s, "!ls -l " + folder.string() + "/di") == Candidates{"digits.npy"});
  fs::remove_all(folder);
}

TEST_CASE("commands and their arguments are completed") {
  Session s;
  CHECK(completed(s, ":pro") == Candidates{":profile"});
  CHECK(completed(s, ":re") == Candidates{":reload", ":reset"});
  CHECK(completed(s, ":time layer_n") == Candidates{"layer_norm"});
  CHECK(completed(s, "?layer_n") == Candidates{"layer_norm"});
  CHECK(completed(s, ":va") == Candidates{":vars"});
}

TEST_CASE("the common beginning of candidates ends where they differ") {
  CHECK(tsl::prompt::common_prefix({"reload", "reset"}) == "re");
  CHECK(tsl::prompt::common_prefix({"one"}) == "one");
  CHECK(tsl::prompt::common_prefix({"a", "b"}).empty());
  CHECK(tsl::prompt::common_prefix({}).empty());
}
