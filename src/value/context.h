// The interface to an engine for code below `engine`: values, the interpreter, builtins and the tracer use it. The
// engine implements it; tests may implement their own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/intern.h"
#include "base/run_watch.h"
#include "base/source.h"
#include "tensor/op.h"
#include "value/value.h"

namespace tsl {

class Builtins;
class Runtime;
struct CallShape;

/// What a program may do besides computing.
struct Permissions {
  bool files = true;        // read and write files, and import them
  bool environment = true;  // environment variables, and modules in the folders of $TSL_PATH
  bool clock = true;
  bool gpus = true;
  bool input = true;  // the standard input of the process
};

/// Throws Failure (io) unless the host allows `what`, one of Permissions.
void require_permission(bool allowed, std::string_view what);

/// What the program's output is shown on.
struct Screen {
  int columns = 80;
  bool has_color = false;
};

class Context {
 public:
  virtual ~Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Returns the Ops, which compute ops at once or record them during a trace.
  Ops& ops() const { return *ops_; }
  Runtime& runtime() const { return *runtime_; }
  /// Returns the table of builtins.
  Builtins& builtins() const { return *builtins_; }
  Interner& names() { return names_; }
  SourceMap& sources() { return sources_; }

  /// Calls any callable value and moves the arguments out of `args`; `shape` names the last of them, if given. Throws
  /// what the callee throws.
  virtual Value call(const Value& callee, std::span<Value> args, const CallShape* shape = nullptr) = 0;
  /// Returns the module for `import path` in a source; runs it at the first import. Throws Failure (io, name).
  virtual Value import(Name path, bool is_file, uint32_t importing_source) = 0;

  /// Writes the value's text and a newline to the program's output. The program cannot catch exceptions of this.
  virtual void print(const Value& value) = 0;
  /// Writes to the log. The program cannot catch exceptions of this either.
  virtual void write_log(std::string_view text) = 0;
  /// Shows a warning, once for each line and message. Throws it as a final Failure if warnings are errors.
  virtual void warn(Error warning) = 0;
  /// Stops the program where it calls breakpoint(), and gives whoever runs it a prompt, if there is one.
  virtual void stop_at_breakpoint() = 0;
  /// Returns the arguments after the script's name.
  virtual const std::vector<std::string>& script_args() const = 0;
  /// Whether displays of tensors outside host memory name their device.
  virtual bool shows_device() const = 0;

  /// What programs may do. Set before they run.
  const Permissions& permissions() const { return permissions_; }
  /// Interrupts programs and limits what they take.
  RunWatch watch;
  /// Tells how wide pictures and results are shown, and whether in colours; null: as the default Screen says. Set by
  /// hosts.
  std::function<Screen()> screen;

 protected:
  Context() = default;
  explicit Context(const Permissions& permissions) : permissions_(permissions) {}
  /// Sets the parts that the accessors return. Called once they exist; they must outlive every use.
  void connect(Ops& ops, Runtime& runtime, Builtins& builtins) {
    ops_ = &ops;
    runtime_ = &runtime;
    builtins_ = &builtins;
  }

 private:
  Ops* ops_ = nullptr;
  Runtime* runtime_ = nullptr;
  Builtins* builtins_ = nullptr;
  SourceMap sources_;
  Interner names_;
  const Permissions permissions_{};
};

}  // namespace tsl
