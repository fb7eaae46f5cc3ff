#include "engine/option_table.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/log_topics.h"
#include "tensor/block_cache.h"

namespace tsl {

namespace {

using Form = EngineOption::Form;
using Reader = std::function<std::string(EngineOptions&, const std::string&)>;

/// Reads a number of at most four digits. Returns whether it is one.
bool read_number(const std::string& text, int& number) {
  constexpr size_t kMaxDigits = 4;
  if (text.empty() || text.size() > kMaxDigits || text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  number = std::stoi(text);
  return true;
}

/// Parses a seed, which is an int as for seed(n).
std::string read_seed(EngineOptions& options, const std::string& number) {
  int64_t seed = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, problem] = std::from_chars(number.data(), end, seed);
  if (problem != std::errc() || stop != end) return "'" + number + "' is not an int, which has 64 bits";
  options.seed = static_cast<uint64_t>(seed);
  return "";
}

std::string read_threads(EngineOptions& options, const std::string& number) {
  return read_number(number, options.threads) ? "" : "'" + number + "' is not a number of threads, from 0 to 9999";
}

/// Makes what reads one of a few words, and calls set(options, index of the word).
template <class Set> Reader word_reader(std::vector<std::string> words, Set set) {
  return [words = std::move(words), set](EngineOptions& options, const std::string& word) -> std::string {
    const auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end()) return fmt::format("'{}' is not {}", word, fmt::join(words, " or "));
    set(options, static_cast<size_t>(at - words.begin()));
    return "";
  };
}

template <class Set> EngineOption flag(const char* name, const char* group, const char* text, Set set) {
  return {
      name, group, Form::flag,
      "",   text,  word_reader({"on", "off"}, [set](EngineOptions& options, size_t word) { set(options, word == 0); })};
}

template <class Set>
EngineOption choice(const char* name, const char* group, std::vector<std::string> words, const char* text, Set set) {
  std::string value = fmt::format("{}", fmt::join(words, "|"));
  return {name, group, Form::value, std::move(value), text, word_reader(std::move(words), set)};
}

/// An option whose value is any text.
template <class Set>
EngineOption text_option(const char* name, const char* group, const char* value, std::string text, Set set) {
  return {name, group, Form::value, value, std::move(text), [set](EngineOptions& options, const std::string& given) {
            set(options) = given;
            return "";
          }};
}

/// An option of the backends, in the form of its field's type.
EngineOption backend_option(const exec::BackendOption& option) {
  constexpr const char* kGroup = "Devices";
  if (const auto* size = std::get_if<uint64_t exec::BackendOptions::*>(&option.field)) {
    return {option.name,
            kGroup,
            Form::value,
            "SIZE",
            option.text,
            [field = *size](EngineOptions& options, const std::string& text) {
              std::string problem = check_memory_size(text);
              if (problem.empty()) options.backend.*field = *parse_bytes(text);
              return problem;
            }};
  }
  if (const auto* number = std::get_if<int exec::BackendOptions::*>(&option.field)) {
    return {option.name,
            kGroup,
            Form::value,
            "N",
            option.text,
            [field = *number](EngineOptions& options, const std::string& text) {
              return read_number(text, options.backend.*field) ? "" : "'" + text + "' is not a number from 0 to 9999";
            }};
  }
  const auto field = std::get<bool exec::BackendOptions::*>(option.field);
  if (exec::BackendOptions().*field) {
    return choice(option.name, kGroup, {"on", "off"}, option.text,
                  [field](EngineOptions& options, size_t word) { options.backend.*field = word == 0; });
  }
  return flag(option.name, kGroup, option.text,
              [field](EngineOptions& options, bool on) { options.backend.*field = on; });
}

std::string list_of_topics() {
  std::string list;
  for (const LogTopic& topic : kLogTopics) list += fmt::format("{}{}", list.empty() ? "" : ", ", topic.name);
  return list;
}

std::string read_topics(EngineOptions& options, const std::string& list) {
  std::string problem = LogLevels::check(list);
  if (problem.empty()) options.log_topics = list;
  return problem;
}

std::string read_rows(EngineOptions& options, const std::string& text) {
  int rows = 0;
  const bool is_all = text == "all";
  if (!is_all && !read_number(text, rows)) return "'" + text + "' is not a number from 0 to 9999, or all";
  options.reports.table.rows = is_all ? report::TableOptions::kAllRows : static_cast<size_t>(rows);
  return "";
}

/// Reads `on`, `off`, or a file for a trace, or for folded stacks if it ends in .folded.
std::string read_profile(EngineOptions& options, const std::string& value) {
  options.reports.profile = value != "off";
  const std::string file = value == "on" || value == "off" ? "" : value;
  const bool is_folded = file.ends_with(".folded");
  options.reports.trace = is_folded ? "" : file;
  options.reports.folded = is_folded ? file : "";
  return "";
}

void add_running(std::vector<EngineOption>& rows) {
  constexpr const char* kGroup = "Running";
  rows.push_back(
      flag("--check-nan", kGroup,
           "Stop at the first op that makes a NaN or an infinity; runs op by op, also what is compiled otherwise",
           [](EngineOptions& options, bool on) { options.check_nan = on; }));
  rows.push_back({"--seed", kGroup, Form::value, "N", "The seed of random numbers", read_seed});
  rows.push_back({"--threads", kGroup, Form::value, "N", "How many threads compute (0: one per core)", read_threads});
}

void add_compiling(std::vector<EngineOption>& rows) {
  constexpr const char* kGroup = "Compiling";
  rows.push_back(flag("--compile", kGroup, "Compile outermost calls and top-level loops too",
                      [](EngineOptions& options, bool on) { options.compile_all = on; }));
  rows.push_back(flag("--no-compile", kGroup, "Compile nothing, not even @compile functions",
                      [](EngineOptions& options, bool on) { options.compile_annotated = !on; }));
  rows.push_back(choice("--numerics", kGroup, {"exact", "fast"},
                        "Compiled code gives eager execution's bits, or may round less often",
                        [](EngineOptions& options, size_t word) { options.fast_numerics = word == 1; }));
}

void add_reports(std::vector<EngineOption>& rows) {
  constexpr const char* kGroup = "Reports";
  rows.push_back(flag("--timings", kGroup, "Say after the run where the time for compiling went",
                      [](EngineOptions& options, bool on) { options.reports.timings = on; }));
  rows.push_back({"--profile", kGroup, Form::flag_or_file, "FILE",
                  "Say after the run what took how long; --profile=FILE also writes a Chrome trace, or folded "
                  "stacks to a FILE.folded",
                  read_profile});
  const auto words = [](const auto& names) { return std::vector<std::string>(names.begin(), names.end()); };
  rows.push_back(choice(
      "--sort", kGroup, words(report::kRowOrders), "By what --profile orders its rows (default: time)",
      [](EngineOptions& options, size_t word) { options.reports.table.order = static_cast<report::RowOrder>(word); }));
  rows.push_back(choice("--group", kGroup, words(report::kRowGroups),
                        "What kernels in a row of --profile have in common (default: launch: name, types and lines)",
                        [](EngineOptions& options, size_t word) {
                          options.reports.table.groups = static_cast<report::RowGroups>(word);
                        }));
  rows.push_back(
      {"--rows", kGroup, Form::value, "N|all", "The most rows of each table of --profile (default: 10)", read_rows});
  rows.push_back(text_option("--profile-json", kGroup, "FILE", "Write the profile to FILE, for tools",
                             [](EngineOptions& options) -> std::string& { return options.reports.profile_json; }));
  rows.push_back(text_option("--dump", kGroup, "DIR", "Write each stage of compiled code to files in DIR",
                             [](EngineOptions& options) -> std::string& { return options.reports.dump; }));
  rows.push_back({"--log", kGroup, Form::value, "TOPIC[:LEVEL],...",
                  "What to log to standard error, such as fusion:debug,guards (default: $TSL_LOG): " + list_of_topics(),
                  read_topics});
}

std::vector<EngineOption> make_options() {
  std::vector<EngineOption> rows;
  add_running(rows);
  add_compiling(rows);
  rows.push_back(text_option("--device", "Devices", "DEVICE",
                             "Where tensors are made: cpu, cuda or cuda:N (default: the first GPU, else the CPU)",
                             [](EngineOptions& options) -> std::string& { return options.device; }));
  for (const exec::BackendOption& option : exec::kBackendOptions) rows.push_back(backend_option(option));
  add_reports(rows);
  rows.push_back(choice("--warn", "Messages", {"on", "off", "error"},
                        "Warnings: shown, or not, or errors of the script", [](EngineOptions& options, size_t word) {
                          options.warnings = word == 0 ? Warnings::on : word == 1 ? Warnings::off : Warnings::error;
                        }));
  return rows;
}

}  // namespace

std::string check_memory_size(const std::string& size) {
  const std::optional<uint64_t> bytes = parse_bytes(size);
  return bytes && *bytes > 0 ? "" : "'" + size + "' is not a size, such as 512M or 1.5GiB";
}

const std::vector<EngineOption>& engine_options() {
  static const auto& options = *new std::vector<EngineOption>(make_options());
  return options;
}

std::string set_option(EngineOptions& options, std::string_view name, const std::string& value) {
  std::vector<std::string> known;
  for (const EngineOption& option : engine_options()) {
    known.push_back(option.name.substr(2));
    if (known.back() != name) continue;
    const std::string problem = option.read(options, value);
    return problem.empty() ? "" : fmt::format("{}: {}", name, problem);
  }
  const std::string near = nearest_name(name, known);
  return fmt::format("there is no option '{}'{}", name, near.empty() ? "" : "; did you mean '" + near + "'?");
}

}  // namespace tsl
