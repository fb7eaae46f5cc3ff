// An engine without devices: the library's code runs in it on types, and the functions of a text through call_user.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "analysis/names.h"
#include "bytecode/builtin_table.h"
#include "inference/sketch_runtime.h"
#include "value/context.h"
#include "vm/interpreter.h"

namespace tsl::inference {

class Sketch final : public Context {
 public:
  /// `library` must outlive it.
  explicit Sketch(const Library& library);

  /// Begins an analysis: with new symbols, and all the steps that one may take.
  void begin();
  SketchRuntime& types() { return runtime_; }
  /// Returns a text as a name of this engine: names of a text's tree belong to another table.
  Name name_of(Name name) { return names().intern(*name); }

  /// Makes a function of a text callable from the library's code.
  Value callable(Ref<Function> function) const;
  /// Returns the function of a text that a value is; null for other values.
  static const Function* user_function(const Value& value);
  /// Calls such a function with bound arguments. Set by whoever reads the text.
  std::function<Value(const Function&, std::span<Value>)> call_user;

  /// Returns a module of the library, which runs at its first import; absent if there is none of that name.
  Value import_library(const std::string& path);

  Value call(const Value& callee, std::span<Value> args, const CallShape* shape = nullptr) override;
  Value import(Name path, bool is_file, uint32_t importing_source) override;
  void print(const Value&) override {}
  void write_log(std::string_view) override {}
  void warn(Error) override {}
  void stop_at_breakpoint() override { not_known(); }
  const std::vector<std::string>& script_args() const override { not_known(); }
  bool shows_device() const override { return false; }

 private:
  Ref<Module> load(const ModuleSource& found, const std::string& name, bool is_internal);

  const Library& library_;
  Interpreter interpreter_;
  SketchRuntime runtime_;
  BuiltinTable builtins_;
  std::unordered_map<std::string, Ref<Module>> loaded_;
  uint64_t steps_left_ = 0;
};

}  // namespace tsl::inference
