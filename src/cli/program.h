// The `tsl` program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/bench.h"
#include "engine/engine.h"
#include "profile/profile_table.h"

namespace tsl {

struct CacheCommand {
  enum class Action { show, clear, cap } action = Action::show;
  uint64_t cap = 0;  // bytes
};

/// The options of `tsl explain`.
struct ReportCommand {
  bool explain = false;
  bool json = false;
  std::string html;      // the file for the page
  std::string to;        // the file for the report; "": standard output
  std::string function;  // the only one that is told of; "": all
  bool all = false;      // everything, not a screen for each region
  /// Whether the report takes standard output. What the script prints then goes to standard error.
  bool takes_output() const { return explain && to.empty() && (html.empty() || json); }
};

/// The options of `tsl bench`.
struct BenchCommand {
  std::string path;  // a dump, or a part of one
  bool json = false;
  BenchOptions options;
};

/// The options of `tsl test`.
struct TestCommand {
  std::vector<std::string> paths;
  std::string filter;    // of the paths of scripts: run only those that contain it
  bool update = false;   // write what is printed into the scripts
  bool verbose = false;  // name each script
};

/// The options of `tsl fmt`.
struct FormatCommand {
  std::vector<std::string> paths;
  bool check = false;  // write nothing, name what is not formatted
};

/// Of the processes that `tsl --ranks` starts.
inline constexpr int kMostRanks = 1024;
/// The options of `tsl --ranks`.
struct RanksCommand {
  int count = 1;
  bool shows_all = false;  // what all ranks print, not rank 0 alone
};

struct Command {
  enum class Kind {
    script,
    code,
    input,
    prompt,
    test,
    cache,
    diff,
    bench,
    format,
    help,
    generate,
    make,
    doctor,
    doc,
    serve_editor
  } kind = Kind::prompt;
  std::string script;  // a path, or code
  TestCommand test;
  CacheCommand cache;
  ReportCommand report;
  std::vector<std::string> dumps;  // diff: two folders
  BenchCommand bench;
  FormatCommand format;
  RanksCommand ranks;
  std::string help_name;   // help: "" for all commands
  std::string generate;    // generate: what to print
  std::string new_name;    // make: the folder
  std::string doc_folder;  // doc
  EngineOptions engine;
  std::string color = "auto";
  bool check = false;        // only look for errors
  bool interactive = false;  // a prompt after the script
};

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitSyntax = 65;
inline constexpr int kExitInterrupted = 130;

/// Reads the command line. Returns an exit code if there is nothing left to do (--help, or a usage error), else -1.
int parse_command(int argc, char** argv, Command& command);

/// Runs the program, from the command line to the exit code.
int run_program(int argc, char** argv);

/// Runs the program with these arguments once for each rank, as processes of their own. Returns the exit code of the
/// first that has failed.
int run_ranks(char** arguments, const RanksCommand& command);

/// Runs the scripts under the paths on every tier, and compares their output with their `# expect` comments.
int run_tests(const TestCommand& command, const EngineOptions& options);

/// Tells about each command, option and name of the language that has this name.
int run_help(const std::string& name);
/// Makes a folder with a first program, its data, its tests and a README.
int run_new(const std::string& name);
/// Says what TSL finds on this machine, and what to do about what is missing.
int run_doctor();
/// Measures the links between ranks, each of which calls this, and says what they give.
int run_links();
/// Writes a reference of all names into a folder.
int run_doc(const std::string& folder);
/// Answers an editor's requests on standard input until it leaves: tsl lsp.
int run_language_server();
/// Prints a completion script or the man page.
int run_generate(const std::string& kind);

/// Formats scripts, or says which are not formatted.
int run_format(const FormatCommand& command, bool color);

/// Returns the files among the paths and the scripts in the folders among them, in order; `purpose` is for messages.
/// Throws Failure (io).
std::vector<std::filesystem::path> find_scripts(const std::vector<std::string>& paths, const char* purpose);

/// Returns the name of the program that a command runs, for messages and reports: its file, or "<stdin>".
std::string title_of(const Command& command);
/// Shows what is wrong with a program without running it. Returns the exit code.
int run_check(const Command& command, bool color);

/// Shows, clears or limits the cache of kernels on disk.
int run_cache(const CacheCommand& command);

/// How a run writes errors and warnings to standard error.
struct ErrorForm {
  bool color = false;
  bool json = false;  // an object a line
};

/// Prints an error or a warning to standard error.
void show(const Error& error, const SourceMap& sources, ErrorForm form);
/// Makes what reports need before a program runs, so that a folder that cannot be used costs no run. Throws Failure
/// (io).
void begin_reports(Command& command);
/// Returns the columns of the terminal at a file descriptor; 0 if there is none.
size_t terminal_width(int file);

/// Writes the dump and what `tsl explain` tells of what an engine has run. Throws Failure (io).
void write_reports(const Command& command, Engine& engine, bool color);
/// Runs kernels of a dump alone, and shows what they take.
int run_bench(const Command& command, bool color);
/// Shows what differs between two dumps. Returns 1 if anything does.
int run_diff(const std::vector<std::string>& dumps);

/// Prints an error to standard error and returns the exit code for it.
int report_error(const Error& error, const SourceMap& sources, ErrorForm form);

}  // namespace tsl
