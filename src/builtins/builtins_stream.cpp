// Defines what connects a program with the process around it: lines of input, standard error, the environment, its end.
#include <cstdlib>

#include "base/error_names.h"
#include "builtins/builtins.h"
#include "io/standard_input.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "value/text_builder.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value run_input(Context& context, std::span<Value> args) {
  if (const std::string& prompt = expect_string(context, args[0], "the prompt"); !prompt.empty())
    context.write_log(prompt);
  std::optional<std::string> line = StandardInput::of_process().read_line();
  return line ? make_string(std::move(*line)) : Value();
}

Value input_builtin(Context& context, Args args) {
  require_permission(context.permissions().input, "standard input");
  return context.runtime().effect(run_input, {args[0]});
}

Value run_eprint(Context& context, std::span<Value> args) {
  TextBuilder line;
  for (const Value& each : args[0].as<Tuple>().items) {  // bounded: by the arguments of a call
    if (!line.empty()) line += ' ';
    add_string(line, context, each);
  }
  line += '\n';
  context.write_log(line.take());
  return Value();
}

Value eprint_builtin(Context& context, Args args) {
  return context.runtime().effect(run_eprint, {make_tuple({args.values.begin(), args.values.end()})});
}

Value run_exit(Context& context, std::span<Value> args) {
  Error error;
  error.name = ErrorName::program_exit;
  error.exit_code = static_cast<uint8_t>(expect_int(context, args[0], "the code"));
  error.message = fmt::format("the program ended with exit code {}", error.exit_code);
  error.is_final = true;
  throw Failure(std::move(error));
}

Value exit_builtin(Context& context, Args args) {
  exit_program(context, expect_int(context, args[0], "the code"));
  return Value();
}

Value run_env(Context& context, std::span<Value> args) {
  const std::string& name = expect_string(context, args[0], "the name");
  const char* const value = name.find('\0') == std::string::npos ? std::getenv(name.c_str()) : nullptr;
  return value ? make_string(value) : args[1];
}

Value env_builtin(Context& context, Args args) {
  require_permission(context.permissions().environment, "the environment");
  return context.runtime().effect(run_env, {args[0], args[1]});
}

constexpr Builtin kStreamRows[] = {
    with_effect({"input", "input(prompt: str = \"\")",
                 "the next line of standard input, without its end, or nil behind the last; the prompt goes to "
                 "standard error. `read_lines(\"-\")` reads all lines",
                 input_builtin, "host"}),
    with_effect({"eprint", "eprint(...values: any)", "prints values as `print` does, to standard error", eprint_builtin,
                 "host"}),
    with_effect({"exit", "exit(code: int in 0..=255 = 0)", "ends the program with an exit code; no `try` catches it",
                 exit_builtin, "host"}),
    {"env", "env(name: str, default: any = nil)", "an environment variable as a str, or the default if it is not set",
     env_builtin, "host"},
};

}  // namespace

void exit_program(Context& context, int64_t code) { context.runtime().effect(run_exit, {Value(code)}); }

std::span<const Builtin> stream_builtins() { return kStreamRows; }

}  // namespace tsl
