// The command line, exit codes, the prompt and `tsl test`.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include <signal.h>
#include <unistd.h>

#include "catch.h"
#include "cli/program.h"

namespace fs = std::filesystem;

using namespace tsl;

namespace {

struct Outcome {
  int code;
  std::string out, err;
};

/// Runs the program in this process. What scripts print goes to the C stream stdout, which is caught with a file, or goes to
/// `output`.
Outcome run(std::vector<std::string> args, const std::string& input = "", const char* output = nullptr) {
  args.insert(args.begin(), "tsl");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  std::istringstream in(input);
  std::ostringstream out, err;
  std::streambuf* const streams[] = {std::cin.rdbuf(in.rdbuf()), std::cout.rdbuf(out.rdbuf()), std::cerr.rdbuf(err.rdbuf())};
  std::cin.clear();
  std::fflush(stdout);
  const int saved = dup(STDOUT_FILENO);
  std::FILE* caught = output ? std::fopen(output, "w+") : std::tmpfile();
  dup2(fileno(caught), STDOUT_FILENO);
  const int code = run_program(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  std::clearerr(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
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
  fs::create_directories(folder);
  std::ofstream(folder / name) << text;
  return (folder / name).string();
}

}  // namespace

TEST_CASE("scripts, code and standard input") {
  CHECK(run({script("hello.tsl", "print(\"hello\")")}).out == "hello\n");
  CHECK(run({"-e", "print(1 + 1)"}).out == "2\n");
  CHECK(run({"-e", "1 + 1"}).out == "");
  CHECK(run({"-"}, "print(3)").out == "3\n");
  CHECK(run({"--version"}).out.find("tsl ") == 0);
  CHECK(run({"--help"}).out.find("Exit codes") != std::string::npos);
}

TEST_CASE("exit codes") {
  CHECK(run({"-e", "let x = 1"}).code == 0);
  CHECK(run({"-e", "error(\"x\")"}).code == 1);
  CHECK(run({"/no/such/file.tsl"}).code == 1);
  CHECK(run({"--no-such-option"}).code == 2);
  CHECK(run({"--color", "sometimes", "-e", "1"}).code == 2);
  CHECK(run({"test"}).code == 2);
  CHECK(run({"-e", "let = 1"}).code == 65);
  CHECK(run({"--device", "cuda", "-e", "1"}).err.find("error[device]") == 0);
}

TEST_CASE("checking runs nothing") {
  CHECK(run({"--check", script("check.tsl", "print(1)\nlet x = ")}).code == 65);
  const Outcome fine = run({"--check", script("fine.tsl", "print(1)")});
  CHECK(fine.code == 0);
  CHECK(fine.out == "");
  CHECK(run({"--check", "-e", "print(nosuch)"}).err.find("unknown name 'nosuch'") != std::string::npos);
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

TEST_CASE("errors are shown with their place, in colour if asked") {
  const Outcome plain = run({"-e", "let x = 1\nerror(\"oh\")"});
  CHECK(plain.err.find("error[user]: oh\n  --> <command line>:2:1") == 0);
  CHECK(run({"--color", "always", "-e", "error(\"oh\")"}).err.find("\x1b[") != std::string::npos);
}

TEST_CASE("options say what they take") {
  for (const char* threads : {"-1", "x", "1.5", "100000"}) CHECK(run({"--threads", threads, "-e", "1"}).code == 2);
  CHECK(run({"--threads", "0", "-e", "1"}).code == 0);
  CHECK(run({"--log", "plan,guards", "-e", "1"}).code == 0);
  const Outcome unknown = run({"--log", "plan,plans", "-e", "1"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("unknown topic 'plans'") != std::string::npos);
}

TEST_CASE("output that cannot be written is a failure") {
  if (!fs::exists("/dev/full")) return;
  const Outcome outcome = run({"-e", "print(1)"}, "", "/dev/full");
  CHECK(outcome.code == 1);
  CHECK(outcome.err.find("error[io]: cannot write to standard output: No space left on device") == 0);
  CHECK(run({"-e", "let x = 1"}, "", "/dev/full").code == 0);
}

TEST_CASE("a prompt shows values and survives errors") {
  const Outcome session = run({}, "var x = [1,\n2]\nx\n\"text\"\nerror(\"oops\")\nx[0] = 5\nx\nprint(x)\nnil\n1 +* 2\nx + [3]");
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

TEST_CASE("tsl test compares output and errors on both tiers") {
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
