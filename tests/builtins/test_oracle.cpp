// Compares builtins with references that NumPy and others have computed (tests/oracle/), eagerly and compiled.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "support/corpus.h"
#include "support/openblas.h"
#include "support/oracle.h"
#include "support/session.h"
#include "support/shard.h"
#include "tensor/op_listeners.h"
#include "value/builtin.h"
#include "value/runtime.h"

using namespace tsl;

namespace {

/// Where the cases are, here and on a machine that has the bundle alone.
std::string oracle_file(const std::string& name) { return repository() + "/tests/oracle/" + name; }

/// Counts the ops that are called.
class OpCounter : public OpListener {
 public:
  void record(const OpDef& def, std::span<const Operand>, const Attrs&, std::span<const Tensor>,
              const Origin&) override {
    ++calls[def.op];
  }
  void record_custom(const std::shared_ptr<const CustomCall>&, const Origin&) override { ++custom_calls; }
  void keep_alive(const std::shared_ptr<SymbolTable>&) override {}
  bool is_idle() const { return calls.empty() && custom_calls == 0; }
  std::map<Op, long> calls;
  long custom_calls = 0;  // with derivatives of their own, whose ops are not recorded
};

/// What a call gives: its results, or the kind and the message of its error.
struct Outcome {
  Value value;
  std::string error, message;
};

struct Totals {
  long cases = 0, elements = 0, errors = 0;
  std::map<Op, long> ops;
  std::set<std::string> words;  // in the expressions
  std::set<std::string> seen;   // names of expressions, tolerances
  std::vector<std::string> failures;
  WithoutOpenBlas left_out;
};

class Runner {
 public:
  Runner(Totals& totals, OracleTolerances& tolerances)
      : totals_(totals),
        tolerances_(tolerances),
        eager_(options(false)),
        compiled_(options(true)),
        on_gpu_(!eager_.engine.runtime().default_device().is_host()) {}

  void run(const std::string& file) {
    for (const OracleSection& section : read_oracle(file)) {
      inputs_[0] = bind(eager_.engine, section);
      inputs_[1] = bind(compiled_.engine, section);
      for (const OracleCase& one : section.cases) {
        const bool is_new =
            totals_.seen.insert(note_words(one.expression)).second | totals_.seen.insert(one.tolerance).second;
        if (const bool is_turn = turn_.takes_next(); !shard_.takes_next() || !(is_turn || is_new)) continue;
        const std::string what = check(section, one);
        ++totals_.cases;
        if (!what.empty()) {
          totals_.failures.push_back(fmt::format("{}:{}: {}: {}\n    {}",
                                                 std::filesystem::path(file).filename().string(), one.line,
                                                 section.name, one.expression, what));
        }
      }
    }
  }
  uint64_t traces() const { return compiled_.engine.runtime().trace_counts().traces; }

 private:
  static EngineOptions options(bool compile) {
    EngineOptions options;
    options.compile_annotated = compile;
    options.threads = 1;
    return options;
  }
  static std::vector<Value> bind(Engine& engine, const OracleSection& section) {
    std::vector<Value> values;
    for (const auto& [name, value] : section.inputs) {
      values.push_back(decode(engine, value));
      if (values.back().is(Tag::tensor)) { values.back() = Value(engine.runtime().to_device(values.back().tensor())); }
    }
    return values;
  }
  static Outcome call(Engine& engine, const Value& function, std::vector<Value> arguments) {
    try {
      return {engine.call(function, arguments), "", ""};
    } catch (const Failure& failure) {
      return {{}, std::string(name_of(failure.error().kind())), failure.error().message};
    }
  }

  /// Returns what is wrong with a case, or "".
  std::string check(const OracleSection& section, const OracleCase& one) {
    const std::string text = section.function_of(one);
    const Value eager = eager_.engine.run("case.tsl", text), compiled = compiled_.engine.run("case.tsl", text);
    OpCounter counter;
    {
      OpListeners::Listening listening(eager_.engine.runtime().listeners(), counter);
      call(eager_.engine, eager, inputs_[0]);
    }
    for (const auto& [op, calls] : counter.calls) totals_.ops[op] += calls;
    const Outcome first = call(eager_.engine, eager, inputs_[0]);
    if (totals_.left_out.leaves_out(first.message)) return "";
    if (std::string what = compare(one, first); !what.empty()) return what;
    if (one.error.empty() && one.tolerance != "same" && counter.is_idle()) return "computes nothing: it calls no op";
    for (int run = 0; run < 2; ++run) {
      const Outcome again = call(compiled_.engine, compiled, inputs_[1]);
      if (again.error != first.error || again.message != first.message) {
        return fmt::format("compiled, {}: {}", again.error, again.message);
      }
      if (bits_of_result(compiled_.engine, again.value) != bits_of_result(eager_.engine, first.value)) {
        return "compiled, it has other bits";
      }
    }
    return "";
  }

