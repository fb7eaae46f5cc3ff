// Tests the command line, exit codes, the prompt and `tsl test`.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "catch.h"
#include "cli/program.h"
#ifdef TSL_HAS_CUDA
#include "backend/cuda/cache/disk_cache.h"
#endif

namespace fs = std::filesystem;

using namespace tsl;

namespace {

struct Outcome {
  int code;
  std::string out, err;
};

/// Runs the program in this process. Scripts print to the C stream stdout, which is redirected to a file, or to
/// `output`.
Outcome run(std::vector<std::string> args, const std::string& input = "", const char* output = nullptr) {
  args.insert(args.begin(), "tsl");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  std::istringstream in(input);
  std::ostringstream out, err;
  std::streambuf* const streams[] = {std::cin.rdbuf(in.rdbuf()), std::cout.rdbuf(out.rdbuf()),
                                     std::cerr.rdbuf(err.rdbuf())};
  std::cin.clear();
  std::fflush(stdout);
  const int saved = dup(STDOUT_FILENO), saved_input = dup(STDIN_FILENO);
  std::FILE* const typed = std::tmpfile();  // what `input` is for input()
  std::fwrite(input.data(), 1, input.size(), typed);
  std::rewind(typed);
  dup2(fileno(typed), STDIN_FILENO);
  std::FILE* caught = output ? std::fopen(output, "w+") : std::tmpfile();
  dup2(fileno(caught), STDOUT_FILENO);
  const int code = run_program(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  std::clearerr(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  dup2(saved_input, STDIN_FILENO);
  close(saved_input);
  std::fclose(typed);
  std::cin.rdbuf(streams[0]);
  std::cout.rdbuf(streams[1]);
  std::cerr.rdbuf(streams[2]);
  std::string printed;
  std::rewind(caught);
  for (int c; !output && (c = std::fgetc(caught)) != EOF;) printed += static_cast<char>(c);
  std::fclose(caught);
  return {code, out.str() + printed, err.str()};
}

std::string script(const std::string& name, const std::string& text) {
  const fs::path folder = fs::temp_directory_path() / ("tsl_cli_" + std::to_string(getpid()));
  fs::create_directories((folder / name).parent_path());
  std::ofstream(folder / name) << text;
  return (folder / name).string();
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the folder of a dump's only specialisation.
std::string specialisation_in(const std::string& dump) {
  for (const fs::directory_entry& entry : fs::directory_iterator(dump)) {
    if (entry.is_directory()) return entry.path().string();
  }
  FAIL("the dump has no specialisation: " << dump);
  return "";
}

}  // namespace

TEST_CASE("warnings go to standard error, or are off, or are errors") {
  const std::string code = "let x = 1\nx + 1\nprint(x)";
  const Outcome shown = run({"-e", code});
  CHECK(shown.code == 0);
  CHECK(shown.out == "1\n");
  CHECK(shown.err ==
        "warning: this value is not used, and computing it has no effect\n"
        "  --> <command line>:2:1\n   2 | x + 1\n     | ^^^^^\n");
  CHECK(run({"--warn", "on", "-e", code}).err == shown.err);
  CHECK(run({"--check", "-e", code}).err == shown.err);
  CHECK(run({"--warn", "off", "-e", code}).err == "");
  const Outcome failed = run({"--warn", "error", "-e", code});
  CHECK(failed.code == 1);
  CHECK(failed.out == "");
  CHECK(failed.err.rfind("error[warning]: this value is not used", 0) == 0);
  CHECK(run({"--warn", "some", "-e", code}).code == 2);
  CHECK(run({"-i"}, "1 + 1\nlet y = 2\ny\n").err.find("warning") == std::string::npos);
}

TEST_CASE("tsl test shows warnings only if it is asked to") {
  const std::string path = script("warned.tsl", "let x = 1\nx + 1\nprint(x)  # expect: 1");
  CHECK(run({"test", path}).err == "");
  CHECK(run({"test", path}).code == 0);
  CHECK(run({"test", "--warn", "on", path}).err.find("warning: ") != std::string::npos);
  CHECK(run({"test", "--warn", "error", path}).code == 1);
}

TEST_CASE("scripts, code and standard input") {
  CHECK(run({script("hello.tsl", "print(\"hello\")")}).out == "hello\n");
  CHECK(run({"-e", "print(1 + 1)"}).out == "2\n");
  CHECK(run({"-e", "1 + 1"}).out == "");
  CHECK(run({"-"}, "print(3)").out == "3\n");
  CHECK(run({"--version"}).out.find("tsl ") == 0);
  const std::string help = run({"--help"}).out;
  CHECK(help.find("Exit codes") != std::string::npos);
  CHECK(help.find("--no-compile  ") != std::string::npos);
  CHECK(help.find("--numerics exact|fast  ") != std::string::npos);
}

TEST_CASE("exit codes") {
  CHECK(run({"-e", "let x = 1"}).code == 0);
  CHECK(run({"-e", "error(\"x\")"}).code == 1);
  for (const char* tier : {"--no-compile", "--compile"}) {
    const Outcome left = run({tier, "-e", "fn f() { try { exit(7) } catch e { print(2) } }\nprint(1)\nf()\nprint(3)"});
    CHECK(left.code == 7);
    CHECK(left.out == "1\n");
    CHECK(left.err.empty());
  }
  CHECK(run({"-e", "exit()"}).code == 0);
  CHECK(run({"-i"}, "exit(9)\n1\n").code == 9);
  CHECK(run({"/no/such/file.tsl"}).code == 1);
  CHECK(run({"--no-such-option"}).code == 2);
  CHECK(run({"--color", "sometimes", "-e", "1"}).code == 2);
  CHECK(run({"test"}).code == 2);
  CHECK(run({"-e", "let = 1"}).code == 65);
  CHECK(run({"--device", "cuda", "-e", "1"}).err.find("error[device]") == 0);
}

TEST_CASE("tsl explain runs a script, then reports on it, also if it fails") {
  const std::string path =
      script("explain.tsl", "fn f(x) = x + 1.0\nprint(f(ones([2])))\nif len(args()) > 0 { error(\"oh\") }\n");
  const Outcome done = run({"explain", "--compile", path});
  CHECK(done.code == 0);
  CHECK(done.err == run({"--compile", path}).out);  // the report has standard output
  CHECK(done.out.find("the program: ") == 0);
  CHECK(done.out.find("f:1#0") != std::string::npos);
  const Outcome failed = run({"explain", "--compile", path, "now"});
  CHECK(failed.code == 1);
  CHECK(failed.err.find("error[user]: oh") != std::string::npos);
  CHECK(failed.out.find("f:1#0") != std::string::npos);
  CHECK(run({"explain", "--json", path}).out.find("{\n \"version\": 2,") == 0);
  const std::string page = path + ".html", report = path + ".txt";
  const Outcome paged = run({"explain", "--html", page, path});
  CHECK(paged.err.empty());
  CHECK(paged.out == run({path}).out);
  CHECK(fs::file_size(page) > 10'000);
  CHECK(run({"explain", "--to", report, path}).err.empty());
  CHECK(fs::file_size(report) > 100);
  CHECK(run({"explain"}).code == 2);
  CHECK(run({"explain", "--html", "/proc/no/page.html", path}).err.find("error[io]: cannot write /proc/no/page.html") ==
        0);
}

TEST_CASE("tsl explain tells what the script does without it: nothing is compiled that was not to be") {
  const std::string path =
      script("tiers.tsl",
             "fn f(x) = x + 1.0\n@compile\nfn g(x) {\n  var y = x\n  for i in 0..2 { y = y * 2.0 }\n"
             "  return y\n}\nprint(f(ones([2])))\nif len(args()) > 0 { print(g(ones([2]))) }\n");
  const Outcome eager = run({"explain", path});
  CHECK(eager.out.find("nothing was compiled: no call reached a function with @compile") != std::string::npos);
  CHECK(eager.out.find("k_add__") != std::string::npos);  // of a single op, with its line
  CHECK(eager.out.find("add (" + path + ":1)") != std::string::npos);
  CHECK(run({"explain", "--no-compile", path, "g"}).out.find("nothing was compiled: --no-compile") !=
        std::string::npos);
  const Outcome annotated = run({"explain", path, "g"});
  CHECK(annotated.out.find("g:3#0") != std::string::npos);
  CHECK(annotated.out.find("f:1") == std::string::npos);
  CHECK(run({"explain", "--compile", path, "g"}).out.find("f:1#0") != std::string::npos);
}

TEST_CASE("tsl explain tells of one function, and at most a screen of each region") {
  std::string text = "fn small(x) = x + 1.0\n@compile\nfn large(x, w) {\n  var y = x\n";
  for (int i = 0; i < 60; ++i) text += "  y = relu(y @ w) + exp(y)\n";
  text += "  return y\n}\nlet a = small(ones([3]))\nlet b = large(ones([8, 8]), ones([8, 8]))\n";
  const std::string path = script("screens.tsl", text);
  const auto lines = [](const std::string& out) { return std::count(out.begin(), out.end(), '\n'); };
  const Outcome brief = run({"explain", "--compile", "--function", "large", path});
  CHECK(brief.code == 0);
  CHECK(brief.out.find("large: ") == 0);
  CHECK(brief.out.find("small") == std::string::npos);
  CHECK(brief.out.find("more") != std::string::npos);
  CHECK(lines(brief.out) < 50);
  CHECK(lines(run({"explain", "--compile", "--function", "large", "--all", path}).out) > 200);
  const Outcome unknown = run({"explain", "--compile", "--function", "smal", path});
  CHECK(unknown.code == 1);
  CHECK(unknown.err.find("did you mean `small`?") != std::string::npos);
}

TEST_CASE("a profile is written after the run, also of a script that fails half-way") {
  const std::string path =
      script("profile.tsl", "@compile\nfn f(x) = x + 1.0\nprint(f(ones([2])))\nif len(args()) > 0 { error(\"oh\") }\n");
  const std::string trace = path + ".trace.json", json = path + ".json";
  const Outcome done = run({"--profile=" + trace, "--profile-json", json, path});
  CHECK(done.code == 0);
  CHECK(done.out == run({path}).out);
  CHECK(done.err.find("profile of " + path) == 0);
  CHECK(done.err.find("k_add__") != std::string::npos);
  CHECK(fs::file_size(trace) > 1000);
  CHECK(fs::file_size(json) > 1000);
  const Outcome failed = run({"--profile", path, "now"});
  CHECK(failed.code == 1);
  CHECK(failed.err.find("error[user]: oh") == 0);
  CHECK(failed.err.find("k_add__") != std::string::npos);
  CHECK(failed.err.find("100.00 %") != std::string::npos);
  CHECK(run({"--profile-json", json, path}).err.empty());
  CHECK(run({"--profile", trace, path}).code == 2);
  CHECK(run({"--profile", "-e", "let x = 1"}).err.find("profile of <command line>") == 0);
  CHECK(run({"--timings", path}).err.find("f:2#0") != std::string::npos);
  for (const std::string option : {"--profile=/proc/no/trace.json", "--profile-json=/proc/no/profile.json"}) {
    const Outcome refused = run({option, path});
    CHECK(refused.code == 1);
    CHECK(refused.out.empty());  // the script does not run
    CHECK(refused.err.find("error[io]: cannot write /proc/no/") == 0);
  }
  for (const std::string option : {"--profile=", "--profile-json="}) {
    const Outcome refused = run({option + path, path});
    CHECK(refused.err.find("error[io]: a report would replace the script") == 0);
    CHECK(fs::file_size(path) > 50);
  }
}

TEST_CASE("a script is dumped, and dumps are compared") {
  const std::string path = script("dump.tsl", "@compile\nfn f(x) = x + 1.0\nprint(f(ones([2])))\n");
  const std::string a = path + ".a", b = path + ".b";
  CHECK(run({"--dump", a, path}).code == 0);
  CHECK(run({"--dump", b, path}).code == 0);
  CHECK(fs::exists(specialisation_in(a) + "/02-graph.txt"));
  CHECK_THAT(text_of(a + "/version.txt"), Catch::Contains("\narchitecture "));
  CHECK(run({"diff", a, b}).code == 0);
  CHECK(run({"diff", a, b}).out.empty());
  CHECK(run({"--numerics", "fast", "--dump", b, path}).code == 0);
  const Outcome changed = run({"diff", a, b});
  CHECK(changed.code == 1);
  CHECK(changed.out.find("- numerics exact\n    + numerics fast\n") != std::string::npos);
  CHECK(run({"diff", a}).code == 2);
  CHECK(run({"diff", a, "/proc"}).code == 2);
  const Outcome refused = run({"--dump", "/proc/no/folder", path});
  CHECK(refused.code == 1);
  CHECK(refused.out.empty());  // the script does not run
  CHECK(refused.err.find("error[io]: cannot make the folder /proc/no/folder") == 0);
  CHECK(run({script("args.tsl", "print(args())"), "explain", "diff"}).out == "[\"explain\", \"diff\"]\n");
}

TEST_CASE("standard input that is no terminal is a script") {
  CHECK(run({}, "print(3)\n4").out == "3\n");  // no values are shown
  const Outcome failed = run({}, "print(1)\nerror(\"oh\")\nprint(2)\n");
  CHECK(failed.code == 1);
  CHECK(failed.out == "1\n");
  CHECK(failed.err.find("error[user]: oh\n  --> <stdin>:2:1") == 0);
  CHECK(run({}, "let = 1").code == 65);
  CHECK(run({"--check"}, "print(nosuch)").code == 1);
  CHECK(run({}, "").code == 0);
}

TEST_CASE("a source that does not end is an error") {
  if (!fs::exists("/dev/zero")) return;
  const Outcome outcome = run({"/dev/zero"});
  CHECK(outcome.code == 1);
  CHECK(outcome.err == "error[limit]: cannot read /dev/zero: a source may take 256 MiB\n");
}

TEST_CASE("checking runs nothing") {
  CHECK(run({"--check", script("check.tsl", "print(1)\nlet x = ")}).code == 65);
  const Outcome fine = run({"--check", script("fine.tsl", "print(1)")});
  CHECK(fine.code == 0);
  CHECK(fine.out == "");
  CHECK(run({"--check", "-e", "print(nosuch)"}).err.find("unknown name 'nosuch'") != std::string::npos);
}

TEST_CASE("checking opens no device, reads imported files, and treats warnings as asked") {
  CHECK(run({"--check", "--device", "cuda:77", "-e", "print(1)"}).code == 0);
  script("check_half.tsl", "print(\"it ran\")\nfn half(x) = x / 2\n");
  const Outcome found = run({"--check", script("check_main.tsl", "import \"./check_half.tsl\" as h\nh.half(1, 2)\n")});
  CHECK(found.code == 1);
  CHECK(found.err.find("error[type]: half takes 1 argument, not 2") == 0);
  CHECK(found.out.empty());
  const std::string code = "let x = 1\nx + 1\nsum()";
  const Outcome strict = run({"--check", "--json", "--warn", "error", "-e", code});
  CHECK(strict.code == 1);
  CHECK(strict.out.find("\"severity\": \"warning\"") == std::string::npos);
  CHECK(strict.out.find("this value is not used") != std::string::npos);
  CHECK(strict.out.find("sum is missing its argument") != std::string::npos);
  CHECK(run({"--check", "--warn", "off", "-e", "let x = 1\nx + 1\nprint(x)"}).err.empty());
  CHECK(run({"--check", "-e", "fn f(x: foo) = x"}).code == 1);
}

TEST_CASE("with --json, errors and warnings of a run are objects, one a line") {
  const Outcome failed = run({"--json", script("json.tsl", "fn f(x) {\n  x + 1\n}\nf(1) // 0\n")});
  CHECK(failed.code == 1);
  const size_t end = failed.err.find('\n');
  REQUIRE(end != std::string::npos);
  const std::string warning = failed.err.substr(0, end), error = failed.err.substr(end + 1);
  CHECK(warning.find(R"("line":2)") != std::string::npos);
  CHECK(warning.find(R"("severity":"warning","kind":"warning","name":"unused-value")") != std::string::npos);
  CHECK(error.find(R"("severity":"error","kind":"type","name":"wrong-operand-type")") != std::string::npos);
  CHECK(error.find('\n') + 1 == error.size());
  const Outcome nested = run({"--json", "-e", "fn f(x) = [1][x]\nf(1)"});
  CHECK(nested.err.find(R"("frames":[{"function":"<main>","file":"<command line>","line":2)") != std::string::npos);
  const Outcome syntax = run({"--json", "-e", "let = 1\nlet = 2"});
  CHECK(syntax.code == 65);
  CHECK(std::count(syntax.err.begin(), syntax.err.end(), '\n') == 2);
}

TEST_CASE("what is not ours on the command line is for the script") {
  Command command;
  const char* argv[] = {"tsl", "--seed", "7", "script.tsl", "--name", "a", "test", "--check"};
  REQUIRE(parse_command(8, const_cast<char**>(argv), command) == -1);
  CHECK(command.kind == Command::Kind::script);
  CHECK(command.script == "script.tsl");
  CHECK(command.engine.seed == 7);
  CHECK(command.check);
  CHECK(command.engine.script_args == std::vector<std::string>{"--name", "a", "test"});
}

TEST_CASE("before the code, what is not ours is a slip") {
  const Outcome slip = run({"--comile", "-e", "print(args())"});
  CHECK(slip.code == 2);
  CHECK(slip.out == "");
  CHECK(slip.err.find("tsl: unknown option --comile; did you mean --compile?\n") == 0);
  CHECK(run({"--comile", "script.tsl"}).err == slip.err);
  CHECK(run({"-e", "print(args())", "--comile", "-5"}).out == "[\"--comile\", \"-5\"]\n");
}

TEST_CASE("errors are shown with their place, in colour if asked") {
  const Outcome plain = run({"-e", "let x = 1\nerror(\"oh\")"});
  CHECK(plain.err.find("error[user]: oh\n  --> <command line>:2:1") == 0);
  CHECK(run({"--color", "always", "-e", "error(\"oh\")"}).err.find("\x1b[") != std::string::npos);
}

TEST_CASE("a picture is printed in 80 columns, in colour if asked") {
  const std::string code =
      "print({drawing: {width: 640, height: 16, shapes: [{draw: \"line\", at: f64([[0, 8], [640, 8]]), ink: "
      "\"#1b7fc4\"}]}})";
  std::string line;
  for (int i = 0; i < 80; ++i) line += "⠤";
  CHECK(run({"-e", code}).out == line + "\n");
  CHECK(run({"--color", "always", "-e", code}).out.find("\x1b[38;2;27;127;196m⠤") == 0);
}

TEST_CASE("options say what they take") {
  for (const char* threads : {"-1", "x", "1.5", "100000"}) CHECK(run({"--threads", threads, "-e", "1"}).code == 2);
  CHECK(run({"--threads", "0", "-e", "1"}).code == 0);
  for (const char* seed : {"x", "1.5", "", "9223372036854775808", "99999999999999999999"})
    CHECK(run({"--seed", seed, "-e", "1"}).code == 2);
  const auto drawn = [](std::vector<std::string> args, const std::string& code) {
    args.insert(args.end(), {"-e", code + "print(rand([1]).item())"});
    return run(args).out;
  };
  CHECK(drawn({"--seed", "-5"}, "") == drawn({}, "seed(-5)\n"));
  CHECK(drawn({"--seed", "010"}, "") == drawn({}, "seed(10)\n"));
}

TEST_CASE("topics of logs have levels, and come from TSL_LOG unless --log is given") {
  const std::string code = "@compile\nfn f(x) = x + 1.0\nprint(f(ones([2]))[0])";
  // Logs go to the C stream stderr, and messages to std::cerr.
  const auto logged = [&](std::vector<std::string> args) {
    args.insert(args.end(), {"--device", "cpu", "-e", code});
    std::FILE* const caught = std::tmpfile();
    const int saved = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
    Outcome outcome = run(args);
    std::fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    std::rewind(caught);
    for (int c; (c = std::fgetc(caught)) != EOF;) outcome.err += static_cast<char>(c);
    std::fclose(caught);
    return outcome;
  };
  const std::string graph = "[graph] f:2#0: 1 ops, 1 inputs, 1 outputs\n";
  CHECK(logged({}).err == "");
  CHECK(logged({"--log", "graph"}).err == graph);
  CHECK(logged({"--log", "graph:debug"}).err ==
        graph +
            "[graph] f:2#0:   %0 = input() : f32[2]\n[graph] f:2#0:   %1 = add(%0, 1) : f32[2]  # <command line>:2\n"
            "[graph] f:2#0:   return %1\n");
  setenv("TSL_LOG", "graph", 1);
  CHECK(logged({}).err == graph);
  CHECK(logged({"--log", "plan:off"}).err == "");
  setenv("TSL_LOG", "graph:loud", 1);
  const Outcome level = logged({});
  CHECK(level.code == 2);
  CHECK(level.err == "tsl: TSL_LOG: unknown level 'loud': one of off, info, debug\n");
  setenv("TSL_LOG", "", 1);
  CHECK(logged({}).err == "");
  unsetenv("TSL_LOG");
  const Outcome topic = run({"--log", "plan,grap", "-e", "1"});
  CHECK(topic.code == 2);
  CHECK(
      topic.err.find("unknown topic 'grap' (did you mean graph?): one of bytecode, recompiles, guards, graph, fusion, "
                     "plan, code, graphs, perf, device, all") != std::string::npos);
}

TEST_CASE("a script that fails has a profile and a trace, and a trace that cannot be written costs no run") {
  const std::string trace = (fs::temp_directory_path() / ("tsl_cli_trace_" + std::to_string(getpid()))).string();
  const Outcome failed = run({"--profile=" + trace, "-e", "let x = ones([1000])\nprint(sum(x).item())\nerror(\"oh\")"});
  CHECK(failed.code == 1);
  CHECK(failed.out == "1000.0\n");
  CHECK(failed.err.find("error[user]: oh") == 0);
  CHECK(failed.err.find("profile of ") != std::string::npos);
  std::ifstream file(trace);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  CHECK(text.find("\"memory of cpu\"") != std::string::npos);
  CHECK(text.find("\n]}\n") != std::string::npos);
  fs::remove(trace);
  const Outcome unwritable = run({"--profile=/no/such/folder/t.json", "-e", "print(1)"});
  CHECK(unwritable.code == 1);
  CHECK(unwritable.out == "");
  CHECK(unwritable.err.find("error[io]: ") == 0);
  CHECK(unwritable.err.find("/no/such/folder/t.json") != std::string::npos);
}

TEST_CASE("output that cannot be written is a failure") {
  if (!fs::exists("/dev/full")) return;
  const Outcome outcome = run({"-e", "print(1)"}, "", "/dev/full");
  CHECK(outcome.code == 1);
  CHECK(outcome.err.find("error[io]: cannot write to standard output: No space left on device") == 0);
  CHECK(run({"-e", "let x = 1"}, "", "/dev/full").code == 0);
}

TEST_CASE("what is saved to standard output stands between what is printed") {
  if (!fs::exists("/dev/stdout")) return;
  CHECK(run({"-e", "print(1)\nwrite_text(\"/dev/stdout\", \"two\\n\")\nprint(3)"}).out == "1\ntwo\n3\n");
}

TEST_CASE("a prompt shows values and survives errors") {
  const Outcome session =
      run({"-i"}, "var x = [1,\n2]\nx\n\"text\"\nerror(\"oops\")\nx[0] = 5\nx\nprint(x)\nnil\n1 +* 2\nx + [3]");
  CHECK(session.out == "[1, 2]\n\"text\"\n[5, 2]\n[5, 2]\n[5, 2, 3]\n");
  CHECK(session.err.find("oops") != std::string::npos);
  CHECK(session.code == 0);
  CHECK(run({"-i", script("names.tsl", "let answer = 42")}, "answer").out == "42\n");
}

TEST_CASE("SIGINT ends a script with 130") {
  std::thread interrupter([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(getpid(), SIGINT);
  });
  const Outcome outcome = run({"-e", "while true { }"});
  interrupter.join();
  CHECK(outcome.code == 130);
  CHECK(outcome.err.find("error[interrupt]") == 0);
}

TEST_CASE("tsl test compares output and errors on every tier") {
  const std::string good = script("good.tsl", "print(1)  # expect: 1\nerror(\"e\")  # expect error: e\n");
  CHECK(run({"test", good}).out == "1 passed, 0 failed\n");
  CHECK(run({"test", good}).code == 0);
  const auto fails = [](const std::string& text) {
    const Outcome outcome = run({"test", script("bad.tsl", text)});
    return outcome.code == 1 && outcome.out.find("0 passed, 1 failed") != std::string::npos;
  };
  CHECK(fails("print(2)  # expect: 1\n"));
  CHECK(fails("print(2)\n"));
  CHECK(fails("# expect: 1\n"));
  CHECK(fails("error(\"e\")\n"));
  CHECK(fails("let x = 1  # expect error: e\n"));
  CHECK(fails("\nerror(\"e\")\n# expect error: e\n"));
  CHECK(fails("error(\"other\")  # expect error: e\n"));
}

TEST_CASE("tsl test runs a script without compiling anything, by default and with everything compiled") {
  const std::string traces =
      "@compile fn f(x) = x + 1.0\nfn g(x) = f(x)\nf(ones([2]))\n"
      "print(counters().traces)  # expect: 9\n";
  const Outcome outcome = run({"test", script("tiers.tsl", traces)});
  for (const char* tier : {"  with --no-compile:\n", "  by default:\n", "  with --compile:\n"})
    CHECK(outcome.out.find(tier) != std::string::npos);
  CHECK(outcome.out.find("printed:  0") != std::string::npos);
  CHECK(outcome.out.find("printed:  1") != std::string::npos);
}

TEST_CASE("an expected error is raised in the script, or by a call in it, on the line that expects it") {
  const auto outcome = [](const std::string& text) { return run({"test", script("main.tsl", text)}).out; };
  script("failing.tsl", "\n\nerror(\"e\")\n");
  script("late.tsl", "fn fails() {\n  error(\"e\")\n}\n");
  CHECK(outcome("import \"failing.tsl\" as m  # expect error: e\n") == "1 passed, 0 failed\n");
  CHECK(outcome("import \"failing.tsl\" as m\n\n# expect error: e\n").find("failing.tsl:3") != std::string::npos);
  CHECK(outcome("import \"late.tsl\" as m\n\nm.fails()  # expect error: e\n") == "1 passed, 0 failed\n");
  CHECK(outcome("import \"late.tsl\" as m  # expect error: e\nm.fails()\n").find("0 passed") != std::string::npos);
}

TEST_CASE("a script goes on after an expected error, and each expected error counts") {
  const auto outcome = [](const std::string& text) { return run({"test", script("errors.tsl", text)}).out; };
  const std::string passed = "1 passed, 0 failed\n";
  CHECK(outcome("error(\"a\")  # expect error: a\nprint(1)  # expect: 1\nerror(\"b\")  # expect error: b\n") == passed);
  // What a statement prints before it fails counts, and so does what follows.
  CHECK(outcome("for i in 0..3 {\n  print(i)  # expect: 0\n  if i == 1 { error(\"a\") }  # expect error: a\n"
                "  # expect: 1\n}\nprint(\"b\")  # expect: b\n") == passed);
  // Errors of the text, of names, and those that no `try` catches.
  CHECK(
      outcome("let = 1  # expect error: expected a name or '(' after 'let', found '='\nprint(1)  # expect: 1\nfoobar\n")
          .find("unknown name 'foobar'") != std::string::npos);
  CHECK(outcome("print(xyz)  # expect error: unknown name 'xyz'\nprint(1)  # expect: 1\n") == passed);
  CHECK(outcome("fn f() = f()\nprint(1)  # expect: 1\nerror(\"a\")  # expect error: a\n"
                "fn g() { error(\"b\") }\ng()  # expect error: b\ng()  # expect error: b\nprint(2)  # expect: 2\n") ==
        passed);
  const Outcome missing = run({"test", script("two.tsl", "error(\"a\")  # expect error: a\n\n# expect error: a\n")});
  CHECK(missing.code == 1);
  CHECK(missing.out.find("two.tsl:3: expected the error: a\n") != std::string::npos);
  CHECK(outcome("error(\"a\")  # expect error: a\nerror(\"b\")\n").find("error[user]: b") != std::string::npos);
}

TEST_CASE("tsl test names the line of the comment that is not met") {
  const std::string path = script("line.tsl", "print(1)  # expect: 1\n\nprint(2)  # expect: 3\n");
  CHECK(run({"test", path}).out.find("    " + path + ":3\n    expected: 3\n    printed:  2\n") != std::string::npos);
}

TEST_CASE("tsl test --filter chooses scripts, and -v names them") {
  const std::string one = script("choice/one.tsl", "print(1)  # expect: 1\n"), two = script("choice/two.tsl", "");
  const std::string folder = fs::path(one).parent_path();
  CHECK(run({"test", folder}).out == "2 passed, 0 failed\n");
  const Outcome chosen = run({"test", "--filter", "one", "-v", folder});
  CHECK(chosen.out.find("passed " + one + ", 0.") == 0);
  CHECK(chosen.out.find("\n1 passed, 0 failed\n") != std::string::npos);
  const Outcome none = run({"test", "--filter", "three", folder});
  CHECK(none.code == 1);
  CHECK(none.err == "error[io]: there are no tests: no path contains three\n");
}

TEST_CASE("tsl test --update writes what is printed and raised into the comments") {
  const std::string path =
      script("update.tsl",
             "print(1)  # expect: 2\nprint(\"\")  # expect: x\nerror(\"a\")  # expect error: b\nprint(3)  # expect:\n");
  const Outcome outcome = run({"test", "--update", path});
  CHECK(outcome.out == "updated " + path + "\n1 passed, 0 failed\n");
  CHECK(text_of(path) ==
        "print(1)  # expect: 1\nprint(\"\")  # expect:\nerror(\"a\")  # expect error: a\nprint(3)  # expect: 3\n");
  CHECK(run({"test", "--update", path}).out == "1 passed, 0 failed\n");
  const std::string other = "print(1)\nprint(2)  # expect: 1\n", unclear = script("unclear.tsl", other);
  CHECK(run({"test", "--update", unclear}).out.find("it prints 2 lines, and has 1 comments for them") !=
        std::string::npos);
  CHECK(text_of(unclear) == other);
}

TEST_CASE("expectations are comments, not text in strings") {
  const auto passes = [](const std::string& text) { return run({"test", script("text.tsl", text)}).code == 0; };
  CHECK(passes("let x = \"# expect: 2\"\nprint(1)  # expect: 1\n"));
  CHECK(passes("let x = f\"{1}# expect error: e\"\n"));
  CHECK_FALSE(passes("print(\"a  # expect: a\")\n"));
  CHECK(passes("print(1)  ## expect: 1\n# and # expect: 2\nprint(2)\n"));
  CHECK(passes("let x = 1 $  # expect error: unexpected character '$'\n"));  // after which there are no tokens
  CHECK(passes("let x = 1  # expect error: unexpected character '$'\n") == false);
}

TEST_CASE("tsl test takes lines that end as on Windows") {
  const std::string text = "print(1)  # expect: 1\r\nprint(\"a\")  # expect: a\r\nerror(\"e\")  # expect error: e\r\n";
  CHECK(run({"test", script("windows.tsl", text)}).out == "1 passed, 0 failed\n");
}

TEST_CASE("tsl test of a folder that may not be read is an error") {
  const fs::path folder = fs::path(script("closed/inner/test.tsl", "print(1)  # expect: 1\n")).parent_path();
  fs::permissions(folder, fs::perms::none);
  const bool is_root = geteuid() == 0;  // who may read everything
  if (is_root) REQUIRE(seteuid(65534) == 0);
  const std::string above = folder.parent_path().string();
  const Outcome inner = run({"test", folder.string()}), outer = run({"test", above});
  if (is_root) REQUIRE(seteuid(0) == 0);
  fs::permissions(folder, fs::perms::owner_all);
  CHECK(inner.code == 1);
  CHECK(inner.err == "error[io]: cannot look for tests in " + folder.string() + ": Permission denied\n");
  CHECK(outer.code == 1);
  CHECK(outer.err == "error[io]: cannot look for tests in " + above + ": Permission denied\n");
}

TEST_CASE("tsl test of folders in which there is no script is an error") {
  const fs::path folder = fs::path(script("none/notes.txt", "no script\n")).parent_path();
  const Outcome outcome = run({"test", folder.string(), folder.string()});
  CHECK(outcome.code == 1);
  CHECK(outcome.out == "");
  CHECK(outcome.err ==
        "error[io]: there are no tests: no .tsl file is under " + folder.string() + ", " + folder.string() + "\n");
  CHECK(run({"test", folder.string(), script("good.tsl", "print(1)  # expect: 1\n")}).code == 0);
}

// ---- tsl fmt ---------------------------------------------------------------------------------------------------

TEST_CASE("tsl fmt formats files in place, and the scripts in folders") {
  const std::string wild = script("fmt/in/wild.tsl", "let x=1 # one\n"), tame = script("fmt/tame.tsl", "let x = 1\n");
  const std::string other = script("fmt/notes.txt", "let x=1\n");
  const std::string folder = fs::path(tame).parent_path();
  fs::permissions(wild, fs::perms::owner_all);
  const Outcome done = run({"fmt", folder});
  CHECK(done.code == 0);
  CHECK(done.out == "formatted " + wild + "\n");
  CHECK(done.err.empty());
  CHECK(text_of(wild) == "let x = 1  # one\n");
  CHECK(fs::status(wild).permissions() == fs::perms::owner_all);  // it may be a program
  CHECK(text_of(other) == "let x=1\n");
  CHECK(run({"fmt", folder, wild}).out.empty());
  CHECK(run({"fmt", "-"}, "let x=1").out == "let x = 1\n");
  CHECK(run({"fmt"}).code == 2);
}

TEST_CASE("tsl fmt --check writes nothing, and names what is not formatted") {
  const std::string wild = script("check/wild.tsl", "let x=1\n"), tame = script("check/tame.tsl", "let x = 1\n");
  const Outcome outcome = run({"fmt", "--check", tame, wild});
  CHECK(outcome.code == 1);
  CHECK(outcome.out == "not formatted: " + wild + "\n");
  CHECK(text_of(wild) == "let x=1\n");
  CHECK(run({"fmt", "--check", tame}).code == 0);
  CHECK(run({"fmt", "--check", "-"}, "let x=1").out == "not formatted: <stdin>\n");
}

TEST_CASE("tsl fmt leaves what is no program as it is, and formats the rest") {
  const std::string broken = script("broken/a.tsl", "let x=\n"), wild = script("broken/b.tsl", "let x=1\n");
  const Outcome outcome = run({"fmt", fs::path(wild).parent_path()});
  CHECK(outcome.code == 65);
  CHECK(outcome.err.find("error[syntax]: ") == 0);
  CHECK(outcome.err.find(broken + ":") != std::string::npos);
  CHECK(text_of(broken) == "let x=\n");
  CHECK(text_of(wild) == "let x = 1\n");
  CHECK(run({"fmt", "-"}, "let x=").out.empty());
  const Outcome missing = run({"fmt", "/no/such/file.tsl"});
  CHECK(missing.code == 1);
  CHECK(missing.err == "error[io]: cannot read /no/such/file.tsl: No such file or directory\n");
}

// ---- Memory ----------------------------------------------------------------------------------------------------

TEST_CASE("a limit on memory is an error with sizes and the line, and the session goes on") {
  const Outcome failed = run({"--memory-limit", "1MiB", "-e", "let x = zeros([10])\nlet y = ones([1000000])"});
  CHECK(failed.code == 1);
  CHECK(failed.err.find("error[memory]: out of memory: 3.8 MiB asked for") == 0);
  CHECK(failed.err.find("limit 1.0 MiB") != std::string::npos);
  CHECK(failed.err.find("<command line>:2:9") != std::string::npos);
  CHECK(run({"--memory-limit", "1M", "-i"}, "let y = ones([1000000])\nsum(ones([100])).item()\n").out == "100.0\n");
  CHECK(run({"--memory-limit", "1M", "--log", "device", "-e", "print(1)"}).out ==
        "1\n");  // logs before there is any program
  CHECK(run({"--memory-limit", "8M", "-e", "print(sum(ones([1000000])).item())"}).out == "1000000.0\n");
  for (const char* wrong : {"", "0", "-1", "1Q", "many", "1 2"}) {
    CAPTURE(wrong);
    CHECK(run({"--memory-limit", wrong, "-e", "1"}).code == 2);
  }
  CHECK(run({"--cuda-graphs", "off", "-e", "print(1)"}).out == "1\n");
  CHECK(run({"--cuda-graphs", "never", "-e", "1"}).code == 2);
}

// ---- tsl new, tsl doctor ---------------------------------------------------------------------------------------

TEST_CASE("tsl new makes a program that runs and passes its tests") {
  const fs::path folder = fs::temp_directory_path() / ("tsl_cli_new_" + std::to_string(getpid()));
  fs::remove_all(folder);
  const fs::path before = fs::current_path();
  CHECK(run({"new", folder.string()}).code == 0);
  fs::current_path(folder);
  CHECK(run({"main.tsl"}).out == "loss 0.0086\ny = 2.00 * x + 1.01\nat x = 5: 11.0\n");
  CHECK(run({"test", "test_model.tsl"}).code == 0);
  CHECK(run({"fmt", "--check", "."}).code == 0);
  CHECK(run({"--check", "main.tsl"}).code == 0);
  CHECK(fs::exists("README.md"));
  fs::current_path(before);
  const Outcome again = run({"new", folder.string()});
  CHECK(again.code == 1);
  CHECK(again.err.find("exists already: tsl new makes a new folder") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("tsl doctor says what is found, and what to do about what is missing") {
  const Outcome outcome = run({"doctor"});
  CHECK(outcome.code == 0);
  for (const char* part : {"\nok  threads ", "instructions ", "memory ", "cache "})
    CHECK(outcome.out.find(part) != std::string::npos);
  const bool is_missing = outcome.out.find("--  ") != std::string::npos;
  CHECK(is_missing == (outcome.out.find("missing\n") != std::string::npos ||
                       outcome.out.find("missing (optional)\n") != std::string::npos ||
                       outcome.out.find("What to do:\n  - ") != std::string::npos));
  CHECK((outcome.out.find("What to do:\n  - ") != std::string::npos ||
         outcome.out.find("\nNothing is missing.\n") != std::string::npos));
}

// ---- tsl cache -------------------------------------------------------------------------------------------------

#ifdef TSL_HAS_CUDA

namespace {

/// A temporary folder for the cache.
class CacheFolder {
 public:
  CacheFolder() : path_((fs::temp_directory_path() / ("tsl_cli_cache_" + std::to_string(getpid()))).string()) {
    fs::remove_all(path_);
    if (const char* before = std::getenv("TSL_CACHE_DIR")) before_ = before;
    setenv("TSL_CACHE_DIR", path_.c_str(), 1);
  }
  ~CacheFolder() {
    before_.empty() ? unsetenv("TSL_CACHE_DIR") : setenv("TSL_CACHE_DIR", before_.c_str(), 1);
    fs::remove_all(path_);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  /// Stores an entry of this many bytes.
  void store(const std::string& key, size_t bytes) const {
    REQUIRE(cuda::DiskCache(path_).store(cuda::Digester().add(key).digest(), cuda::Bytes(bytes)));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_, before_;
};

}  // namespace

TEST_CASE("tsl cache shows, clears and caps the kernels on disk") {
  const CacheFolder folder;
  CHECK(run({"cache"}).out == "folder   " + folder.path() + "/kernels\nentries  0\nsize     0 B of at most 1.0 GiB\n");
  CHECK_FALSE(fs::exists(folder.path()));  // looking changes nothing
  for (int i = 0; i < 10; ++i) folder.store(std::to_string(i), 10'000);
  CHECK(run({"cache"}).out.find("entries  10\nsize     98.3 KiB of at most 1.0 GiB\n") != std::string::npos);

  const Outcome capped = run({"cache", "cap", "50KiB"});
  CHECK(capped.code == 0);
  CHECK(capped.out.find("entries  4\nsize     39.3 KiB of at most 50.0 KiB\n") != std::string::npos);
  CHECK(cuda::DiskCache(folder.path()).cap() == 50 << 10);  // for everybody
  CHECK(run({"cache"}).out == capped.out);

  CHECK(run({"cache", "clear"}).out == "removed 4 entries, 39.3 KiB\n");
  CHECK(run({"cache"}).out.find("entries  0\nsize     0 B of at most 50.0 KiB\n") != std::string::npos);
}

TEST_CASE("tsl cache with a wrong argument, or nowhere to write") {
  const CacheFolder folder;
  CHECK(run({"cache", "drop"}).code == 2);
  CHECK(run({"cache", "cap"}).code == 2);
  CHECK(run({"cache", "cap", "much"}).code == 2);
  CHECK(run({"cache", "cap", "1M", "2M"}).code == 2);
  CHECK(run({"cache", "--help"}).code == 0);
  std::ofstream(folder.path()) << "in the way";
  CHECK(run({"cache"}).code == 0);
  CHECK(run({"cache", "cap", "1M"}).code == 1);
  CHECK(run({"cache", "cap", "1M"}).err.find("error[io]: cannot write to") == 0);
}

TEST_CASE("elsewhere cache is a name like any other") {
  CHECK(run({script("args.tsl", "print(args())"), "cache", "clear"}).out == "[\"cache\", \"clear\"]\n");
}

#endif

TEST_CASE("tsl bench runs kernels of a dump, and says what it lacks") {
  const std::string file = script("bench/f.tsl", "@compile\nfn f(x) = exp(x) * 2.0\nf(ones([100]))\n");
  const std::string dump = fs::path(file).parent_path() / "dump";
  REQUIRE(run({"--device", "cpu", "--dump", dump, file}).code == 0);
  const Outcome table = run({"bench", "--seconds", "0", dump});
  CHECK(table.code == 0);
  CHECK(table.err.empty());
  CHECK_THAT(table.out, Catch::Contains("alone, on cpu (") && Catch::Contains("k_exp_mul__"));
  const std::string kernel = table.out.substr(table.out.find("k_exp_mul__"), std::string("k_exp_mul__1234").size());
  const Outcome json = run({"bench", "--json", "--seconds", "0", dump + "/" + kernel});
  CHECK_THAT(json.out, Catch::Contains("\"symbol\": \"" + kernel + "\""));
  CHECK_THAT(run({"bench", "--sweep", "--seconds", "0", dump}).out, Catch::Contains("nothing to sweep"));
  CHECK_THAT(table.out, Catch::Contains("whole specialisations") && Catch::Contains("f:2#0  f32[100] -> f32[100]"));
  CHECK_THAT(run({"bench", "--json", "--seconds", "0", dump + "/f@100"}).out, Catch::Contains("\"launches\": 1"));
  CHECK_THAT(run({"bench", dump + "/f@10"}).err,
             Catch::Contains("an input of shape 10") && Catch::Contains("there are 100"));
  const Outcome unknown = run({"bench", dump + "/k_exp_mal__" + kernel.substr(11)});
  CHECK(unknown.code == 1);
  CHECK(unknown.out.empty());
  CHECK_THAT(unknown.err, Catch::Contains("did you mean '" + kernel + "'?"));
  CHECK(run({"bench"}).code == 2);
  CHECK(run({"bench", "--seconds", "soon", dump}).code == 2);
  CHECK(run({"bench", "--caches", "hot", dump}).code == 2);
  std::ofstream(dump + "/version.txt") << "tsl dump, format 4\ndevice cuda:77\n";
  const Outcome elsewhere = run({"bench", dump});
  CHECK(elsewhere.code == 1);
  CHECK_THAT(elsewhere.err, Catch::Contains("the dump is of cuda:77; with --device cpu its kernels run on the CPU"));
  CHECK(run({"bench", "--device", "cpu", "--seconds", "0", dump}).code == 0);
  std::ofstream(specialisation_in(dump) + "/plan.json") << "{}";
  CHECK_THAT(run({"bench", "--device", "cpu", dump}).err,
             Catch::Contains("error[io]") && Catch::Contains("is damaged"));
}

namespace {

/// Makes standard error a terminal during a scope, whose lines have `columns`.
class Terminal {
 public:
  explicit Terminal(const char* columns) : master_(posix_openpt(O_RDWR | O_NOCTTY)), saved_(dup(STDERR_FILENO)) {
    REQUIRE(grantpt(master_) == 0);
    REQUIRE(unlockpt(master_) == 0);
    const int slave = open(ptsname(master_), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    dup2(slave, STDERR_FILENO);
    close(slave);
    setenv("COLUMNS", columns, 1);
  }
  ~Terminal() {
    unsetenv("COLUMNS");
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

 private:
  const int master_, saved_;
};

}  // namespace

TEST_CASE("the table of --profile is ordered, grouped and limited by options") {
  const std::string code = "let x = ones([9])\nlet y = exp(x)\nfor i in 0..7 { sin(x) }";
  const Outcome sorted = run({"--profile", "--sort", "calls", "--group", "kernel", "--rows", "1", "-e", code});
  CHECK(sorted.code == 0);
  const std::string table = sorted.err.substr(0, sorted.err.find("by category"));
  INFO(sorted.err);
  CHECK(table.find("k_sin") != std::string::npos);
  CHECK(table.find("k_exp") == std::string::npos);
  CHECK(table.find("f32[9]") == std::string::npos);
  CHECK(table.find("more rows") != std::string::npos);
  CHECK(run({"--sort", "calls", "-e", "1"}).code == 2);
  CHECK(run({"--sort", "calls", "-e", "1"}).err.find("--sort goes with --profile") != std::string::npos);
  CHECK(run({"--profile", "--sort", "size", "-e", "1"}).code == 2);
}

TEST_CASE("the table of --profile fits the terminal") {
  const std::string code = "let x = ones([9, 9, 9])\nlet y = exp(x) + sin(x)\nprint(y.shape)";
  const Terminal terminal("60");
  const Outcome shown = run({"--profile", "-e", code});
  INFO(shown.err);
  CHECK(shown.err.find("…") != std::string::npos);
  CHECK(shown.err.find("in words") != std::string::npos);
  std::istringstream lines(shown.err);  // the memory, and what all of it means in words, as well
  for (std::string line; std::getline(lines, line);)
    CHECK(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <= 60);
}

TEST_CASE("a program reads standard input and writes to standard error") {
  const char* const lines =
      "while true {\n  let line = input(\"> \")\n  if line == nil { break }\n  print(f\"<{line}>\")\n}";
  const Outcome read = run({script("lines.tsl", lines)}, "one\r\n\ntwo");
  CHECK(read.out == "<one>\n<>\n<two>\n");
  CHECK(run({"-e", "print(input(), read_lines(\"-\"))"}, "a\nb\nc\n").out == "a [\"b\", \"c\"]\n");
  CHECK(run({"-e", "print(repr(read_text(\"-\")))"}, "a\nb").out == "\"a\\nb\"\n");
}

TEST_CASE("a script reads its options by a record of defaults") {
  const std::string path = script("options.tsl",
                                  "let options = parse_args({lr: 0.1, epochs: 3, name: \"x\", verbose: false, cache: "
                                  "true, batch_size: 8, sizes: [1, 2], "
                                  "note: nil})\nprint(options)");
  const std::string defaults =
      "lr: 0.1, epochs: 3, name: \"x\", verbose: false, cache: true, batch_size: 8, sizes: [1, 2], note: nil";
  CHECK(run({path}).out == "{" + defaults + ", rest: []}\n");
  CHECK(run({path, "a", "--lr", "-2", "--epochs=5", "--verbose", "--no-cache", "--batch-size", "16", "--sizes", "3,4,5",
             "--note", "=", "--name=", "-1", "-", "--", "--lr"})
            .out ==
        "{lr: -2.0, epochs: 5, name: \"\", verbose: true, cache: false, batch_size: 16, sizes: [3, 4, 5], note: \"=\", "
        "rest: "
        "[\"a\", \"-1\", \"-\", \"--lr\"]}\n");
  CHECK(run({path, "--batch_size=4", "--verbose=false"}).out.find("verbose: false, cache: true, batch_size: 4") !=
        std::string::npos);
  const Outcome help = run({path, "--lr", "0.5", "--help"});
  CHECK(help.code == 0);
  CHECK(
      help.out ==
      "Options:\n  --lr FLOAT        0.1\n  --epochs INT      3\n  --name TEXT       \"x\"\n  --verbose         false\n"
      "  --cache           true\n  --batch-size INT  8\n  --sizes INT,…     [1, 2]\n  --note TEXT       nil\n"
      "  --help            shows this\n");
  const auto error_of = [&](std::vector<std::string> args) {
    args.insert(args.begin(), path);
    const Outcome failed = run(args);
    CHECK(failed.code == 1);
    return failed.err;
  };
  CHECK(error_of({"--ephocs", "3"}).find("error[value]: there is no option --ephocs\n") == 0);
  CHECK(error_of({"--ephocs", "3"}).find("= did you mean --epochs?") != std::string::npos);
  CHECK(error_of({"--epochs", "3.5"}).find("error[value]: --epochs takes an int, not \"3.5\"\n") == 0);
  CHECK(error_of({"--lr"}).find("error[value]: --lr lacks its value\n") == 0);
  CHECK(error_of({"--no-lr"}).find("error[value]: there is no option --no-lr\n") == 0);
  CHECK(error_of({"--verbose=1"}).find("error[value]: --verbose takes true or false, not \"1\"\n") == 0);
  CHECK(error_of({"-v"}).find("error[value]: there is no option -v\n") == 0);
  CHECK(run({"-e", "parse_args({x: ones([2])})"}).err.find("the default of 'x' is a tensor") != std::string::npos);
  CHECK(run({"-e", "parse_args({rest: 1})"}).err.find("`rest` is the field") != std::string::npos);
}
