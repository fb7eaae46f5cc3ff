// A host program whose scripts call every builtin and every function of the standard library, without capabilities.
// sandbox.sh runs it under strace: between the two marks, it must open no file, socket or process.
#include <cctype>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include <unistd.h>

#include "tsl/tsl.h"

namespace {

tsl_string str(std::string_view text) { return {text.data(), text.size()}; }

void append(void* user, tsl_string text) { static_cast<std::string*>(user)->append(text.data, text.length); }

/// Arguments of any kind: a function takes some of them, and refuses the others.
constexpr const char* kArguments[] = {
    "",
    "\"/etc/passwd\"",
    "\"/etc/passwd\", \"x\"",
    "\"/tmp/tsl-sandbox.npy\", ones([2])",
    "ones([2])",
    "ones([2, 2])",
    "ones([2, 2]), ones([2, 2])",
    "3",
    "3, 4",
    "[1.0, 2.0]",
    "[\"a\", \"b\"]",
    "fn(x) = x, [1, 2]",
    "fn() = 1",
    "fn(x) = sum(x)",
    "[2, 3]",
    "true",
    "{a: 1}",
    "ones([1, 1, 4, 4]), ones([1, 1, 3, 3])",
    "\"/bin/sh\", fn() = 1",
};

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

class Host {
 public:
  Host() {
    tsl_config config;
    tsl_config_init(&config);
    config.output = append;
    config.diagnostics = append;
    config.user = &printed_;
    config.time_limit = 2;
    config.memory_limit = uint64_t{256} << 20;
    config.host_memory_limit = uint64_t{64} << 20;
    if (tsl_engine_create(&config, &engine_) != TSL_OK) std::perror("no engine");
  }
  ~Host() { tsl_engine_destroy(engine_); }

  tsl_status run(const std::string& source, tsl_value* result = nullptr) {
    ++runs_;
    const tsl_status status = tsl_run(engine_, str("sandbox"), str(source), result);
    works_ += status == TSL_OK;
    return status;
  }
  std::set<std::string> builtins() {
    printed_.clear();
    run("help()");
    return words_of(printed_.substr(printed_.find("Builtins:") + 9));
  }
  std::set<std::string> members(const std::string& module) {
    printed_.clear();
    run("import " + module + "\nhelp(" + module + ")");
    std::set<std::string> names;
    for (size_t at = 0; (at = printed_.find("\n  ", at)) != std::string::npos; at += 3) {
      const size_t open = printed_.find('(', at), end = printed_.find_first_of(" \n", at + 3);
      if (open < end) names.insert(module + "." + printed_.substr(at + 3, open - at - 3));
    }
    return names;
  }
  void call(const std::string& function) {
    for (const char* arguments : kArguments) run(function + "(" + arguments + ")");
  }
  int runs() const { return runs_; }
  int works() const { return works_; }

 private:
  std::string printed_;
  tsl_engine engine_ = {0};
  int runs_ = 0, works_ = 0;
};

}  // namespace

int main() {
  Host host;
  host.run(
      "sum(ones([1000, 1000]))\nimport nn\nimport optim\nimport science\nimport plot\nimport world\nimport "
      "parallel");  // starts the
                    // threads
  access("/tsl-sandbox-begin", F_OK);
  std::set<std::string> functions = host.builtins();
  for (const char* module : {"nn", "optim", "science", "plot", "world", "parallel"})
    functions.merge(host.members(module));
  for (const std::string& function : functions) host.call(function);
  for (const char* source : {"import \"/etc/passwd\" as a", "import \"./a.tsl\" as a", "import os", "import socket"})
    host.run(source);
  access("/tsl-sandbox-end", F_OK);
  std::printf("%zu functions, %d runs, %d without an error\n", functions.size(), host.runs(), host.works());
  return functions.size() > 150 && host.works() > 300 ? 0 : 1;
}