  std::string compare(const OracleCase& one, const Outcome& outcome) {
    if (!one.error.empty()) {
      ++totals_.errors;
      if (outcome.error == one.error) return "";
      return outcome.error.empty() ? "no error where error[" + one.error + "] is expected"
                                   : fmt::format("error[{}]: {}", outcome.error, outcome.message);
    }
    if (!outcome.error.empty()) return fmt::format("error[{}]: {}", outcome.error, outcome.message);
    const std::vector<Value> results = flatten_results(outcome.value);
    if (results.size() != one.results.size()) return fmt::format("{} results", results.size());
    static const OracleTolerance kExact;
    const OracleTolerance& tolerance =
        one.tolerance == "exact" || one.tolerance == "same" ? kExact : tolerances_.find(one.tolerance);
    for (size_t i = 0; i < results.size(); ++i) {
      totals_.elements += static_cast<long>(one.results[i].elements.size());
      std::string what = difference(eager_.engine, results[i], one.results[i], tolerance, on_gpu_);
      if (!what.empty()) return what;
    }
    return "";
  }

  /// Notes the words of an expression. Returns its names, one after the other.
  std::string note_words(const std::string& text) {
    std::string word, names;
    for (const char c : text + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
      } else if (!word.empty()) {
        if (std::isdigit(static_cast<unsigned char>(word[0])) == 0) names += word + " ";
        totals_.words.insert(std::exchange(word, ""));
      }
    }
    return names;
  }

  Totals& totals_;
  OracleTolerances& tolerances_;
  Session eager_, compiled_;
  bool on_gpu_;
  std::vector<Value> inputs_[2];
  Shard shard_;
  Shard turn_{1, 0, std::getenv("TSL_TEST_TURN")};  // a share, and the first case of each form and tolerance
};

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(oracle_file("cases")))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Returns the first words of the lines of a list that are no comments.
std::set<std::string> listed(const std::string& file) {
  std::set<std::string> names;
  std::ifstream lines(oracle_file(file));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') names.insert(line.substr(0, line.find(' ')));
  }
  return names;
}

/// Fails for every name that is neither covered nor listed, and for those that are both.
void check_coverage(const std::set<std::string>& names, const std::set<std::string>& covered,
                    const std::set<std::string>& left_out) {
  for (const std::string& name : names) {
    INFO(name << ": has no case in tests/oracle/cases, and is not left out; or both");
    CHECK(covered.count(name) + left_out.count(name) == 1);
  }
  for (const std::string& name : left_out) {
    INFO(name << ": is left out, but does not exist");
    CHECK(names.count(name) == 1);
  }
}

}  // namespace

TEST_CASE("every builtin gives what NumPy gives, eagerly and compiled", "[oracle]") {
  Totals totals;
  OracleTolerances tolerances(oracle_file("tolerances.txt"));
  uint64_t traces = 0;
  const char* only = std::getenv("TSL_ORACLE_FILE");
  for (const std::string& file : case_files()) {
    if (only && file.find(only) == std::string::npos) continue;
    const long before = totals.cases;
    Runner runner(totals, tolerances);
    runner.run(file);
    traces += runner.traces();
    std::cout << std::filesystem::path(file).stem().string() << ": " << totals.cases - before << " cases\n";
  }
  std::cout << fmt::format("oracle: {} cases, {} of them errors; {} elements compared; {} traces; {} failures\n",
                           totals.cases, totals.errors, totals.elements, traces, totals.failures.size());
  for (size_t i = 0; i < totals.failures.size() && i < 60; ++i) std::cout << totals.failures[i] << "\n";
  CHECK(totals.failures.empty());
  CHECK(traces >= static_cast<uint64_t>(totals.cases - totals.left_out.count()));
  if (only || std::getenv("TSL_TEST_SHARD") || totals.left_out.count() > 0) return;  // only whole runs cover everything
  CHECK(tolerances.unused() == std::vector<std::string>());

  std::set<std::string> ops, called, builtins;
  for (const OpDef& def : op_table()) {
    ops.insert(std::string(def.name));
    if (totals.ops.count(def.op)) called.insert(std::string(def.name));
  }
  check_coverage(ops, called, listed("ops_left_out.txt"));
  Session session;
  for (const std::string& name : session.engine.builtins().names()) {
    const Value* row = session.engine.builtins().row(name);
    const std::string_view family = row ? row->as<BuiltinFunction>().builtin->family : "prelude";
    if (family != "host" && family != "maps" && family != "autodiff" && family != "world") builtins.insert(name);
  }
  for (const std::string module : {"nn", "optim", "science"}) {
    const Value value = session.engine.run("modules.tsl", "import " + module + "\n" + module);
    for (const auto& [name, cell] : value.as<Module>().exports) {
      if ((*name)[0] != '_') builtins.insert(*name);
    }
  }
  check_coverage(builtins, totals.words, listed("builtins_left_out.txt"));
}
